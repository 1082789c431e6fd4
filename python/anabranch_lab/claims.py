"""Judging claims. A tolerance is the claim's own and is never loosened; a claim that fails has failed."""

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from . import stats
from .grid import Curve, Sample
from .stats import Estimate

REPRODUCED = "reproduced"
NOT_REPRODUCED = "not reproduced"
EXPLAINED = "differs, explained"
HOLDS = "holds"
DOES_NOT_HOLD = "does not hold"
NOT_JUDGED = "not judged"
"""Too few seeds for at least one of its parts, a part without its runs, or a quick look: neither good nor bad news."""
VERDICTS = (REPRODUCED, EXPLAINED, NOT_REPRODUCED, HOLDS, DOES_NOT_HOLD, NOT_JUDGED)
"""The first three are for what a publication measured, the next two for everything else: nothing else can be reproduced."""

WORDS = {True: VERDICTS[:3], False: VERDICTS[3:5]}
"""Verdicts on what was published, and on everything else, besides `NOT_JUDGED`."""

PUBLISHED, CALIBRATED, CONSISTENCY, OWN = "published", "calibrated", "consistency", "own"
SORTS = {
    PUBLISHED: "published claims",
    CALIBRATED: "calibrated: a parameter was fitted to the answer",
    CONSISTENCY: "consistency: printed against printed",
    OWN: "our own hypotheses",
}
"""What a claim counts as. Only a published one can be reproduced."""

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
    rule: str = ""
    """What it takes to hold, tolerance included: a variant that is to explain a difference is judged by the same rule."""
    contrary: bool = False
    """Whether the runs, however few, all point the other way: a quick look can tell that much."""
    by_mean: bool = False
    """Whether the mean would hold if it were known exactly. Two seeds have intervals of ten times what they differ by: with these, a
    tolerance holds too easily and an order hardly ever, so a search among configurations counts by this. It is no verdict."""

    @property
    def word(self) -> str:
        """`holds`, `fails` or `not judged`."""
        if not self.judged:
            return NOT_JUDGED
        return "holds" if self.holds else "fails"


OPEN, ERRATUM, FITTED, LOCKED = "open", "erratum", "fitted", "locked"
AS_PRINTED, PRINTED = "as printed", "printed"
SAYS = {
    OPEN: "the publication leaves it open",
    ERRATUM: "a proven erratum of the publication",
    FITTED: "the publication leaves it open, and the value was fitted to the answer",
    LOCKED: "the publication leaves it open, and little or nothing is random there: runs lock into one of several patterns, and the interval of "
    "many that are alike says nothing",
    AS_PRINTED: "the publication has it so, and the judged runs have not",
    PRINTED: "the publication prints another value",
}
"""What a publication says of what a variant changes. One that changes what is printed explains nothing, nor does one fitted to the answer, nor one
whose runs are all the same."""


@dataclass(frozen=True)
class Variant:
    """Runs that differ from those that are judged in one thing. Its plan declares it (`variant` of a sweep)."""

    changes: str
    """What is different."""
    says: str
    """A key of `SAYS`."""
    paper: str
    """What the publication says of it, in our words, with the place."""
    sweeps: tuple[str, ...] = ()
    """The sweeps of this one configuration."""

    @property
    def allowed(self) -> bool:
        """Whether it may explain: what it changes is left open and was not fitted to the answer, or is proven wrong."""
        return self.says in (OPEN, ERRATUM)


@dataclass(frozen=True)
class Explanation:
    """Why a claim does not hold, tested by a variant; or what else was tried."""

    text: str
    runs: tuple[str, ...]
    """The sweeps that test it."""
    parts: tuple[Part, ...]
    """Parts of the claim, judged again on the variant's runs by the same rules; others may stand with them."""
    variant: Variant | None = None
    """Nothing where the runs are no variant: then it is only something that was tried."""
    unchanged: tuple[str, ...] = ()
    """Parts that the variant cannot touch (another protocol, another queue): what was judged of them stands, read again."""

    def covers(self, part: Part) -> bool:
        """Whether the same part, by the same rule, holds in the variant's own runs; or in the judged ones, where it is said so."""
        again = [each for each in self.parts if each.at == part.at and each.rule == part.rule]
        # Other runs do not have the same mean and the same interval: that is the baseline, read again.
        read_again = any(
            bool(each.ci95) and (each.measured, each.ci95) == (part.measured, part.ci95) for each in again
        )
        if read_again and part.at not in self.unchanged:
            return False
        return bool(again) and all(each.judged and each.holds for each in again)

    def explains(self, parts: Sequence[Part]) -> bool:
        """Whether the whole claim holds in a variant that changes nothing printed, and was not fitted to the answer.

        The parts that held before must hold there, too: what mends one of them at the cost of another is no better account of the study.
        """
        return (
            self.variant is not None
            and self.variant.allowed
            and any(not part.holds for part in parts)
            and all(self.covers(part) for part in parts)
        )

    def record(self, parts: Sequence[Part]) -> dict[str, Any]:
        """The entry in claims.json."""
        return {
            "text": self.text,
            "variant": None
            if self.variant is None
            else {
                "sweep": list(self.variant.sweeps),
                "changes": self.variant.changes,
                "says": self.variant.says,
                "paper": self.variant.paper,
            },
            "runs": list(self.runs),
            "holds": self.explains(parts),
            "not_covered": [part.at for part in parts if not self.covers(part)],
            "unchanged": list(self.unchanged),
            "parts": [asdict(part) for part in self.parts],
        }


@dataclass(frozen=True)
class Answer:
    """What a claim says under one of the configurations of a search (`anabranch-lab identify`)."""

    differs: Mapping[str, str]
    """By factor: the choices that are not those of the judged runs; empty for the judged configuration itself."""
    holds: int
    """Parts that hold."""
    judged: int
    """Parts that were judged."""


@dataclass(frozen=True)
class Search:
    """What other answers to what a publication leaves open make of a claim. It explains nothing: one configuration is judged for all claims."""

    seeds: tuple[int, ...]
    """Those of every point: fewer than the verdict has."""
    answers: tuple[Answer, ...]

    @property
    def whole(self) -> list[Answer]:
        """The configurations under which every part holds."""
        return [each for each in self.answers if each.judged and each.holds == each.judged]

    def record(self) -> dict[str, Any]:
        """The entry in claims.json."""
        return {"seeds": list(self.seeds), "configurations": [asdict(each) for each in self.answers]}


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
    counts_as: str = PUBLISHED
    """A key of `SORTS`."""
    note: str = ""
    evidence: list[str] = field(default_factory=list)
    """The variant runs that were made for it."""
    explanations: tuple[Explanation, ...] = ()
    """What was tried to explain a difference, whether or not it does."""
    beside: dict[str, list[Part]] = field(default_factory=dict)
    """The parts with other engines, by engine: reported, not judged."""
    quick: bool = False
    """From a quick look: short runs, few points. What is no arithmetic has no verdict then."""
    search: Search | None = None
    """What other configurations of the study make of it, where it was searched."""

    @property
    def own(self) -> bool:
        """Whether it is a hypothesis of ours, and nobody's publication says it."""
        return self.counts_as == OWN

    @property
    def tested(self) -> bool:
        """Whether runs were made to say why it does not hold; true of what holds, and of what nobody has judged."""
        return self.verdict in (REPRODUCED, HOLDS, NOT_JUDGED) or bool(self.evidence)

    @property
    def explanation(self) -> Explanation | None:
        """The one that explains the difference; nothing where none does."""
        return next((each for each in self.explanations if each.explains(self.parts)), None)

    @property
    def tried(self) -> list[Explanation]:
        """Explanations that do not bear."""
        return [each for each in self.explanations if each is not self.explanation]

    @property
    def failing(self) -> list[Part]:
        """Parts that were judged and do not hold."""
        return [part for part in self.parts if part.judged and not part.holds]

    @property
    def contrary(self) -> list[Part]:
        """Parts that point the other way, judged or not; what is undecided does not."""
        return [
            part
            for part in self.parts
            if (part.contrary if not part.judged else not part.holds and not part.by_mean)
        ]

    @property
    def verdict(self) -> str:
        """Reproduced when every part holds; explained only when every part holds in one variant, by the same rules.

        One part that was not judged leaves the claim without judgement: the others come from the same few and short runs.
        """
        if not self.parts or not all(part.judged for part in self.parts):
            return NOT_JUDGED
        if self.quick and self.counts_as != CONSISTENCY:
            return NOT_JUDGED
        whole = all(part.holds for part in self.parts)
        if self.counts_as != PUBLISHED:
            return HOLDS if whole else DOES_NOT_HOLD
        if whole:
            return REPRODUCED
        return NOT_REPRODUCED if self.explanation is None else EXPLAINED

    def record(self) -> dict[str, Any]:
        """The entry in claims.json."""
        one = len(self.parts) == 1
        explanation = self.explanation

        def column(name: str) -> Any:
            values = {part.at: getattr(part, name) for part in self.parts}
            return next(iter(values.values())) if one else values

        return {
            "id": self.id,
            "study": self.study,
            "where": self.where,
            "statement": self.statement,
            "kind": self.kind,
            "counts_as": self.counts_as,
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
            "explanation": None if explanation is None else explanation.record(self.parts),
            "tried": [each.record(self.parts) for each in self.tried],
            "search": None if self.search is None else self.search.record(),
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

    `above` is for `+5/-3 %`: how far the measured value may lie above the printed one; `tolerance` is how far below. An interval that
    reaches further to each side than the tolerance can refute and not confirm: the number would hold by what is not known.
    """
    over = tolerance if above is None else above
    off = expected - measured.mean
    sides = (0.0, math.inf) if expected > 0 else (-math.inf, 0.0) if expected < 0 else (-math.inf, math.inf)
    return _judge(
        at,
        expected,
        measured,
        lambda found: found.low - over <= expected <= found.high + tolerance,
        f"{expected:.6g} -{tolerance:.6g} +{over:.6g}",
        sides,
        f"printed - measured = {off:+.3g}",
        wide(measured.half, max(tolerance, over)),
    )


def number_in(at: str, low: float, high: float, measured: Estimate) -> Part:
    """A printed range: the measured interval reaches into it, and is not wider than the range."""
    sides = (0.0 if low > 0 else -math.inf, 0.0 if high < 0 else math.inf)
    return _judge(
        at,
        f"{low:g} to {high:g}",
        measured,
        lambda found: found.low <= high and found.high >= low,
        f"reaches {low:.6g} to {high:.6g}",
        sides,
        unknown=wide(measured.half, (high - low) / 2),
    )


def within(at: str, low: float, high: float, measured: Estimate) -> Part:
    """A claim of order: the whole interval lies between two values."""
    sides = (0.0 if low > 0 else -math.inf, 0.0 if high < 0 else math.inf)
    return _judge(
        at,
        f"within {low:g} to {high:g}",
        measured,
        lambda found: found.low >= low and found.high <= high,
        f"within {low:.6g} to {high:.6g}",
        sides,
    )


def above(at: str, threshold: float, measured: Estimate, what: str = "") -> Part:
    """A claim of order: the whole interval lies above the threshold."""
    sides = (threshold, math.inf)
    return _judge(
        at,
        what or f"> {threshold:g}",
        measured,
        lambda found: found.low > threshold,
        f"> {threshold:.6g}",
        sides,
    )


def at_least(at: str, threshold: float, measured: Estimate, margin: float) -> Part:
    """A claim of order that lets two be the same: the mean is not below the threshold, and the interval by less than a margin."""
    sides = (threshold, math.inf)
    return _judge(
        at,
        f">= {threshold:g}",
        measured,
        lambda found: found.mean >= threshold and found.low > threshold - margin,
        f">= {threshold:.6g}, interval > {threshold - margin:.6g}",
        sides,
    )


def below(at: str, threshold: float, measured: Estimate, what: str = "") -> Part:
    """A claim of order: the whole interval lies below the threshold."""
    sides = (-math.inf, threshold)
    return _judge(
        at,
        what or f"< {threshold:g}",
        measured,
        lambda found: found.high < threshold,
        f"< {threshold:.6g}",
        sides,
    )


def equal(at: str, difference: Estimate, margin: float) -> Part:
    """Two things are the same: the whole interval of their difference is smaller than a margin."""
    return _judge(
        at,
        f"difference within ±{margin:g}",
        difference,
        lambda found: -margin <= found.low and found.high <= margin,
        f"within ±{margin:.6g}",
    )


def rank(at: str, curve: Curve, least: float) -> Part:
    """Spearman's rank correlation of the means with x: at least (or, negative, at most) so much."""
    measured = curve.rank()
    judged = len(curve.seeds) >= curve.least
    holds = measured >= least if least > 0 else measured <= least
    text = _least(least)
    return Part(
        at,
        text,
        measured if math.isfinite(measured) else "not a number",
        None,
        judged and holds,
        "rank correlation of the means" if judged else too_few(len(curve.seeds), curve.least),
        len(curve.seeds),
        judged,
        text,
        not measured * least > 0,
        holds,
    )


def trend(at: str, curve: Curve, sign: int) -> Part:
    """A curve rises (sign 1) or falls (-1): the slope differs from 0 at 95 %."""
    return (
        above(at, 0.0, curve.slope(), "slope > 0") if sign > 0 else below(at, 0.0, curve.slope(), "slope < 0")
    )


def flat(at: str, curve: Curve) -> Part:
    """No trend: 0 lies in the 95 % interval of the slope, which leaves room for a rise by a tenth of the mean at most."""
    measured = curve.slope()
    text = "slope not different from 0"
    room = 0.1 * abs(sum(float(mean) for mean in curve.means) / len(curve.means))
    # A mean is never 0: its interval is asked in a search, too.
    return _judge(
        at,
        text,
        measured,
        lambda _: measured.low <= 0 <= measured.high,
        text,
        unknown=wide(measured.half * (max(curve.x) - min(curve.x)), room),
    )


def ordered(at: str, names: Sequence[str], samples: Sequence[Sample]) -> list[Part]:
    """a > b > c: each difference of neighbours, seed by seed, is above 0 at 95 %."""
    pairs = zip(zip(names, samples, strict=True), zip(names[1:], samples[1:], strict=False), strict=False)
    before = f"{at}: " if at else ""
    return [
        above(f"{before}{first} - {second}", 0.0, (mine - yours).estimate, f"{first} > {second}")
        for (first, mine), (second, yours) in pairs
    ]


def sign_test(at: str, expected: str, differences: Sample) -> Part:
    """A sign that the seeds agree on: one-sided sign test at 5 %."""
    n = len(differences.values)
    positive = sum(value > 0 for value in differences.values)
    chance = stats.sign_test(differences.values)
    judged = n >= differences.least
    return Part(
        at,
        expected,
        f"{positive} of {n} seeds, p = {chance:.2g}",
        None,
        judged and chance < 0.05,
        "" if judged else too_few(n, differences.least),
        n,
        judged,
        f"sign test at 5 %: {expected}",
        all(value < 0 for value in differences.values),
        2 * positive > n,
    )


def share_above(at: str, threshold: float, successes: int, n: int, seeds: int | None = None) -> Part:
    """At least so large a share of cases: the whole 95 % interval of the share (Wilson) is; where only the share is, it is undecided.

    `seeds`: how many runs the cases come from; too few judge nothing.
    """
    low, high = stats.wilson(successes, n) if n else (0.0, 1.0)
    share = successes / n if n else 0.0
    rule = f">= {threshold:g}"
    by_mean = n > 0 and share >= threshold
    if seeds is not None and seeds < MIN_SEEDS:
        return Part(
            at,
            rule,
            share,
            None,
            False,
            too_few(seeds),
            seeds,
            False,
            rule,
            n > 0 and successes == 0,
            by_mean,
        )
    holds = by_mean and low >= threshold
    detail = f"{successes} of {n}, 95 %: {low:.4f} to {high:.4f}" if n else "nothing was counted"
    if by_mean and not holds:
        detail = f"undecided: {detail}"
    return Part(at, rule, share, None, holds, detail, seeds, rule=rule, by_mean=by_mean)


def exact(at: str, expected: Any, measured: Any) -> Part:
    """An order of packets, a count: equal or not."""
    holds = expected == measured
    return Part(at, str(expected), str(measured), None, holds, rule=f"= {expected}", by_mean=holds)


def certain(at: str, expected: float, measured: float, tolerance: float, above: float | None = None) -> Part:
    """A printed number against runs in which nothing is drawn: one run says it all, and there is no interval.

    `above`: how far the measured value may lie above the printed one; `tolerance` is how far below.
    """
    over = tolerance if above is None else above
    holds = expected - tolerance <= measured <= expected + over
    found: float | str = measured if math.isfinite(measured) else "not a number"
    rule = f"{expected:.6g} -{tolerance:.6g} +{over:.6g}"
    detail = f"printed - measured = {expected - measured:+.3g}"
    return Part(at, expected, found, None, holds, detail, rule=rule, by_mean=holds)


def arithmetic(at: str, printed: float, recomputed: float, tolerance: float) -> Part:
    """Two printed numbers that must agree with each other; nothing is measured."""
    holds = abs(printed - recomputed) <= tolerance
    detail = f"printed - recomputed = {printed - recomputed:+.2f}"
    rule = f"{printed:.6g} ± {tolerance:.6g}"
    return Part(at, printed, recomputed, None, holds, detail, rule=rule, by_mean=holds)


def condition(
    at: str, expected: str, measured: str, holds: bool, detail: str = "", seeds: int | None = None
) -> Part:
    """Anything else, said in words. `seeds`, where it is taken from runs: too few judge nothing."""
    if seeds is not None and seeds < MIN_SEEDS:
        return Part(
            at, expected, measured, None, False, too_few(seeds), seeds, False, expected, not holds, holds
        )
    return Part(at, expected, measured, None, holds, detail, seeds, rule=expected, by_mean=holds)


def wide(half: float, most: float) -> str:
    """Why an interval confirms nothing: it reaches further than what it is compared with allows. Nothing where it does not, or where nothing is allowed."""
    if most <= 0 or not half > most:
        return ""
    return f"undecided: the interval reaches ±{half:.3g}, and ±{most:.3g} is what it is judged by"


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
    counted = Counter(claim.verdict for claim in claims)
    return {verdict: counted[verdict] for verdict in VERDICTS}


def totals(claims: Sequence[Claim]) -> dict[str, Mapping[str, int]]:
    """How many claims got which verdict, by what claims count as; every sort, in order."""
    return {sort: count([claim for claim in claims if claim.counts_as == sort]) for sort in SORTS}


def _judge(
    at: str,
    expected: float | str,
    measured: Estimate,
    holds: Callable[[Estimate], bool],
    rule: str,
    sides: tuple[float, float] = (-math.inf, math.inf),
    detail: str = "",
    unknown: str = "",
) -> Part:
    """A part of a claim; `sides`: between them runs do not point the other way; `unknown`: why its interval cannot confirm anything."""
    # A part whose measure does not exist (a division by 0) does not hold; NaN is not JSON either.
    mean = measured.mean if math.isfinite(measured.mean) else "not a number"
    few = too_few(measured.n, measured.least) if measured.n < measured.least else ""
    judged = not few
    found = judged and holds(measured) and isinstance(mean, float)
    by_mean = holds(replace(measured, half=0.0)) and isinstance(mean, float)
    if found and unknown:
        found, detail = False, unknown
    elif judged and by_mean and not found:
        detail = "undecided: the mean would do, and its interval reaches over the edge"
    return Part(
        at,
        expected,
        mean,
        _finite(measured.half),
        found,
        detail if judged else few,
        measured.n,
        judged,
        rule,
        _contrary(measured, sides),
        by_mean,
    )


def _contrary(measured: Estimate, sides: tuple[float, float]) -> bool:
    """Whether the mean lies outside, by more than what one run differs from another."""
    spread = measured.sd if measured.n > 1 and math.isfinite(measured.sd) else 0.0
    return measured.mean + spread < sides[0] or measured.mean - spread > sides[1]


def _least(least: float) -> str:
    return f"rank correlation {'>=' if least > 0 else '<='} {least:g}"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
