"""Claims that need no Python: each part names in claims.toml its sweep, its measure and its point.

measure = "goodput of upload, Mbit/s"       a column of results (docs/reference/results.md), of a flow or a link, and its unit
at = "p = 0.01"                             a point of the grid: a value for each axis that has several; `*` for each of them
at = "p = 0.003 / p = 0.03"                 the ratio of two points; ` - `: their difference, seed by seed
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .. import stats
from ..plan.catalogue import Entry, Expected
from ..plan.plan import ENGINE, Axis, Plan, PlanError, Sweep, read
from ..run.grid import Grid, Sample
from ..run.results import Results
from ..stats import Estimate
from . import grades
from .claims import Claim, ClaimBuilder
from .comparison import Signs, cannot_fail, says_small

WORDS = {"goodput": "goodput_payload_bps", "duration": "completion_s"}
"""Short words for columns of results; any other is written as it is there, with spaces or `_`, without its unit."""
UNITS = {
    "bit/s": ("_bps", 1.0),
    "kbit/s": ("_bps", 1e-3),
    "Mbit/s": ("_bps", 1e-6),
    "Gbit/s": ("_bps", 1e-9),
    "s": ("_s", 1.0),
    "ms": ("_s", 1e3),
    "bytes": ("_bytes", 1.0),
    "%": ("", 100.0),
    "": ("", 1.0),
}
"""For each unit: the ending of its columns' names, and the factor from a value of such a column to the unit."""


@dataclass(frozen=True)
class Measure:
    """A column of the results of a flow or a link, in a unit."""

    text: str
    kind: str
    of: str
    column: str
    unit: str

    @property
    def title(self) -> str:
        """The measured quantity, without the unit."""
        return self.text.rpartition(",")[0] if self.unit else self.text

    @property
    def sql(self) -> str:
        """The aggregate over the rows of one run."""
        name = self.of.replace("'", "''")
        return (
            f"{UNITS[self.unit][1]!r} * sum({self.column}) FILTER (kind = '{self.kind}' AND name = '{name}')"
        )


@dataclass(frozen=True)
class Place:
    """The place at which a part is measured: a point, or two of them that are compared."""

    at: str
    point: Mapping[str, Any]
    sign: str = ""
    """`/` or `-` with a second point; nothing without one."""
    other: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Asked:
    """A part of a claim with its sweep, its measure and its points."""

    expected: Expected
    sweep: Sweep
    measure: Measure
    places: tuple[Place, ...]
    """The places of the part: several where its name has a `*`."""
    where: str
    """The file, the claim and the part, for error messages."""


def asked(plan: Plan, entry: Entry) -> list[Asked]:
    """The parts of a claim, read against the plan; an error names the fault of a part, and the possible values."""
    found = []
    for part in entry.parts:
        if part.not_testable:
            continue
        where = f"{entry.file}: claim {entry.id}: part {part.at}"
        if not part.measure:
            raise PlanError(
                f"{where}: no `measure`, such as `goodput of upload, Mbit/s`, and no analysis.py that measures it"
            )
        sweep = _sweep(plan, part, where)
        _compared(part, where)
        measure = _measure(part.measure, sweep, where)
        # A point that another part names belongs to that part.
        places = tuple(
            place
            for place in _places(part.at, sweep, where)
            if place.at == part.at or all(place.at != other.at for other in entry.parts)
        )
        found.append(Asked(part, sweep, measure, places, where))
    return found


def _compared(part: Expected, where: str) -> None:
    """Refuses expectations that a mean cannot be compared with."""
    if part.equals is not None:
        raise PlanError(
            f"{where}: `equals` needs an analysis.py; a `measure` can have less_than, more_than, range, same, sign, value"
        )
    if part.sign and " - " not in part.at:
        raise PlanError(f"{where}: `sign` is about the difference of two points: `A - B`")


def is_one(entry: Entry) -> bool:
    """Whether a claim names its measure."""
    return any(part.measure for part in entry.parts)


def check(plan: Plan, entries: Mapping[str, Entry]) -> None:
    """Reads every claim of an experiment that needs no Python, before anything is run."""
    short = plan.name.rpartition("/")[2]
    alone = not (plan.folder / "analysis.py").is_file()
    for entry in entries.values():
        if entry.experiment == short and (alone or is_one(entry)):
            asked(plan, entry)


def judge(results: Results, builder: ClaimBuilder, entry: Entry) -> Claim:
    """The claim with its grade."""
    measured: dict[str, Estimate | Signs] = {}
    engines: dict[str, None] = {}
    for part in asked(results.plan, entry):
        grid = measure(results, part)
        for place in part.places:
            if all(_there(grid, point) for point in (place.point, place.other) if point is not None):
                measured[place.at] = _at(grid, part, place)
                apart = place.sign == "-"
                size = _size(grid, part, place) if apart else None
                # Little may be measured of what could be much: that a share is below one half says something where it is a thousandth.
                small = part.expected.less_than is not None and says_small(part.expected)
                if not small and cannot_fail(
                    part.expected, place.at, measured[place.at], signed=apart, size=size
                ):
                    raise PlanError(
                        f"{part.where}: {part.expected.text}: nothing can fail; {place.at} would be so with a hundredth and with a hundredfold of what "
                        "was measured, too"
                    )
            elif not builder.quick:
                raise PlanError(f"{part.where}: there are no runs of {place.at}")
        for point in (place.point for place in part.places):
            engines.update(dict.fromkeys([point[ENGINE]] if ENGINE in point else results.plan.every_engine()))
    return builder.claim(entry.id, measured, engine=" ".join(engines))


def measure(results: Results, part: Asked) -> Grid:
    """The measure of a part, for every run of its sweep."""
    columns = _columns(results, part)
    if part.measure.column not in columns:
        raise PlanError(
            f"{part.where}: measure `{part.measure.text}`: a {part.measure.kind} has no {part.measure.column}; "
            f"there are {', '.join(columns)} (docs/reference/results.md)"
        )
    return results.grid(part.sweep.name, {part.measure.text: part.measure.sql})


def _columns(results: Results, part: Asked) -> list[str]:
    """The columns of results that rows of this kind may have a number in."""
    types = results.rows(part.sweep.name, "SELECT column_name, column_type FROM (DESCRIBE runs)")
    places = {axis.name for axis in part.sweep.axes} | {"seed", "kind", "subflow", "run"}
    known = [
        row["column_name"]
        for row in types
        if row["column_type"] != "VARCHAR" and row["column_name"] not in places
    ]
    mine = f"FILTER (kind = '{part.measure.kind}')"
    counts = ", ".join(f'count("{each}") {mine} > 0 OR count("{each}") = 0 AS "{each}"' for each in known)
    # A column without a number in any row, such as the end of flows that never end, may belong to any kind.
    (row,) = results.rows(part.sweep.name, f"SELECT {counts} FROM runs")
    return [each for each in known if row[each]]


def _at(grid: Grid, part: Asked, place: Place) -> Estimate | Signs:
    first = grid.sample(part.measure.text, **place.point)
    if place.other is None:
        return first.estimate
    second = grid.sample(part.measure.text, **place.other)
    if place.sign == "/":
        return _ratio(first, second)
    return Signs(first - second) if part.expected.sign else (first - second).estimate


def _size(grid: Grid, part: Asked, place: Place) -> float:
    """How large the difference of two points can be: as the larger one."""
    points = (point for point in (place.point, place.other) if point is not None)
    return max(abs(grid.at(part.measure.text, **point).mean) for point in points)


def _ratio(first: Sample, second: Sample) -> Estimate:
    try:
        return first.over(second)
    except ValueError:
        # A division by 0 gives no value.
        return stats.estimate([float("nan")] * max(1, len(first.values)), first.least)


def _there(grid: Grid, point: Mapping[str, Any]) -> bool:
    return tuple(point[axis] for axis in grid.axes) in grid.cells


def _sweep(plan: Plan, part: Expected, where: str) -> Sweep:
    names = [sweep.name for sweep in plan.sweeps]
    if not part.sweep and len(names) == 1:
        return plan.sweeps[0]
    if part.sweep not in names:
        told = f"sweep `{part.sweep}`" if part.sweep else "`sweep` is missing"
        raise PlanError(f"{where}: {told}; there are {', '.join(names)}")
    return plan.sweep(part.sweep)


def _measure(text: str, sweep: Sweep, where: str) -> Measure:
    body, _, unit = (each.strip() for each in text.partition(","))
    words, of, name = body.partition(" of ")
    words, name = words.strip(), name.strip()
    if not of or not words or not name:
        raise PlanError(f"{where}: measure `{text}`: write it as `goodput of upload, Mbit/s`")
    document = read(sweep.scenario)
    flows, links = document.get("flow", ()), document.get("link", ())
    names = [each.get("name") for each in (*flows, *links)]
    if name not in names:
        raise PlanError(
            f"{where}: measure `{text}`: no flow or link `{name}`; there are {', '.join(map(str, names))}"
        )
    if unit not in UNITS:
        raise PlanError(
            f"{where}: measure `{text}`: unit `{unit}`; there are {', '.join(filter(None, UNITS))}"
        )
    flow = next((each for each in flows if each.get("name") == name), None)
    kind = "link" if flow is None else "group" if "count" in flow else "flow"
    column, end = WORDS.get(words, words.replace(" ", "_")), UNITS[unit][0]
    its = next((each for each, _ in UNITS.values() if each and column.endswith(each)), "")
    if its and its != end:
        fitting = [each for each, (known, _) in UNITS.items() if known == its]
        raise PlanError(f"{where}: measure `{text}`: a unit belongs to it; there are {', '.join(fitting)}")
    if not column.isidentifier():
        raise PlanError(
            f"{where}: measure `{text}`: `{words}` is no column of results (docs/reference/results.md)"
        )
    return Measure(text, kind, name, column if its else column + end, unit)


def _places(at: str, sweep: Sweep, where: str) -> Iterator[Place]:
    """The places that a part names."""
    for sign in (" / ", " - "):
        left, found, right = at.partition(sign)
        if found:
            first, second = _named(left, sweep, where), _named(right, sweep, where)
            if "*" in [*first.values(), *second.values()]:
                raise PlanError(f"{where}: `*` cannot be compared; name the values")
            # The second point has the values of the first where it names none.
            yield Place(at, _whole(first, sweep, where), sign.strip(), _whole(first | second, sweep, where))
            return
    named = _named(at, sweep, where)
    free = [axis for name in named for axis in sweep.axes if axis.name == name and named[name] == "*"]
    for values in itertools.product(*(axis.values for axis in free)):
        chosen = dict(zip((axis.name for axis in free), values, strict=True))
        text = at
        for axis in free:
            text = text.replace("*", text_of(chosen[axis.name]), 1)
        yield Place(text, _whole(named | chosen, sweep, where))


def _named(text: str, sweep: Sweep, where: str) -> dict[str, Any]:
    """`p = 0.01, n = 4`: the values of the axes that it names, in its order."""
    found: dict[str, Any] = {}
    axes = {axis.name: axis for axis in sweep.axes}
    for each in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = (part.strip() for part in each.partition("="))
        if not equals or name not in axes:
            raise PlanError(f"{where}: `{each}`: write AXIS = VALUE; sweep `{sweep.name}` has {_axes(sweep)}")
        found[name] = value if value == "*" else _value(axes[name], value, where)
    return found


def _whole(named: Mapping[str, Any], sweep: Sweep, where: str) -> dict[str, Any]:
    """A value for each axis: an axis that is not named has one only, and of several engines the judged one is meant."""
    point = {}
    for axis in sweep.axes:
        if axis.name in named:
            point[axis.name] = named[axis.name]
        elif len(axis.values) == 1 or axis.name == ENGINE:
            point[axis.name] = axis.values[0]
        else:
            raise PlanError(f"{where}: no value of `{axis.name}`; there are {_values(axis)}")
    return point


def _value(axis: Axis, text: str, where: str) -> Any:
    for value in axis.values:
        if text == str(value) or text == text_of(value):
            return value
        if isinstance(value, int | float) and _is_number(text) and float(text) == value:
            return value
    raise PlanError(f"{where}: {axis.name} = {text}; there are {_values(axis)}")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def text_of(value: Any) -> str:
    """A value of an axis, as `at` has it."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def _values(axis: Axis) -> str:
    return ", ".join(text_of(value) for value in axis.values)


def _axes(sweep: Sweep) -> str:
    return "; ".join(f"{axis.name} = {_values(axis)}" for axis in sweep.axes) or "no axis"


def findings(claims: Sequence[Claim]) -> list[str]:
    """A sentence for each claim: its statement, its grade, and the measured and expected values."""
    told = []
    for claim in claims:
        parts = [
            f"{part.at}: {part.measured:.4g}"
            + ("" if part.half is None else f" ± {part.half:.2g}")
            + f" ({part.expected})"
            for part in claim.parts
            if isinstance(part.measured, float)
        ]
        letter = "" if claim.grade == grades.NOT_JUDGED else f" ({claim.grade})"
        word = claim.word.capitalize() + letter
        told.append(f"{claim.entry.statement} {word}" + (f": {'; '.join(parts)}." if parts else "."))
    return told
