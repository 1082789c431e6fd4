"""Mean and last completion over the loss."""

from matplotlib.figure import Figure

from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.run.grid import Grid
from anabranch_lab.show import plots


def all_figures(losses: Grid) -> list[Entry]:
    """One figure."""
    return [
        Entry(
            "losses",
            "Head-of-line blocking: 50 objects over a line that loses packets (2 Mbit/s, 100 ms round trip)",
            "Means and 95 % intervals of 100 seeds.",
            lambda: picture(losses),
        )
    ]


def picture(losses: Grid) -> Figure:
    """Mean (a) and last (b) completion."""
    figure, (a, b) = plots.panels(2, height=4.2)
    for way, colour in zip(losses.values("way"), plots.CYCLE, strict=False):
        line = "--" if way.startswith("TCP") else "-"
        for axes, measure in ((a, "mean"), (b, "R2")):
            curve = losses.curve(measure, over="p", way=way)
            plots.curve(axes, curve, way, scale=1.0, color=colour, linestyle=line, marker="o")
    plots.label(a, "(a) an object, on the mean", "loss probability", "s")
    plots.label(b, "(b) the last object", "loss probability", "s")
    for axes in (a, b):
        axes.set_ylim(bottom=0)
    a.legend(fontsize=8)
    return figure
