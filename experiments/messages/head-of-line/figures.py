"""The figures of the experiment."""

from matplotlib.figure import Figure

from anabranch_lab import plots
from anabranch_lab.experiment import Figure as Entry

from ..common import drawing
from ..common.latency import Ways

SHOWN = (
    "TCP",
    "one stream",
    "two streams, one buffer",
    "two streams",
    "I-DATA, priority",
    "two subflows, level 0",
    "two subflows, level 1",
    "two associations",
)
"""Ways that are drawn; the others are in the tables."""


def all_figures(runs: Ways) -> list[Entry]:
    """The tail and the middle of the latencies, and what the bulk transfer gets."""
    return [
        Entry(
            "figure-head-of-line-p99",
            "99th percentile of the latency of a small message beside a bulk transfer",
            "Means and 95 % intervals, over the loss probability; a panel for each path.",
            lambda: figure(runs, "p99", "99 % take no longer, ms"),
        ),
        Entry(
            "figure-head-of-line-p50",
            "Median of the latency of a small message beside a bulk transfer",
            "Means and 95 % intervals, over the loss probability; a panel for each path.",
            lambda: figure(runs, "p50", "median, ms"),
            front=True,
        ),
        Entry(
            "figure-head-of-line-bulk",
            "What the bulk transfer gets beside the small messages",
            "Means and 95 % intervals, over the loss probability; a panel for each path.",
            lambda: figure(runs, "bulk", "Mbit/s", log=False),
        ),
    ]


def figure(runs: Ways, measure: str, label: str, log: bool = True) -> Figure:
    """One panel for each path, one curve for each way."""
    drawn, panels = plots.panels(len(runs.paths))
    for axes, path, letter in zip(panels, runs.paths, "abc", strict=False):
        for way, colour, marker in zip(SHOWN, (*plots.CYCLE, "black", "grey"), "osPv^Dx*", strict=False):
            curve = runs.curve(measure, way, path)
            drawing.over_loss(axes, curve, way, colour, marker)
        plots.label(axes, f"({letter}) {path}", "packets lost, %", label, log_y=log)
    panels[0].legend(fontsize="small")
    return drawn
