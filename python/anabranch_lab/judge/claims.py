"""Claims with their grades, as out/claims.json has them."""

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from ..plan.catalogue import OWN, SORTS, Entry
from ..plan.plan import PlanError
from . import grades
from .comparison import Comparison, Measured, cannot_fail, compare, says_small

SCHEMA = 2
"""The version of the form of claims.json: it grows when a key gets another meaning or goes."""


@dataclass(frozen=True)
class Part:
    """One printed number or one condition of a claim, with its grade."""

    at: str
    expected: str
    """The expected value in words, with its tolerance."""
    measured: float | str
    half: float | None
    """Half of the 95 % interval."""
    seeds: int | None
    grade: str
    why: str = ""
    """The reason for a grade other than A."""
    value: float | None = None
    """The published value."""
    band: tuple[float, float] | None = None
    """The bounds between which a measured size counts as the published one."""
    factor: tuple[float, float, float] | None = None
    """Measured over published, and the ends of its interval."""
    cause: str = ""


@dataclass(frozen=True)
class Claim:
    """One claim with its grade."""

    entry: Entry
    study: str
    engine: str
    parts: tuple[Part, ...]
    grade: str
    note: str = ""
    readings: Mapping[str, tuple[Part, ...]] = field(default_factory=dict)
    """The same parts where the text can be read in another way: shown beside, and not counted."""
    compared: tuple[Comparison, ...] = ()
    """The comparisons behind its grade, for a correction over several claims (`correction.py`)."""
    error: float = grades.ERROR
    """The probability of a wrong decision that was asked."""

    @property
    def id(self) -> str:
        """The identifier of the claim."""
        return self.entry.id

    @property
    def counts_as(self) -> str:
        """A key of `SORTS`."""
        return self.entry.counts_as

    @property
    def own(self) -> bool:
        """Whether it is a hypothesis of ours, which no publication states."""
        return self.counts_as == OWN

    @property
    def word(self) -> str:
        """The grade in words."""
        return word(self.grade, self.counts_as)

    @property
    def seeds(self) -> int:
        """The fewest runs that one of its parts comes from; 0 where nothing is drawn."""
        return min((part.seeds for part in self.parts if part.seeds is not None), default=0)

    @property
    def held(self) -> tuple[int, int]:
        """The number of reproduced parts, and the number of parts that can be tested."""
        tested = [part for part in self.parts if part.grade != grades.N]
        return sum(part.grade == grades.A for part in tested), len(tested)

    @property
    def held_text(self) -> str:
        """`56 of 64 parts`."""
        held, of = self.held
        without = len(self.parts) - of
        told = f"{held} of {of} {'part' if of == 1 else 'parts'}" if of else ""
        return ", ".join(filter(None, (told, f"{without} not testable" if without else "")))

    @property
    def short(self) -> list[Part]:
        """The parts of the claim that are not reproduced."""
        return [part for part in self.parts if part.grade in (grades.B, grades.C, grades.D)]

    def record(self) -> dict[str, Any]:
        """The entry in claims.json."""
        held, of = self.held
        return {
            "schema": SCHEMA,
            "id": self.id,
            "study": self.study,
            "where": self.entry.where,
            "statement": self.entry.statement,
            "kind": self.entry.kind,
            "counts_as": self.counts_as,
            "seen": self.entry.seen,
            "counted_with": self.entry.counted_with,
            "grade": self.grade,
            "word": self.word,
            "parts_reproduced": held,
            "parts_tested": of,
            "engine": self.engine,
            "seeds": self.seeds,
            "note": self.note,
            "parts": [asdict(part) for part in self.parts],
            "readings": {name: [asdict(part) for part in parts] for name, parts in self.readings.items()},
        }


def word(grade: str, counts_as: str) -> str:
    """A grade in words: a published claim is `reproduced`, one of our own `holds`."""
    return (grades.OWN_WORDS if counts_as == OWN else grades.WORDS)[grade]


def words(found: Sequence[Claim]) -> dict[str, str]:
    """Every grade in words, for several claims: as of hypotheses where all are."""
    return grades.OWN_WORDS if found and all(claim.own for claim in found) else grades.WORDS


def compared(entry: Entry, measured: Mapping[str, Measured]) -> tuple[Comparison, ...]:
    """Compares each measured value with the expected one; `measured` by the names of the parts."""
    return tuple(compare(entry.expected(at), at, value, entry.one_run) for at, value in measured.items())


def of(
    entry: Entry, compared: Sequence[Comparison], error: float = grades.ERROR
) -> tuple[tuple[Part, ...], str]:
    """The parts of a claim with their grades, and that of the whole."""
    graded = grades.grade(compared, error)
    parts = _one_a_cause([_part(*both) for both in zip(compared, graded, strict=True)])
    overall = grades.overall(graded)
    return tuple(parts), grades.N if entry.not_testable else overall


def _part(compared: Comparison, graded: grades.Graded) -> Part:
    return Part(
        compared.at,
        compared.expected.text,
        compared.measured,
        compared.half,
        compared.seeds,
        graded.grade,
        graded.why,
        compared.expected.value,
        # The band of one published run is infinite with too few runs of ours: no band is shown then.
        compared.band if compared.band and all(map(math.isfinite, compared.band)) else None,
        _finite(compared.factor),
        compared.expected.cause,
    )


def _finite(factor: tuple[float, float, float] | None) -> tuple[float, float, float] | None:
    """None for a factor without a finite interval."""
    return factor if factor and all(map(math.isfinite, factor)) else None


def _one_a_cause(parts: Sequence[Part]) -> list[Part]:
    """Parts that fail for one cause are one part: the worst of them, at the place of the first, which says how many. A part that holds stands by itself."""
    worst = (grades.D, grades.C, grades.B)
    failing: dict[str, list[Part]] = {}
    for part in parts:
        if part.cause and part.grade in worst:
            failing.setdefault(part.cause, []).append(part)
    kept = []
    for part in parts:
        same = failing.get(part.cause, []) if part.grade in worst else []
        if not same:
            kept.append(part)
        elif part is same[0]:
            chosen = min(same, key=lambda each: worst.index(each.grade))
            more = f"{part.cause}; {len(same)} parts fail by it" if len(same) > 1 else part.cause
            kept.append(replace(chosen, why="; ".join(filter(None, (chosen.why, more)))))
    return kept


class ClaimBuilder:
    """Makes the claims of one experiment: expected values come from the list of the study, measured values from its judges."""

    def __init__(
        self,
        study: str,
        engine: str,
        entries: Mapping[str, Entry],
        *,
        quick: bool = False,
        error: float = grades.ERROR,
    ):
        self._study = study
        self._engine = engine
        self._entries = entries
        self.quick = quick
        """Whether points may be missing, because this is a quick look and no result."""
        self.error = error
        """The probability of a wrong decision that is asked: `grades.ERROR`, or `grades.BY_RULE`."""

    def claim(
        self,
        identifier: str,
        measured: Mapping[str, Measured],
        *,
        engine: str | None = None,
        note: str = "",
        readings: Mapping[str, Mapping[str, Measured]] | None = None,
    ) -> Claim:
        """A claim with its grade.

        `measured`: a value for each part of claims.toml, by its name. `readings`: the same where the text can be read in another way.
        """
        entry = self._entries.get(identifier)
        if entry is None:
            raise PlanError(
                f"no claim {identifier} in the claims.toml of study {self._study}; there are {', '.join(self._entries)}"
            )
        left = entry.without(measured)
        if left and not self.quick:
            raise PlanError(f"{identifier}: nothing is measured for `{left[0]}` of claims.toml")
        self._check(entry, measured)
        beside = {
            name: of(entry, compared(entry, values), self.error)[0]
            for name, values in (readings or {}).items()
        }
        every = compared(entry, measured)
        parts, grade = of(entry, every, self.error)
        if self.quick and any(part.half is not None or part.seeds is not None for part in parts):
            # A quick look has short runs and few points: only claims that are pure arithmetic get a grade.
            grade = grades.NOT_JUDGED
        engine = self._engine if engine is None else engine
        return Claim(entry, self._study, engine, parts, grade, note, beside, every, self.error)

    def _check(self, entry: Entry, measured: Mapping[str, Measured]) -> None:
        """Refuses a comparison that cannot fail. A part with a `measure` is checked where its points are known (`toml_claims.py`)."""
        for at, value in measured.items():
            part = entry.expected(at)
            if entry.not_testable or part.not_testable or part.sign or part.measure:
                continue
            # Nobody says here whether the measure is a difference: it may be, and so it may be below 0.
            if not says_small(part) and cannot_fail(part, at, value, signed=True):
                raise PlanError(
                    f"study {self._study}: claim {entry.id}: part {at}: `{part.text}` cannot fail: 0, and a hundredfold of what was measured "
                    "with either sign, would hold, too; give it a bound that a wrong result is beyond"
                )


def unjudged(entries: Mapping[str, Entry], study: str, found: Iterable[Claim]) -> list[Claim]:
    """Claims of a study whose runs are not in this report: each without a part, and so not judged."""
    judged = {claim.id for claim in found}
    return [
        Claim(
            entry,
            study,
            "",
            (),
            grades.N if entry.not_testable else grades.NOT_JUDGED,
            f"Its experiment, {entry.experiment}, is not in this report.",
        )
        for entry in entries.values()
        if entry.id not in judged
    ]


def write(found: Sequence[Claim], path: Path) -> None:
    """Writes claims.json, or leaves the old one."""
    identifiers = [claim.id for claim in found]
    if len(set(identifiers)) != len(identifiers):
        raise ValueError("two claims have one id")
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    text = json.dumps([claim.record() for claim in found], indent=2, ensure_ascii=False, allow_nan=False)
    part.write_text(text + "\n", encoding="utf-8")
    part.replace(path)


@dataclass(frozen=True)
class Count:
    """How many claims of one sort have which grade."""

    sort: str
    seen: bool
    """Whether these claims were written, or the way to judge them changed, when the numbers were known."""
    grades: Mapping[str, int]
    again: int = 0
    """Claims that fail for the same cause as another one, and are not counted again."""

    @property
    def label(self) -> str:
        """The sort in words, with the claims that are not counted again: with them the numbers add up to all claims."""
        seen = ", written when the numbers were known" if self.seen else ""
        again = f" (and {self.again} for a cause that is counted)" if self.again else ""
        return SORTS[self.sort] + seen + again


def counts(found: Sequence[Claim]) -> list[Count]:
    """A line for each sort of claims in the list."""
    by_id = {claim.id: claim for claim in found}
    lines = []
    for sort in SORTS:
        for seen in (False, True):
            mine = [claim for claim in found if claim.counts_as == sort and claim.entry.seen == seen]
            again = [claim for claim in mine if _counted(claim, by_id)]
            counted = Counter(claim.grade for claim in mine if claim not in again)
            if mine:
                lines.append(Count(sort, seen, {grade: counted[grade] for grade in grades.WORDS}, len(again)))
    return lines


def _counted(claim: Claim, by_id: Mapping[str, Claim]) -> bool:
    """Whether it fails for the same cause as another one that fails."""
    other = by_id.get(claim.entry.counted_with)
    fails = (grades.B, grades.C, grades.D)
    return other is not None and claim.grade in fails and other.grade in fails
