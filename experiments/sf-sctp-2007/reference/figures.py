"""The figure of the reference."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from anabranch_lab.show import plots
from anabranch_lab.stats import Estimate

from . import judge
from .point import Point


def ratios(found: list[Point]) -> Figure:
    """Every point over ns-2.35's mean, goodput (a) and fast retransmits (b)."""
    figure, (a, b) = plots.panels(2, height=0.26 * len(found) + 1.2)
    for axes, title, measure in ((a, "(a) goodput", "goodput"), (b, "(b) fast retransmits", "fr")):
        for place, point in enumerate(found):
            theirs: Estimate = getattr(point.ns2, measure)
            ours = point.goodput.estimate if measure == "goodput" else point.fr
            _draw(axes, place - 0.12, theirs, theirs.mean, plots.PUBLISHED, "_")
            subflows = point.who == "subflows"
            _draw(
                axes,
                place + 0.12,
                ours,
                theirs.mean,
                plots.SCTP if subflows else plots.TCP,
                "o" if subflows else "^",
            )
        axes.axvspan(1 - judge.NEAR, 1 + judge.NEAR, color=plots.OTHER, alpha=0.15, linewidth=0)
        axes.set_yticks(
            range(len(found)),
            [f"{point.experiment}, {point.name}" for point in found] if axes is a else [],
            fontsize=7,
        )
        axes.invert_yaxis()
        axes.set_xlim(0.7, 1.3)
        plots.label(axes, title, "here / ns-2.35", "")
    return figure


def _draw(axes: Axes, y: float, value: Estimate, unit: float, colour: str, marker: str) -> None:
    axes.errorbar(
        [value.mean / unit],
        [y],
        xerr=[value.half / unit],
        color=colour,
        marker=marker,
        markersize=4,
        capsize=2,
        elinewidth=1.0,
    )
