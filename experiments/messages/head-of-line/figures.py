"""The figures of the experiment."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.show import plots

from ..common import drawing
from ..common.latency import Ways

SHOWN = (
    "TCP",
    "one stream",
    "two streams, one buffer",
    "two streams",
    "nine streams",
    "I-DATA, priority",
    "two subflows, level 0",
    "two subflows, level 1",
    "two associations",
)
"""Ways that are drawn; the others are in the tables."""

OVER_LOSS = (
    "Means and 95 % intervals, over the loss probability; a panel for each path. "
    "Nine streams: eight sources with a stream each, the mean over them, and the bulk transfer."
)

MANY = ("", ", in turn", ", I-DATA, priority", ", two subflows, level 1")
"""The drawn ways to serve the streams of eight sources."""

LOOKS = list(zip((*plots.CYCLE, "black", "grey", "#8b5a2b"), "osPv^Dx*h", strict=True))
"""A colour and a marker for each curve of a panel."""


def all_figures(runs: Ways) -> list[Entry]:
    """The tail and the median of the latencies, the goodput of the bulk transfer, and many sources."""
    return [
        Entry(
            "figure-head-of-line-p99",
            "99th percentile of the latency of a small message beside a bulk transfer",
            OVER_LOSS,
            lambda: figure(runs, "p99", "99 % take no longer, ms"),
        ),
        Entry(
            "figure-head-of-line-p50",
            "Median of the latency of a small message beside a bulk transfer",
            OVER_LOSS,
            lambda: figure(runs, "p50", "median, ms"),
            front=True,
        ),
        Entry(
            "figure-head-of-line-bulk",
            "What the bulk transfer gets beside the small messages",
            OVER_LOSS,
            lambda: figure(runs, "bulk", "Mbit/s", log=False),
        ),
        Entry(
            "figure-head-of-line-many",
            "Small messages of eight sources: one stream for all, or a stream for each",
            "Means and 95 % intervals of what a source has, over the loss probability; a column for each path. Above the median, below "
            "the 99th percentile. Dashed: one stream for all eight (two streams with the bulk transfer's); solid: a stream for each "
            "(nine). Where nothing but the order of arrival counts, both lie on each other.",
            lambda: many(runs),
        ),
    ]


def figure(runs: Ways, measure: str, label: str, log: bool = True) -> Figure:
    """One panel for each path, one curve for each way."""
    drawn, panels = plots.panels(len(runs.paths), height=4.4)
    for axes, path, letter in zip(panels, runs.paths, "abc", strict=False):
        curves(axes, runs, SHOWN, measure, path)
        plots.label(axes, f"({letter}) {path}", "packets lost, %", label, log_y=log)
    plots.legend_below(panels[0], 5)
    return drawn


def many(runs: Ways) -> Figure:
    """A column for each path: median and 99th percentile."""
    drawn, rows = plots.table(2, len(runs.paths), height=3.6)
    letters = iter("abcdef")
    for panels, measure, label in zip(
        rows, ("p50", "p99"), ("median, ms", "99 % take no longer, ms"), strict=True
    ):
        for axes, path in zip(panels, runs.paths, strict=True):
            for streams, style in (("two streams, eight sources", "--"), ("nine streams", "-")):
                curves(axes, runs, [streams + served for served in MANY], measure, path, style)
            plots.label(axes, f"({next(letters)}) {path}", "packets lost, %", label, log_y=True)
    plots.legend_below(rows[0][0], 2)
    return drawn


def curves(axes: Axes, runs: Ways, ways: Sequence[str], measure: str, path: str, style: str = "-") -> None:
    """A measure of one path, a curve for each way."""
    for way, (colour, marker) in zip(ways, LOOKS, strict=False):
        drawing.over_loss(axes, runs.curve(measure, way, path), way, colour, marker, style)
