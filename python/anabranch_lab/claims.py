"""Judging claims. A tolerance is the claim's own and is never loosened; a claim that fails has failed."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from . import stats
from .grid import Curve, Sample
from .stats import Estimate

REPRODUCED = "reproduced"
NOT_REPRODUCED = "not reproduced"
EXPLAINED = "differs, explained"
NOT_JUDGED = "not judged"
"""Too few seeds for at least one of its parts, as with --quick: neither good nor bad news."""
VERDICTS = (REPRODUCED, NOT_REPRODUCED, EXPLAINED, NOT_JUDGED)

MIN_SEEDS = stats.LEAST
"""Fewer runs than this judge no number (a wide interval would make every claim true), except where the rule of a plan says by how few."""


@dataclass(frozen=True)
class Part:
    """One printed number or one condition of a claim."""

    at: str
    expected: float | str
    measured: float | str
    ci95: float | None
    holds: bool
    detail: str = ""
    seeds: int | None = None
    """How many runs the measured value is a mean of."""
    judged: bool = True
    """False when there were too few runs to say whether it holds; then `holds` is false, and means nothing."""

    @property
    def word(self) -> str:
        """`holds`, `fails` or `not judged`."""
        if not self.judged:
            return NOT_JUDGED
        return "holds" if self.holds else "fails"


@dataclass(frozen=True)
class Explanation:
    """Why a claim does not hold, tested: variant runs, and what they must show if the explanation is right."""

    text: str
    runs: tuple[str, ...]
    """The sweeps that test it."""
    parts: tuple[Part, ...]
    """It is the explanation only if every one of these holds."""

    @property
    def holds(self) -> bool:
        """Whether the variant runs bear it out."""
        return bool(self.parts) and all(part.holds for part in self.parts)


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
    explanation: Explanation | None = None
    """What was tried to explain a difference, whether or not it does."""
    beside: dict[str, list[Part]] = field(default_factory=dict)
    """The same with other engines: reported, not judged."""

    @property
    def own(self) -> bool:
        """Whether it is a hypothesis of ours, and nobody's publication says it."""
        return self.study == "own" or self.where.startswith("own")

    @property
    def tested(self) -> bool:
        """Whether runs say why it does not hold; true of what holds, and of what nobody has judged."""
        return self.verdict in (REPRODUCED, NOT_JUDGED) or bool(self.evidence)

    @property
    def verdict(self) -> str:
        """Reproduced when every part holds; else explained only if runs were made that show why.

        One part that was not judged leaves the claim without judgement: the others come from the same few and short runs.
        """
        if not self.parts:
            raise ValueError(f"{self.id}: a claim without a part that was judged")
        if self.explained and not self.evidence:
            raise ValueError(f"{self.id}: an explanation needs the runs that test it")
        if not all(part.judged for part in self.parts):
            return NOT_JUDGED
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
            "explanation": None
            if self.explanation is None
            else {
                "text": self.explanation.text,
                "runs": list(self.explanation.runs),
                "holds": self.explanation.holds,
                "parts": [asdict(part) for part in self.explanation.parts],
            },
            "beside": {
                engine: {
                    "holds": all(part.holds for part in parts),
                    "judged": all(part.judged for part in parts),
                    "parts": [asdict(part) for part in parts],
                }
                for engine, parts in self.beside.items()
            },
        }


def number(
    at: str, expected: float, measured: Estimate, tolerance: float, above: float | None = None
) -> Part:
    """A printed number holds if it lies in the measured interval widened by the tolerance.

    `above` is for `+5/-3 %`: how far the measured value may lie above the printed one; `tolerance` is how far below.
    """
    over = tolerance if above is None else above
    if measured.n < measured.least:
        return _few(at, expected, measured)
    holds = measured.low - over <= expected <= measured.high + tolerance
    off = expected - measured.mean
    return _part(at, expected, measured, holds, f"printed - measured = {off:+.3g}")


def number_in(at: str, low: float, high: float, measured: Estimate) -> Part:
    """A printed range: the measured interval reaches into it."""
    holds = measured.low <= high and measured.high >= low
    return _judge(at, f"{low:g} to {high:g}", measured, holds)


def within(at: str, low: float, high: float, measured: Estimate) -> Part:
    """A claim of order: the whole interval lies between two values."""
    return _judge(at, f"within {low:g} to {high:g}", measured, measured.low >= low and measured.high <= high)


def above(at: str, threshold: float, measured: Estimate, what: str = "") -> Part:
    """A claim of order: the whole interval lies above the threshold."""
    return _judge(at, what or f"> {threshold:g}", measured, measured.low > threshold)


def below(at: str, threshold: float, measured: Estimate, what: str = "") -> Part:
    """A claim of order: the whole interval lies below the threshold."""
    return _judge(at, what or f"< {threshold:g}", measured, measured.high < threshold)


def equal(at: str, difference: Estimate, margin: float) -> Part:
    """Two things are the same: the whole interval of their difference is smaller than a margin."""
    holds = -margin <= difference.low and difference.high <= margin
    return _judge(at, f"difference within ±{margin:g}", difference, holds)


def rank(at: str, curve: Curve, least: float) -> Part:
    """Spearman's rank correlation of the means with x: at least (or, negative, at most) so much."""
    measured = curve.rank()
    if len(curve.seeds) < curve.least:
        few = too_few(len(curve.seeds), curve.least)
        return Part(at, _least(least), measured, None, False, few, len(curve.seeds), judged=False)
    holds = measured >= least if least > 0 else measured <= least
    return Part(at, _least(least), measured, None, holds, "rank correlation of the means", len(curve.seeds))


def trend(at: str, curve: Curve, sign: int) -> Part:
    """It rises (sign 1) or falls (-1): the slope differs from 0 at 95 %."""
    return (
        above(at, 0.0, curve.slope(), "slope > 0") if sign > 0 else below(at, 0.0, curve.slope(), "slope < 0")
    )


def flat(at: str, curve: Curve) -> Part:
    """No trend: 0 lies in the 95 % interval of the slope."""
    measured = curve.slope()
    return _judge(at, "slope not different from 0", measured, measured.low <= 0 <= measured.high)


def ordered(at: str, names: Sequence[str], samples: Sequence[Sample]) -> list[Part]:
    """a > b > c: each difference of neighbours, seed by seed, is above 0 at 95 %."""
    pairs = zip(zip(names, samples, strict=True), zip(names[1:], samples[1:], strict=False), strict=False)
    return [
        above(f"{at}{first} - {second}", 0.0, (mine - yours).estimate, f"{first} > {second}")
        for (first, mine), (second, yours) in pairs
    ]


def sign_test(at: str, expected: str, differences: Sample) -> Part:
    """A sign that the seeds agree on: one-sided sign test at 5 %."""
    n = len(differences.values)
    positive = sum(value > 0 for value in differences.values)
    chance = stats.sign_test(differences.values)
    text = f"{positive} of {n} seeds, p = {chance:.2g}"
    if n < differences.least:
        return Part(at, expected, text, None, False, too_few(n, differences.least), n, judged=False)
    return Part(at, expected, text, None, chance < 0.05, "", n)


def share_above(at: str, threshold: float, successes: int, n: int) -> Part:
    """At least so large a share of cases: the share measured is, with its 95 % interval beside it (Wilson)."""
    low, high = stats.wilson(successes, n) if n else (0.0, 1.0)
    share = successes / n if n else 0.0
    detail = f"{successes} of {n}, 95 %: {low:.3f} to {high:.3f}" if n else "nothing was counted"
    return Part(at, f">= {threshold:g}", share, None, n > 0 and share >= threshold, detail)


def exact(at: str, expected: Any, measured: Any) -> Part:
    """An order of packets, a count: equal or not."""
    return Part(at, str(expected), str(measured), None, expected == measured)


def certain(at: str, expected: float, measured: float, tolerance: float, above: float | None = None) -> Part:
    """A printed number against runs in which nothing is drawn: one run says it all, and there is no interval.

    `above`: how far the measured value may lie above the printed one; `tolerance` is how far below.
    """
    over = tolerance if above is None else above
    holds = expected - tolerance <= measured <= expected + over
    found: float | str = measured if math.isfinite(measured) else "not a number"
    return Part(at, expected, found, None, holds, f"printed - measured = {expected - measured:+.3g}")


def arithmetic(at: str, printed: float, recomputed: float, tolerance: float) -> Part:
    """Two printed numbers that must agree with each other; nothing is measured."""
    holds = abs(printed - recomputed) <= tolerance
    return Part(at, printed, recomputed, None, holds, f"printed - recomputed = {printed - recomputed:+.2f}")


def condition(
    at: str, expected: str, measured: str, holds: bool, detail: str = "", seeds: int | None = None
) -> Part:
    """Anything else, said in words. `seeds`, where it is taken from runs: too few judge nothing."""
    if seeds is not None and seeds < MIN_SEEDS:
        return Part(at, expected, measured, None, False, too_few(seeds), seeds, judged=False)
    return Part(at, expected, measured, None, holds, detail, seeds)


def too_few(seeds: int, least: int = MIN_SEEDS) -> str:
    """Why a part was not judged."""
    return f"not judged: {seeds} seeds, {least} are needed"


def held(parts: Sequence[Part]) -> str:
    """`3 of 4 hold`, or that they were not judged."""
    if not all(part.judged for part in parts):
        return NOT_JUDGED
    return f"{sum(part.holds for part in parts)} of {len(parts)} hold"


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


def _judge(at: str, expected: float | str, measured: Estimate, holds: bool) -> Part:
    if measured.n < measured.least:
        return _few(at, expected, measured)
    return _part(at, expected, measured, holds, "")


def _part(at: str, expected: float | str, measured: Estimate, holds: bool, detail: str) -> Part:
    # A part whose measure does not exist (a division by 0) does not hold; NaN is not JSON either.
    mean = measured.mean if math.isfinite(measured.mean) else "not a number"
    half = _finite(measured.half)
    return Part(at, expected, mean, half, holds and isinstance(mean, float), detail, measured.n)


def _few(at: str, expected: float | str, measured: Estimate) -> Part:
    return replace(_part(at, expected, measured, False, too_few(measured.n, measured.least)), judged=False)


def _least(least: float) -> str:
    return f"rank correlation {'>=' if least > 0 else '<='} {least:g}"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
