"""The figure of a claim that needs no Python: measured values with intervals over an axis, and the expected ones."""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawn

from ..judge import toml_claims
from ..judge.claims import Claim, Part
from ..judge.figures import Figure
from ..judge.toml_claims import Asked, Place
from ..plan.plan import Axis
from ..run.grid import Grid
from ..run.results import Results
from . import plots

BAND = {"color": plots.PUBLISHED, "alpha": 0.13, "linewidth": 0}
EDGE = {"color": plots.PUBLISHED, "linewidth": 1.1}
WIDE = 0.03
"""Half of the width of an expected value at a point, as a part of the panel's width."""
SPREAD = 20
"""Values whose largest is so many times their smallest are shown on a logarithmic axis."""


def figure(results: Results, claim: Claim) -> Figure:
    """The figure of a judged claim: its curves, and the comparisons of two points in a panel of their own."""
    parts = toml_claims.asked(results.plan, claim.entry)
    grids = {id(part): toml_claims.measure(results, part) for part in parts}
    caption = "Means and 95 % intervals. Black and grey: what is expected, a value with its tolerance or the side of a bound."
    return Figure(
        f"claim-{claim.id}",
        f"{claim.id}, {claim.grade}: {claim.entry.statement.rstrip('.')}",
        caption,
        lambda: _draw(claim, parts, grids),
        alt=" ".join(toml_claims.findings([claim])),
    )


def _draw(claim: Claim, parts: Sequence[Asked], grids: Mapping[int, Grid]) -> Drawn:
    judged = {part.at: part for part in claim.parts}
    curves: dict[tuple[str, str], list[Asked]] = {}
    for part in parts:
        if _over(part) is not None:
            curves.setdefault((part.sweep.name, part.measure.text), []).append(part)
    compared = [
        (place, judged[place.at], part)
        for part in parts
        for place in part.places
        if place.at in judged and (place.other is not None or _over(part) is None)
    ]
    count = len(curves) + bool(compared)
    drawn, panels = plots.panels(max(1, count), height=max(3.6, 1.0 * len(compared)))
    for axes, mine in zip(panels, curves.values(), strict=False):
        _curves(axes, mine, grids[id(mine[0])], judged)
    if compared:
        # A row for each of them, with an axis of its own: ratios and differences have nothing in common.
        spec = panels[-1].get_subplotspec()
        panels[-1].remove()
        for row, (place, found, part) in zip(spec.subgridspec(len(compared), 1), compared, strict=True):
            _compared(drawn.add_subplot(row), place, found, part)
    return drawn


def _over(part: Asked) -> Axis | None:
    """The axis that a measure is drawn over: the first with several values, of numbers if there is one."""
    several = [axis for axis in part.sweep.axes if len(axis.values) > 1]
    numbers = [axis for axis in several if all(isinstance(value, int | float) for value in axis.values)]
    return next(iter(numbers + several), None)


def _curves(axes: Axes, parts: Sequence[Asked], grid: Grid, judged: Mapping[str, Part]) -> None:
    over = _over(parts[0])
    assert over is not None
    measure = parts[0].measure
    values = [value for value in over.values if value in grid.values(over.name)]
    x = _positions(over, values)
    others = [axis for axis in parts[0].sweep.axes if axis is not over]
    for index, rest in enumerate(itertools.product(*(axis.values for axis in others))):
        at = dict(zip((axis.name for axis in others), rest, strict=True))
        points = [
            (x[v], grid.at(measure.text, **at, **{over.name: v}))
            for v in values
            if _has(grid, {**at, over.name: v})
        ]
        axes.errorbar(
            [place for place, _ in points],
            [found.mean for _, found in points],
            yerr=[found.half if math.isfinite(found.half) else 0.0 for _, found in points],
            label=plots.named(", ".join(str(value) for value in rest)) or "measured",
            marker="osPv^D*x"[index % 8],
            color=plots.CYCLE[index % len(plots.CYCLE)],
            markersize=4.5,
            capsize=2.5,
        )
    log = all(isinstance(value, int | float) for value in values) and plots.by_factors(list(x.values()))
    plots.label(axes, measure.title, over.label, measure.unit, log_x=log)
    axes.set_xticks(list(x.values()), [toml_claims.text_of(value) for value in values])
    axes.minorticks_off()
    _scale(axes, judged, parts)
    for part in parts:
        for place in part.places:
            if place.at in judged and place.other is None and place.point[over.name] in x:
                _expected(axes, x[place.point[over.name]], judged[place.at], part, log)
    axes.legend()


def _scale(axes: Axes, judged: Mapping[str, Part], parts: Sequence[Asked]) -> None:
    """The axis of the values: logarithmic where they differ much, else from 0."""
    shown = [value for line in axes.containers for value in line[0].get_ydata() if math.isfinite(value)]
    if shown and _wide(shown):
        axes.set_yscale("log")
    elif shown and min(shown) >= 0:
        axes.set_ylim(bottom=0)


def _expected(axes: Axes, x: float, judged: Part, part: Asked, log: bool) -> None:
    """Draws the expected value at a point: a band with the value in it, or a line with the side on which it is to be."""
    low, high = axes.get_xlim()
    half = WIDE * (math.log(high / low) if log else high - low)
    left, right = (x * math.exp(-half), x * math.exp(half)) if log else (x - half, x + half)
    wanted = part.expected
    name = None if "expected" in axes.get_legend_handles_labels()[1] else "expected"
    if judged.band is not None:
        axes.fill_between([left, right], *judged.band, label=name, **BAND)
        name = None
    if judged.value is not None:
        axes.plot([left, right], [judged.value] * 2, **EDGE)
    for bound, arrow in ((wanted.more_than, "^"), (wanted.less_than, "v")):
        if bound is not None:
            axes.plot([left, right], [bound] * 2, **EDGE)
            look = {"marker": arrow, "markersize": 6, "color": plots.PUBLISHED, "linestyle": "none"}
            axes.plot([x], [bound], label=name, **look)
            name = None


def _compared(axes: Axes, place: Place, judged: Part, part: Asked) -> None:
    """A measured value with its interval over the expected value or band."""
    if judged.band is not None:
        axes.axvspan(*judged.band, **BAND)
    if judged.value is not None:
        axes.axvline(judged.value, **EDGE)
    for bound, arrow in ((part.expected.more_than, ">"), (part.expected.less_than, "<")):
        if bound is not None:
            axes.axvline(bound, **EDGE)
            axes.plot([bound], [0], marker=arrow, color=plots.PUBLISHED, linestyle="none")
    if isinstance(judged.measured, float):
        axes.errorbar(
            [judged.measured], [0], xerr=[judged.half or 0.0], marker="o", color=plots.SCTP, capsize=2.5
        )
    unit = "" if place.sign == "/" or not part.measure.unit else f", {part.measure.unit}"
    axes.set_title(place.at, loc="left", fontsize=8)
    axes.set_xlabel(part.measure.title + unit, fontsize=9)
    axes.set(yticks=[0], yticklabels=[judged.grade], ylim=(-1, 1))
    axes.margins(x=0.15)


def _positions(axis: Axis, values: Sequence[Any]) -> dict[Any, float]:
    if all(isinstance(value, int | float) for value in values):
        return {value: float(value) for value in values}
    return {value: float(index) for index, value in enumerate(values)}


def _wide(values: Sequence[float]) -> bool:
    return min(values) > 0 and max(values) / min(values) >= SPREAD


def _has(grid: Grid, point: Mapping[str, Any]) -> bool:
    return tuple(point[axis] for axis in grid.axes) in grid.cells
