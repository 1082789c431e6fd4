"""The list of a study's claims: the expected value of each part, with its tolerance. It is written here and nowhere else."""

import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .plan import PlanError

KINDS = {
    "N": "a printed number",
    "D": "a number derived from printed parameters",
    "S": "a shape or an order",
    "T": "arithmetic of printed numbers",
}
PUBLISHED, DERIVED, CALIBRATED, CONSISTENCY, OWN = (
    "published",
    "derived",
    "calibrated",
    "consistency",
    "own",
)
SORTS = {
    PUBLISHED: "published and printed",
    DERIVED: "derived from printed parameters",
    CALIBRATED: "calibrated: a parameter was fitted to the answer",
    CONSISTENCY: "consistency: printed against printed",
    OWN: "our own hypotheses",
}
"""The classes of claims, as `counts_as` names them. Each is counted apart; a claim of any but the last can be reproduced, one of our own holds."""
NUMBERS = ("more_than", "less_than", "no_effect", "nothing")


@dataclass(frozen=True)
class Expected:
    """The expected value of one part of a claim, and how closely it must be met."""

    at: str
    """The name of the part; `*` stands for anything."""
    value: float | None = None
    """The published value."""
    tolerance: tuple[float, float] | None = None
    """How far the measured value may lie below and above it."""
    range: tuple[float, float] | None = None
    """A published range."""
    one_run: bool | float = False
    """Whether the value was printed from one run; a number: the standard deviation of such a run over that of one of ours."""
    more_than: float | None = None
    less_than: float | None = None
    no_effect: float = 0.0
    """Closer to the threshold than this is no effect; the tolerance where a value is published."""
    nothing: float | None = None
    """The measure without any effect, where `more_than` or `less_than` say how large it is at least: an effect that falls short of that has another size."""
    same: tuple[float, float] | None = None
    """The bounds between which a difference, or a ratio, of two measures means that they are the same."""
    equals: Any = None
    """The expected text or number where it must match exactly, such as a count or an order of packets."""
    sign: str = ""
    """`more` or `less`: the sign that the seeds agree on."""
    not_testable: str = ""
    """The reason why no run can test this part."""
    cause: str = ""
    """The cause for which it fails, where other parts fail by the same: they are one part then."""
    sweep: str = ""
    """Where no Python judges it: the sweep that it is measured in (`judge/toml_claims.py`)."""
    measure: str = ""
    """Where no Python judges it: its measure in `sweep`, such as `goodput of upload, Mbit/s`; `at` is the point then."""

    @property
    def explicit(self) -> bool:
        """Whether its direction is written, and does not follow from the side of 0 that its value is on."""
        return self.more_than is not None or self.less_than is not None

    @property
    def threshold(self) -> tuple[float, bool] | None:
        """The threshold of the measure, and whether it must be above: `nothing`, or `more_than` and `less_than`, or the side of 0 that a published value has."""
        if self.nothing is not None:
            return self.nothing, self.more_than is not None
        if self.more_than is not None:
            return self.more_than, True
        if self.less_than is not None:
            return self.less_than, False
        if self.value:
            return 0.0, self.value > 0
        return None

    @property
    def edges(self) -> tuple[float, float]:
        """The band of a size, without the spread of a published run."""
        if self.same is not None:
            return self.same
        if self.range is not None:
            return self.range
        if self.nothing is not None:
            return (
                -math.inf if self.more_than is None else self.more_than,
                math.inf if self.less_than is None else self.less_than,
            )
        below, above = self.tolerance or (0.0, 0.0)
        return (self.value or 0.0) - below, (self.value or 0.0) + above

    @property
    def width(self) -> float:
        """Half of the width of the band."""
        low, high = self.edges
        return (high - low) / 2

    @property
    def text(self) -> str:
        """The expected value in words, as reports show it."""
        told = []
        if self.value is not None:
            below, above = self.tolerance or (0.0, 0.0)
            told.append(f"{self.value:g} " + (f"± {above:g}" if below == above else f"-{below:g} +{above:g}"))
        if self.range is not None:
            told.append(f"{self.range[0]:g} to {self.range[1]:g}")
        if self.more_than is not None:
            told.append(f"> {self.more_than:g}")
        if self.less_than is not None:
            told.append(f"< {self.less_than:g}")
        if self.same is not None:
            low, high = self.same
            told.append(f"the same within {high:g}" if low == -high else f"the same: {low:g} to {high:g}")
        if self.equals is not None:
            told.append(f"= {self.equals}")
        if self.sign:
            told.append(f"{self.sign}, by a sign test")
        if self.one_run:
            told.append("from one run")
        return ", ".join(told)


@dataclass(frozen=True)
class Entry:
    """One claim as the study makes it."""

    id: str
    experiment: str
    """The experiment that judges it, without the study's name."""
    where: str
    statement: str
    kind: str
    parts: tuple[Expected, ...]
    tolerance: str = ""
    """The tolerance in words, where the parts do not have all of it."""
    counts_as: str = PUBLISHED
    """A key of `SORTS`."""
    seen: bool = False
    """Whether it was written, or the way to judge it changed, when its numbers were known."""
    counted_with: str = ""
    """Another claim that fails for the same cause: both are counted as one."""
    not_testable: str = ""
    """The reason why no run can decide the whole claim."""
    one_run: float = field(default=1.0, compare=False)
    """The standard deviation of a published run over that of one of ours."""
    file: str = field(default="", compare=False)
    """The file that has the claim."""

    def expected(self, at: str) -> Expected:
        """The expected value of a part: that of its name, or of a pattern that fits."""
        for each in self.parts:
            if each.at == at:
                return each
        for each in self.parts:
            if "*" in each.at and re.fullmatch(re.escape(each.at).replace(r"\*", ".*"), at):
                return each
        raise PlanError(
            f"{self.id}: claims.toml has no part `{at}`; there are {', '.join(e.at for e in self.parts)}"
        )

    def without(self, measured: Iterable[str]) -> list[str]:
        """The parts that have no measured value."""
        found = set(measured)
        return [
            each.at
            for each in self.parts
            if each.at not in found
            and not each.not_testable
            and not ("*" in each.at and any(self.expected(name) == each for name in found))
        ]


_REQUIRED = {"id", "experiment", "statement"}
_PUBLISHED = {"where"}
"""Further keys that a claim of a publication must have."""
_TEXTS = {"id", "experiment", "statement", "where", "kind", "counts_as", "counted_with", "not_testable"}
_OF_PARTS = ("sweep", "measure")
"""Keys of a claim that its parts inherit."""
_OPTIONAL = {"parts", "kind", "tolerance", "counts_as", "seen", "counted_with", "not_testable", *_OF_PARTS}


def load(path: Path, experiment: str | None = None, study: str = "") -> dict[str, Entry]:
    """Reads a claims.toml; by identifier, in its order. `experiment` judges those that name none; `study` is the number of the publication,
    `own` where there is none.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except tomllib.TOMLDecodeError as error:
        raise PlanError(f"{path}: {error}") from None
    unknown = sorted(set(document) - {"claim", "one_run"})
    if unknown:
        raise PlanError(f"{path}: unknown: {', '.join(unknown)}; there are claim, one_run")
    one_run = document.get("one_run", 1.0)
    if not _is_number(one_run):
        raise PlanError(f"{path}: `one_run` is a number, not {one_run!r}")
    entries: dict[str, Entry] = {}
    for number, table in enumerate(document.get("claim", []), start=1):
        if experiment is not None:
            table.setdefault("experiment", experiment)
        where = f"{path}: claim {table.get('id', f'number {number}')}"
        for key in _TEXTS & set(table):
            if not isinstance(table[key], str):
                raise PlanError(f"{where}: `{key}` is a text, not {table[key]!r}")
        if not isinstance(table.get("seen", False), bool):
            raise PlanError(f"{where}: `seen` is true or false, not {table['seen']!r}")
        given = table.get("parts", [])
        if not isinstance(given, list) or not all(isinstance(part, dict) for part in given):
            raise PlanError(f"{where}: `parts` is a list of tables, not {given!r}")
        if table.get("counts_as", OWN) not in SORTS:
            raise PlanError(f"{where}: counts_as `{table['counts_as']}`; there are {', '.join(SORTS)}")
        ours = table.get("counts_as", _sort(table, study)) == OWN
        _names(table, _REQUIRED if ours else _REQUIRED | _PUBLISHED, _OPTIONAL | _PUBLISHED, where)
        table.setdefault("where", OWN)
        table.setdefault("kind", "N" if any("value" in part for part in given) else "S")
        if not set(table["kind"].split("/")) <= set(KINDS):
            raise PlanError(f"{where}: kind `{table['kind']}`; there are {', '.join(KINDS)}")
        table.setdefault("counts_as", _sort(table, study))
        if table["id"] in entries:
            raise PlanError(f"{where}: it stands there twice")
        shared = {key: table.pop(key) for key in _OF_PARTS if key in table}
        table["parts"] = tuple(_parts([shared | part for part in given], where))
        if not table["parts"] and not table.get("not_testable"):
            raise PlanError(f"{where}: neither `parts` nor `not_testable`: nothing could be judged")
        entries[table["id"]] = Entry(**table, one_run=float(one_run), file=str(path))
    for entry in entries.values():
        leader = entries.get(entry.counted_with)
        if entry.counted_with and (leader is None or leader.counted_with or leader is entry):
            raise PlanError(
                f"{path}: claim {entry.id}: `counted_with` is {entry.counted_with}; allowed is another claim of this file that has none itself"
            )
    return entries


def _names(table: Mapping[str, Any], required: set[str], optional: set[str], where: str) -> None:
    missing, unknown = sorted(required - set(table)), sorted(set(table) - required - optional)
    if missing:
        raise PlanError(f"{where}: `{missing[0]}` is missing; needed are {', '.join(sorted(required))}")
    if unknown:
        raise PlanError(
            f"{where}: unknown `{unknown[0]}`; there are {', '.join(sorted(required | optional))}"
        )


def _parts(given: Sequence[Mapping[str, Any]], where: str) -> Iterator[Expected]:
    seen = set()
    for number, table in enumerate(given, start=1):
        at = table.get("at", "")
        place = f"{where}: part {at or number}"
        for key in ("at", "cause", "not_testable", *_OF_PARTS):
            if not isinstance(table.get(key, ""), str):
                raise PlanError(f"{place}: `{key}` is a text, not {table[key]!r}")
        one_run = table.get("one_run", False)
        if not isinstance(one_run, bool) and not _is_number(one_run):
            raise PlanError(f"{place}: `one_run` is true, false or a number, not {one_run!r}")
        _names(table, {"at"}, set(Expected.__dataclass_fields__) - {"at"}, place)
        if at in seen:
            raise PlanError(f"{place}: it stands there twice")
        seen.add(at)
        yield _part(dict(table), place)


def _part(table: dict[str, Any], place: str) -> Expected:
    for name in NUMBERS:
        if name in table and not _is_number(table[name]):
            raise PlanError(f"{place}: `{name}` is a number, not {table[name]!r}")
    if "value" in table:
        if not _is_number(table["value"]):
            raise PlanError(f"{place}: `value` is a number, not {table['value']!r}; `equals` takes a text")
        if "tolerance" not in table:
            raise PlanError(f'{place}: a `value` has a `tolerance`: a number, "15 %", or [below, above]')
        table["tolerance"] = _tolerance(table["tolerance"], table["value"], place)
        # A value closer to no effect than its own tolerance is no effect.
        table.setdefault("no_effect", max(table["tolerance"]))
    elif "tolerance" in table:
        raise PlanError(f"{place}: a `tolerance` without a `value`")
    if _is_number(table.get("same")):
        if table["same"] < 0:
            raise PlanError(f"{place}: `same` is {table['same']:g}; allowed are 0 and more, or [low, high]")
        table["same"] = (-float(table["same"]), float(table["same"]))
    elif "same" in table:
        table["same"] = _interval(table["same"], "same", place)
    if "range" in table:
        table["range"] = _interval(table["range"], "range", place)
    if table.get("sign", "more") not in ("more", "less"):
        raise PlanError(f"{place}: sign `{table['sign']}`; there are more, less")
    directions, others = ("more_than", "less_than"), ("value", "range", "same", "equals", "sign")
    given = [name for name in (*directions, *others) if name in table]
    if not given and not table.get("not_testable"):
        raise PlanError(
            f"{place}: nothing can fail: give one of {', '.join(sorted((*directions, *others, 'not_testable')))}"
        )
    # A size and a direction belong together; two of a kind would be judged by one of them alone.
    if set(directions) <= set(given) or sum(name in given for name in others) > 1:
        raise PlanError(f"{place}: {' and '.join(given)} cannot stand in one part: make two of it")
    if set(given) & set(directions) and set(given) & {"same", "equals", "sign"}:
        raise PlanError(f"{place}: {' and '.join(given)} cannot stand in one part: make two of it")
    for name, low, high in (("no_effect", 0.0, math.inf),):
        if name in table and not low <= table[name] <= high:
            raise PlanError(f"{place}: `{name}` is {table[name]:g}; allowed are {low:g} to {high:g}")
    if "nothing" in table:
        _beyond_nothing(table, place)
    if table.get("value") == 0:
        raise PlanError(f"{place}: a `value` of 0 has no direction: `same` says by how much it may differ")
    return Expected(**table)


def _beyond_nothing(table: Mapping[str, Any], place: str) -> None:
    """`nothing` stands beside a threshold alone, on the side of it that holds less of the effect."""
    if set(table) & {"value", "range"} or not set(table) & {"more_than", "less_than"}:
        raise PlanError(f"{place}: `nothing` stands beside `more_than` or `less_than` alone")
    far = (
        table["nothing"] < table["more_than"]
        if "more_than" in table
        else table["nothing"] > table["less_than"]
    )
    if not far:
        raise PlanError(
            f"{place}: `nothing` is {table['nothing']:g}; allowed is less than `more_than`, or more than `less_than`"
        )


def _interval(given: Any, name: str, place: str) -> tuple[float, float]:
    if not isinstance(given, list) or [_is_number(each) for each in given] != [True, True]:
        raise PlanError(f"{place}: `{name}` is [low, high], not {given!r}")
    low, high = (float(each) for each in given)
    if not low < high:
        raise PlanError(f"{place}: the {name} {low:g} to {high:g} is empty")
    return low, high


def _is_number(given: Any) -> bool:
    """A finite number, and no truth value."""
    return isinstance(given, int | float) and not isinstance(given, bool) and math.isfinite(given)


def _tolerance(given: Any, value: float, place: str) -> tuple[float, float]:
    sides = given if isinstance(given, list) and len(given) == 2 else [given, given]
    found = []
    for side in sides:
        if isinstance(side, str) and (match := re.fullmatch(r"([0-9.]+) ?%", side)):
            side = abs(value) * float(match[1]) / 100
        if not _is_number(side) or side < 0:
            raise PlanError(f'{place}: tolerance {given!r}; write a number, "15 %", or [below, above]')
        found.append(float(side))
    return found[0], found[1]


def _sort(table: Mapping[str, Any], study: str) -> str:
    """The class of a claim that does not name one."""
    if study == "own" or str(table.get("where", "")).startswith(("own", "beyond")):
        return OWN
    if table.get("kind") == "T":
        return CONSISTENCY
    return DERIVED if table.get("kind") == "D" else PUBLISHED


def missing(entries: Mapping[str, Entry], found: Iterable[Any], experiments: Sequence[str]) -> list[str]:
    """Claims of these experiments without a grade; `found` have an `id`."""
    judged = {claim.id for claim in found}
    return [
        entry.id for entry in entries.values() if entry.experiment in experiments and entry.id not in judged
    ]
