"""The list of a study's claims, written before anything was run: what must get a verdict, and from which experiment."""

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .claims import Claim, Explanation, Part
from .plan import Plan, PlanError

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


def load(path: Path, experiment: str | None = None) -> dict[str, Entry]:
    """Reads a study's claims.toml; by identifier, in its order. `experiment` judges those that name none."""
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
        wanted = set(Entry.__dataclass_fields__)
        if set(table) != wanted:
            wrong = sorted(set(table) ^ wanted)
            raise PlanError(f"{where}: missing or unknown: {', '.join(wrong)}")
        if not set(table["kind"].split("/")) <= set(KINDS):
            raise PlanError(f"{where}: kind `{table['kind']}`; there are {', '.join(KINDS)}")
        if table["id"] in entries:
            raise PlanError(f"{where}: it stands there twice")
        entries[table["id"]] = Entry(**table)
    return entries


Judge = Callable[[str], Sequence[Part]]
"""Judges one claim for one engine."""


class ClaimBuilder:
    """Makes the claims of one experiment: words from the catalogue, verdicts from its judges."""

    def __init__(self, study: str, plan: Plan, entries: Mapping[str, Entry], others: Sequence[Plan] = ()):
        self._study = study
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
        explanation: Explanation | None = None,
        evidence: Sequence[str] = (),
    ) -> Claim:
        """A claim with its verdict.

        `judge` is called with each engine of the plan (or of `engines`): the first one's parts are the verdict, the others stand
        beside it. A claim that no engine has a part in (arithmetic, a model) gives its parts directly. `explanation` says why it
        does not hold and which sweeps tested that (`exp-17/recovery` is one of another experiment); it counts only when its parts hold.
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
        runs = [*evidence, *(explanation.runs if explanation else ())]
        for run in runs:
            experiment, _, sweep = run.rpartition("/")
            self._others.get(experiment, self._plan).sweep(sweep)
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
            explained=explanation is not None and explanation.holds,
            explanation=explanation,
            beside=beside,
        )


def missing(entries: Mapping[str, Entry], found: Iterable[Claim], experiments: Sequence[str]) -> list[str]:
    """Claims of these experiments without a verdict."""
    judged = {claim.id for claim in found}
    return [
        entry.id for entry in entries.values() if entry.experiment in experiments and entry.id not in judged
    ]


def unexplained(found: Iterable[Claim]) -> list[str]:
    """Claims that are not reproduced and that no variant run was made for."""
    return [claim.id for claim in found if not claim.tested]
