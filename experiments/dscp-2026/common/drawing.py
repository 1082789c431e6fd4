"""How the figures of this study are drawn."""

import math
from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from anabranch_lab.run.grid import Grid
from anabranch_lab.show import plots
from anabranch_lab.stats import Estimate

from . import measures

COLOURS = (*plots.CYCLE, "black", "grey")
MARKERS = "osPv^Dx*<>hp"
RECOVERY = {"rfc9260": "RFC 9260", "linux-6.1": "Linux 6.1", "rfc9260-rack": "RFC 9260 with RACK-TLP"}
"""Loss recovery in words."""
NARROW = 5.0
"""Inches: a figure of one panel, below which two names fit beside each other."""


def look(number: int) -> tuple[str, str]:
    """Colour and marker of a way: no two of the first 24 are the same."""
    return COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]


def dots(axes: Axes, places: Sequence[str], ways: Mapping[str, Sequence[Estimate | None]]) -> None:
    """Means with intervals at named places; the ways beside each other, nothing where there is no figure."""
    width = 0.8 / max(len(ways), 1)
    for number, (way, estimates) in enumerate(ways.items()):
        colour, marker = look(number)
        shift = (number - (len(ways) - 1) / 2) * width
        known = [(place + shift, each) for place, each in enumerate(estimates) if each is not None]
        axes.errorbar(
            [x for x, _ in known],
            [each.mean for _, each in known],
            yerr=[each.half if math.isfinite(each.half) else 0.0 for _, each in known],
            label=way,
            color=colour,
            marker=marker,
            linestyle="none",
            markersize=5,
            capsize=2,
        )
    axes.set_xticks(range(len(places)), places, rotation=20, ha="right")


def curves(axes: Axes, x: Sequence[float], ways: Mapping[str, Sequence[Estimate | None]]) -> None:
    """Means with intervals over a number; a curve for each way."""
    for number, (way, estimates) in enumerate(ways.items()):
        colour, marker = look(number)
        known = [(at, each) for at, each in zip(x, estimates, strict=True) if each is not None]
        axes.errorbar(
            [at for at, _ in known],
            [each.mean for _, each in known],
            yerr=[each.half if math.isfinite(each.half) else 0.0 for _, each in known],
            label=way,
            color=colour,
            marker=marker,
            markersize=4,
            capsize=2,
        )


def sizes(axes: Axes, values: Sequence[float]) -> None:
    """Sizes that double on a logarithmic axis, as they are."""
    axes.set_xticks(values, [f"{value:g}" for value in values])
    axes.minorticks_off()


def legend(figure: Figure, axes: Axes, columns: int = 4) -> None:
    """One legend below all panels, where it covers nothing."""
    handles, names = axes.get_legend_handles_labels()
    columns = columns if figure.get_figwidth() > NARROW else 2
    figure.legend(
        handles, names, loc="outside lower center", ncols=min(len(names), columns), fontsize="small"
    )


def over_places(
    grids: Sequence[tuple[str, Grid]], measure: str, axis: str, label: str, *, log: bool = False, **at: object
) -> Figure:
    """A panel for each grid, places side by side, a mark for each way."""
    drawn, panels = plots.panels(len(grids), height=4.6)
    for axes, (title, grid), letter in zip(panels, grids, "abc", strict=False):
        places = grid.values(axis)
        ways = {
            how: [measures.known(grid, measure, {axis: place, "how": how, **at}) for place in places]
            for how in grid.values("how")
        }
        dots(axes, places, ways)
        axes.tick_params(axis="x", labelrotation=20 if len(places) > 3 else 0)
        plots.label(axes, f"({letter}) {title}", label, measures.NAMES[measure], log_y=log)
    legend(drawn, panels[0])
    return drawn
