"""A first look at any sweep: the goodput of every flow, point by point, as a table and as a figure."""

import itertools
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Drawn

from .. import stats
from ..judge.figures import Figure, Table
from ..plan.plan import PlanError, Sweep
from ..run import grid
from ..run.results import Results
from . import notes, plots

FEW = 12
"""The most values of an axis that are written out below a figure."""
KINDS = ("flow", "link", "group")
"""The kinds of objects that a measure may belong to."""


@dataclass(frozen=True)
class Measure:
    """A column of the results of a flow, a link or a group of flows, in a unit for readers."""

    kind: str
    of: str
    column: str

    @property
    def name(self) -> str:
        """The measure as it is written after `--measure`."""
        return f"{self.kind}.{self.of}.{self.column}"

    @property
    def unit(self) -> str:
        """The unit of the table, or nothing for a plain number."""
        if self.column.endswith("_bps"):
            return "Mbit/s"
        if self.column == "utilisation":
            return "%"
        return "s" if self.column.endswith("_s") else ""

    @property
    def title(self) -> str:
        """For heads of tables and names of curves."""
        words = self.column.removesuffix("_bps").removesuffix("_s").replace("_", " ")
        return f"{self.of}: {words}" + (f", {self.unit}" if self.unit else "")

    @property
    def sql(self) -> str:
        """The aggregate over the rows of one run."""
        scale = {"Mbit/s": "1e-6 * ", "%": "100 * "}.get(self.unit, "")
        return f"{scale}sum({self.column}) FILTER (kind = '{self.kind}' AND name = '{self.of}')"


def measure(text: str) -> Measure:
    """`flow.download.goodput_payload_bps` in parts."""
    kind, _, rest = text.partition(".")
    of, _, column = rest.rpartition(".")
    if kind not in KINDS or not of or not column.isidentifier():
        raise PlanError(
            f"measure `{text}`: write flow.NAME.COLUMN or link.NAME.COLUMN, such as flow.download.goodput_payload_bps; "
            "the columns are the keys of `anabranch simulate --json`"
        )
    return Measure(kind, of.strip('"'), column)


def usual(scenario: str) -> list[Measure]:
    """The usual first measures: the goodput of every flow, how long a transfer takes, how busy the slowest link is."""
    document = tomllib.loads(scenario)
    found = []
    for flow in document.get("flow", ()):
        several = "count" in flow
        of = ("group" if several else "flow", flow["name"])
        transfer = not several and flow.get("traffic", {}).get("kind") == "transfer"
        found.append(Measure(*of, "completion_s" if transfer else "goodput_payload_bps"))
    queues = [link["name"] for link in document.get("link", ()) if "packets" in str(link.get("queue", ""))]
    found += [Measure("link", name, "utilisation") for name in queues[:1]]
    return found


@dataclass(frozen=True)
class Look:
    """A sweep and its measures."""

    sweep: Sweep
    runs: grid.Grid
    measures: Sequence[Measure]
    notes: Mapping[tuple[Any, ...], str] = field(default_factory=dict)
    """Remarks on the runs of a point, where there are any."""

    def table(self) -> Table:
        """A row for each point: means and 95 % intervals."""
        head = [axis.label for axis in self.sweep.axes] + [each.title for each in self.measures]
        noted = any(self.notes.get(place) for place in self.runs.cells)
        if noted:
            head.append("to know")
        rows = []
        for place, cell in self.runs.cells.items():
            rows.append([_text(value) for value in place] + [_mean(cell[m.name]) for m in self.measures])
            if noted:
                rows[-1].append(self.notes.get(place, ""))
        seeds = sorted({len(cell["seed"]) for cell in self.runs.cells.values()})
        counted = str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
        plural = "" if counted == "1" else "s"
        note = f"Means and 95 % intervals of {counted} seed{plural}."
        return Table(self.sweep.about, head, rows, note)

    def csv(self) -> str:
        """A line for each run: the axes, the seed, the measures."""
        axes = [axis.name for axis in self.sweep.axes]
        lines = [[*axes, "seed", *(each.title for each in self.measures)]]
        for place, cell in self.runs.cells.items():
            for index, seed in enumerate(cell["seed"]):
                values = [cell[each.name][index] for each in self.measures]
                lines.append([*map(_text, place), str(seed), *("" if v is None else repr(v) for v in values)])
        return "".join(",".join(map(_quoted, line)) + "\n" for line in lines)

    def figure(self) -> Drawn:
        """Each measure over the first axis with several values; a curve for each value of the others."""
        over = next((axis for axis in self.sweep.axes if len(axis.values) > 1), None)
        if over is None:
            raise PlanError(f"sweep `{self.sweep.name}` has one point: there is nothing to draw a curve over")
        others = [axis for axis in self.sweep.axes if axis is not over]
        drawn, panels = plots.rows(len(self.measures), height=3.0 if len(self.measures) > 1 else 4.2)
        numeric = all(isinstance(value, int | float) for value in over.values)
        x = [float(v) for v in over.values] if numeric else list(range(len(over.values)))
        log = numeric and plots.by_factors(x)
        for axes, each in zip(panels, self.measures, strict=True):
            for index, rest in enumerate(itertools.product(*(axis.values for axis in others))):
                at = dict(zip((axis.name for axis in others), rest, strict=True))
                means, halves = self._curve(each, over.name, over.values, at)
                look = {"marker": "osPv^D*x"[index % 8], "color": plots.CYCLE[index % len(plots.CYCLE)]}
                name = ", ".join(_text(value) for value in rest)
                axes.errorbar(x, means, yerr=halves, label=name, markersize=4.5, capsize=2.5, **look)
            axes.set_ylim(bottom=0)
            plots.label(axes, each.title, over.label if axes is panels[-1] else "", each.unit, log_x=log)
            if not numeric or (log and len(x) <= FEW):
                # The values themselves, instead of powers of ten.
                axes.set_xticks(x, [_text(value) for value in over.values])
                axes.minorticks_off()
            if others:
                axes.legend(title=", ".join(axis.label for axis in others))
        return drawn

    def _curve(
        self, each: Measure, over: str, values: Sequence[Any], at: Mapping[str, Any]
    ) -> tuple[list[float], list[float]]:
        found = [_estimate(self._cell({**at, over: value})[each.name]) for value in values]
        return [mean for mean, _ in found], [half for _, half in found]

    def _cell(self, at: Mapping[str, Any]) -> Mapping[str, Sequence]:
        return self.runs.cells.get(
            tuple(at[axis] for axis in self.runs.axes), dict.fromkeys((m.name for m in self.measures), ())
        )


def look(results: Results, sweep: Sweep, measures: Sequence[Measure] = ()) -> Look:
    """Looks at the runs of a sweep that are on disk."""
    chosen = list(measures) or usual(next(iter(sweep.points(results.quick))).scenario)
    runs = results.grid(sweep.name, {each.name: each.sql for each in chosen})
    return Look(sweep, runs, chosen, notes.by_point(results, sweep))


def everything(results: Results) -> tuple[list[Table], list[Figure]]:
    """Tables and figures of every sweep, for an experiment that has no analysis of its own."""
    tables, figures = [], []
    for sweep in results.plan.sweeps:
        found = look(results, sweep)
        tables.append(found.table())
        if any(len(axis.values) > 1 for axis in sweep.axes):
            caption = f"{sweep.about} Means and 95 % intervals."
            figures.append(Figure(sweep.name, sweep.about.rstrip("."), caption, found.figure))
    return tables, figures


def _estimate(values: Sequence[float | None]) -> tuple[float, float]:
    """Mean and half width of the values that are not None; the half width of one value is 0."""
    there = [value for value in values if value is not None]
    if not there:
        return math.nan, 0.0
    found = stats.estimate(there)
    return found.mean, found.half if np.isfinite(found.half) else 0.0


def _mean(values: Sequence[float | None]) -> str:
    mean, half = _estimate(values)
    missing = sum(value is None for value in values)
    if missing == len(values):
        return "none"
    told = f"{mean:.4g}" + (f" ± {half:.2g}" if half else "")
    return told + (f" ({missing} of {len(values)} without)" if missing else "")


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if any(sign in cell for sign in ',"\n') else cell
