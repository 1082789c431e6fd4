"""The figure of a claim that needs no Python: what it measures, with intervals, over an axis, and what is expected of it."""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawn

from ..judge import declared
from ..judge.claims import Claim, Part
from ..judge.declared import Asked
from ..judge.exhibits import Figure
from ..plan.catalogue import Expected
from ..plan.plan import Axis
from ..run.grid import Grid
from ..run.results import Results
from . import plots

BAND = {"color": plots.PUBLISHED, "alpha": 0.13, "linewidth": 0}
EDGE = {"color": plots.PUBLISHED, "linewidth": 1.1}
WIDE = 0.03
"""Of a panel: half of what an expectation at a point is wide."""
SPREAD = 20
"""Values whose largest is so many times their smallest are shown on a logarithmic axis."""


def figure(results: Results, claim: Claim) -> Figure:
    """The figure of a judged claim: its curves, and the comparisons of two points in a panel of their own."""
    parts = declared.asked(results.plan, claim.entry)
    grids = {id(part): declared.measure(results, part) for part in parts}
    caption = f"{claim.id}: {claim.entry.statement} Means and 95 % intervals; grey: what is expected."
    return Figure(
        f"claim-{claim.id}",
        f"{claim.id}, {claim.grade}: {claim.entry.statement}",
        caption,
        lambda: _draw(claim, parts, grids),
        alt=" ".join(declared.findings([claim])),
    )


def _draw(claim: Claim, parts: Sequence[Asked], grids: Mapping[int, Grid]) -> Drawn:
    judged = {part.at: part for part in claim.parts}
    curves: dict[tuple[str, str], list[Asked]] = {}
    for part in parts:
        if _over(part) is not None:
            curves.setdefault((part.sweep.name, part.measure.text), []).append(part)
    compared = [
        (f"{part.measure.title}\n{place.at}", judged[place.at], part.expected)
        for part in parts
        for place in part.places
        if place.at in judged and (place.other is not None or _over(part) is None)
    ]
    count = len(curves) + bool(compared)
    drawn, panels = plots.panels(max(1, count), height=4.2 if count == 1 else 3.6)
    for axes, mine in zip(panels, curves.values(), strict=False):
        _curves(axes, mine, grids[id(mine[0])], judged)
    if compared:
        _compared(panels[-1], compared)
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
    log = _wide(list(x.values())) and all(isinstance(value, int | float) for value in values)
    plots.label(axes, measure.title, over.label, measure.unit, log_x=log)
    axes.set_xticks(list(x.values()), [declared.text_of(value) for value in values])
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
    """What is expected at a point: a band with the value in it, or a line with the side on which it is to be."""
    low, high = axes.get_xlim()
    half = WIDE * (math.log(high / low) if log else high - low)
    left, right = (x * math.exp(-half), x * math.exp(half)) if log else (x - half, x + half)
    wanted = part.expected
    if judged.band is not None:
        axes.fill_between([left, right], *judged.band, **BAND)
    if judged.value is not None:
        axes.plot([left, right], [judged.value] * 2, **EDGE)
    for bound, arrow in ((wanted.more_than, "^"), (wanted.less_than, "v")):
        if bound is not None:
            axes.plot([left, right], [bound] * 2, **EDGE)
            axes.plot([x], [bound], marker=arrow, markersize=6, color=plots.PUBLISHED, linestyle="none")


def _compared(axes: Axes, compared: Sequence[tuple[str, Part, Expected]]) -> None:
    """A row for each: the measured value with its interval over what is expected."""
    for row, (_, part, wanted) in enumerate(compared):
        if not isinstance(part.measured, float):
            continue
        if part.band is not None:
            axes.fill_betweenx([row - 0.3, row + 0.3], *part.band, **BAND)
        if part.value is not None:
            axes.plot([part.value] * 2, [row - 0.3, row + 0.3], **EDGE)
        for bound, arrow in ((wanted.more_than, ">"), (wanted.less_than, "<")):
            if bound is not None:
                axes.plot([bound] * 2, [row - 0.3, row + 0.3], **EDGE)
                axes.plot([bound], [row], marker=arrow, color=plots.PUBLISHED, linestyle="none")
        axes.errorbar(
            [part.measured], [row], xerr=[part.half or 0.0], marker="o", color=plots.SCTP, capsize=2.5
        )
        axes.annotate(f"{part.grade}: {part.expected}", (part.measured, row - 0.36), ha="center", fontsize=8)
    axes.set_yticks(range(len(compared)), [name for name, _, _ in compared])
    axes.set_ylim(len(compared) - 0.4, -0.6)
    plots.label(axes, "Compared", "", "")


def _positions(axis: Axis, values: Sequence[Any]) -> dict[Any, float]:
    if all(isinstance(value, int | float) for value in values):
        return {value: float(value) for value in values}
    return {value: float(index) for index, value in enumerate(values)}


def _wide(values: Sequence[float]) -> bool:
    return min(values) > 0 and max(values) / min(values) >= SPREAD


def _has(grid: Grid, point: Mapping[str, Any]) -> bool:
    return tuple(point[axis] for axis in grid.axes) in grid.cells
