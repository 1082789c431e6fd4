"""The list of a study's claims: what must get a verdict, and from which experiment."""

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from .claims import CONSISTENCY, OWN, PUBLISHED, SORTS, Claim, Explanation, Part, Search, Variant
from .plan import Plan, PlanError, Sweep

KINDS = {
    "N": "a printed number",
    "D": "a number derived from printed parameters",
    "S": "a shape or an order",
    "T": "arithmetic of printed numbers",
}


@dataclass(frozen=True)
class Entry:
    """One claim as the study makes it."""

    id: str
    experiment: str
    """The experiment that judges it, without the study's name."""
    where: str
    statement: str
    kind: str
    expected: str
    tolerance: str
    counts_as: str = PUBLISHED
    """A key of `claims.SORTS`; arithmetic of printed numbers is `consistency` unless said otherwise, a claim of ours is `own`."""


def load(path: Path, experiment: str | None = None, study: str = "") -> dict[str, Entry]:
    """Reads a study's claims.toml; by identifier, in its order. `experiment` judges those that name none; `study` is its number."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except tomllib.TOMLDecodeError as error:
        raise PlanError(f"{path}: {error}") from None
    entries: dict[str, Entry] = {}
    for number, table in enumerate(document.get("claim", []), start=1):
        if experiment is not None:
            table.setdefault("experiment", experiment)
        where = f"{path.name}: claim {table.get('id', f'number {number}')}"
        wanted = set(Entry.__dataclass_fields__) - {"counts_as"}
        if set(table) - {"counts_as"} != wanted:
            wrong = sorted((set(table) - {"counts_as"}) ^ wanted)
            raise PlanError(f"{where}: missing or unknown: {', '.join(wrong)}")
        if not set(table["kind"].split("/")) <= set(KINDS):
            raise PlanError(f"{where}: kind `{table['kind']}`; there are {', '.join(KINDS)}")
        table.setdefault("counts_as", _sort(table, study))
        if table["counts_as"] not in SORTS:
            raise PlanError(f"{where}: counts_as `{table['counts_as']}`; there are {', '.join(SORTS)}")
        if table["id"] in entries:
            raise PlanError(f"{where}: it stands there twice")
        entries[table["id"]] = Entry(**table)
    return entries


def _sort(table: Mapping[str, str], study: str) -> str:
    """What a claim counts as that does not say so."""
    if study == "own" or table["where"].startswith(("own", "beyond")):
        return OWN
    return CONSISTENCY if table["kind"] == "T" else PUBLISHED


Judge = Callable[[str], Sequence[Part]]
"""Judges one claim for one engine."""


class ClaimBuilder:
    """Makes the claims of one experiment: words from the catalogue, verdicts from its judges."""

    def __init__(
        self,
        study: str,
        plan: Plan,
        entries: Mapping[str, Entry],
        others: Sequence[Plan] = (),
        *,
        quick: bool = False,
        searches: Mapping[str, Search] | None = None,
    ):
        self._study = study
        self._quick = quick
        self._searches = searches or {}
        self._plan = plan
        self._entries = entries
        self._others = {other.name.rpartition("/")[2]: other for other in others}

    def claim(
        self,
        identifier: str,
        judge: Judge | Sequence[Part],
        *,
        engines: Sequence[str] | None = None,
        note: str = "",
        explanation: Explanation | Sequence[Explanation] | None = None,
        evidence: Sequence[str] = (),
    ) -> Claim:
        """A claim with its verdict.

        `judge` is called with each engine of the plan (or of `engines`): the first one's parts are the verdict, the others stand
        beside it. A claim that no engine has a part in (arithmetic, a model) gives its parts directly. `explanation` says why it
        does not hold and which sweeps tested that (`exp-17/recovery` is one of another experiment). It counts only when these sweeps are
        one variant, and every part of the claim holds in it by the same rule; otherwise it is told as what was tried.
        """
        if identifier not in self._entries:
            raise KeyError(f"no claim {identifier} in the claims.toml of study {self._study}")
        entry = self._entries[identifier]
        engines = self._plan.engines if engines is None else tuple(engines)
        if callable(judge):
            if not engines:
                raise PlanError(f"{identifier}: neither the plan nor the claim names an engine")
            judged = {engine: list(judge(engine)) for engine in engines}
            parts, beside = judged.pop(engines[0]), judged
            engine = engines[0]
        else:
            parts, beside, engine = list(judge), {}, " and ".join(engines)
        given = (explanation,) if isinstance(explanation, Explanation) else tuple(explanation or ())
        explanations = tuple(replace(each, variant=self._variant(each.runs)) for each in given)
        runs = list(dict.fromkeys([*evidence, *(run for each in given for run in each.runs)]))
        for run in runs:
            self._sweep(run)
        return Claim(
            id=identifier,
            study=self._study,
            where=entry.where,
            statement=entry.statement,
            kind=entry.kind,
            tolerance=entry.tolerance,
            engine=engine,
            seeds=min((part.seeds for part in parts if part.seeds is not None), default=0),
            parts=parts,
            note=note,
            evidence=runs,
            counts_as=entry.counts_as,
            explanations=explanations,
            beside=beside,
            quick=self._quick,
            search=self._search(identifier, len(parts)),
        )

    def _search(self, identifier: str, parts: int) -> Search | None:
        """What a search made of it; not what was found when its judge had other parts. A quick look has fewer, and shows all."""
        found = self._searches.get(identifier)
        if found is None or self._quick:
            return found
        answers = tuple(each for each in found.answers if each.judged == parts)
        return replace(found, answers=answers) if answers else None

    def _sweep(self, run: str) -> Sweep:
        experiment, _, sweep = run.rpartition("/")
        return self._others.get(experiment, self._plan).sweep(sweep)

    def _variant(self, runs: Sequence[str]) -> Variant | None:
        """The variant that these sweeps are runs of; nothing when one is none, or when they are several."""
        found = {self._sweep(run).variant for run in runs}
        variant = found.pop() if len(found) == 1 else None
        return None if variant is None else replace(variant, sweeps=tuple(runs))


def missing(entries: Mapping[str, Entry], found: Iterable[Claim], experiments: Sequence[str]) -> list[str]:
    """Claims of these experiments without a verdict."""
    judged = {claim.id for claim in found}
    return [
        entry.id for entry in entries.values() if entry.experiment in experiments and entry.id not in judged
    ]


def unjudged(entries: Mapping[str, Entry], study: str, found: Iterable[Claim]) -> list[Claim]:
    """Claims of a study whose runs are not in this report: each without a part, and so not judged."""
    judged = {claim.id for claim in found}
    return [
        Claim(
            id=entry.id,
            study=study,
            where=entry.where,
            statement=entry.statement,
            kind=entry.kind,
            tolerance=entry.tolerance,
            engine="",
            seeds=0,
            parts=[],
            counts_as=entry.counts_as,
            note=f"Its experiment, {entry.experiment}, is not in this report.",
        )
        for entry in entries.values()
        if entry.id not in judged
    ]


def unexplained(found: Iterable[Claim]) -> list[str]:
    """Claims that are not reproduced and that no variant run was made for."""
    return [claim.id for claim in found if not claim.tested]
