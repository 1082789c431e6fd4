"""Judging claims. A tolerance is the claim's own and is never loosened; a claim that fails has failed."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .stats import Estimate

REPRODUCED = "reproduced"
NOT_REPRODUCED = "not reproduced"
EXPLAINED = "differs, explained"
VERDICTS = (REPRODUCED, NOT_REPRODUCED, EXPLAINED)

MIN_SEEDS = 30
"""Fewer runs than this judge no number: a wide interval would make every claim true."""


@dataclass(frozen=True)
class Part:
    """One printed number or one condition of a claim."""

    at: str
    expected: float | str
    measured: float | str
    ci95: float | None
    holds: bool
    detail: str = ""


@dataclass
class Claim:
    """One claim with its verdict, as `out/claims.json` has it."""

    id: str
    study: str
    where: str
    statement: str
    kind: str
    tolerance: str
    engine: str
    seeds: int
    parts: list[Part]
    note: str = ""
    evidence: list[str] = field(default_factory=list)
    """The runs that test the explanation of a difference."""
    explained: bool = False

    @property
    def verdict(self) -> str:
        """Reproduced when every part holds; else explained only if runs were made that show why."""
        if not self.parts:
            raise ValueError(f"{self.id}: a claim without a part that was judged")
        if self.explained and not self.evidence:
            raise ValueError(f"{self.id}: an explanation needs the runs that test it")
        if all(part.holds for part in self.parts):
            return REPRODUCED
        return EXPLAINED if self.explained else NOT_REPRODUCED

    def record(self) -> dict[str, Any]:
        """The entry in claims.json."""
        one = len(self.parts) == 1

        def column(name: str) -> Any:
            values = {part.at: getattr(part, name) for part in self.parts}
            return next(iter(values.values())) if one else values

        return {
            "id": self.id,
            "study": self.study,
            "where": self.where,
            "statement": self.statement,
            "kind": self.kind,
            "expected": column("expected"),
            "tolerance": self.tolerance,
            "measured": column("measured"),
            "ci95": column("ci95"),
            "seeds": self.seeds,
            "engine": self.engine,
            "verdict": self.verdict,
            "note": self.note,
            "evidence": self.evidence,
            "parts": [asdict(part) for part in self.parts],
        }


def number(at: str, expected: float, measured: Estimate, tolerance: float) -> Part:
    """A printed number holds if it lies in the measured interval widened by the tolerance."""
    if measured.n < MIN_SEEDS:
        return Part(at, expected, measured.mean, _finite(measured.half), False, too_few(measured.n))
    holds = measured.low - tolerance <= expected <= measured.high + tolerance
    off = expected - measured.mean
    return Part(at, expected, measured.mean, measured.half, holds, f"printed - measured = {off:+.2f}")


def above(at: str, threshold: float, measured: Estimate, what: str = "") -> Part:
    """A claim of order: the whole interval lies above the threshold."""
    expected = what or f"> {threshold:g}"
    if measured.n < MIN_SEEDS:
        return Part(at, expected, measured.mean, _finite(measured.half), False, too_few(measured.n))
    return Part(at, expected, measured.mean, measured.half, measured.low > threshold)


def exact(at: str, expected: Any, measured: Any) -> Part:
    """An order of packets, a count: equal or not."""
    return Part(at, str(expected), str(measured), None, expected == measured)


def arithmetic(at: str, printed: float, recomputed: float, tolerance: float) -> Part:
    """Two printed numbers that must agree with each other; nothing is measured."""
    holds = abs(printed - recomputed) <= tolerance
    return Part(at, printed, recomputed, None, holds, f"printed - recomputed = {printed - recomputed:+.2f}")


def condition(at: str, expected: str, measured: str, holds: bool, detail: str = "") -> Part:
    """Anything else, said in words."""
    return Part(at, expected, measured, None, holds, detail)


def too_few(seeds: int) -> str:
    """Why a part was not judged."""
    return f"not judged: {seeds} seeds, {MIN_SEEDS} are needed"


def write(claims: Sequence[Claim], path: Path) -> None:
    """Writes claims.json, or leaves the old one."""
    identifiers = [claim.id for claim in claims]
    if len(set(identifiers)) != len(identifiers):
        raise ValueError("two claims have one id")
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    text = json.dumps([claim.record() for claim in claims], indent=2, ensure_ascii=False, allow_nan=False)
    part.write_text(text + "\n", encoding="utf-8")
    part.replace(path)


def count(claims: Sequence[Claim]) -> Mapping[str, int]:
    """How many claims got which verdict."""
    return {verdict: sum(claim.verdict == verdict for claim in claims) for verdict in VERDICTS}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
