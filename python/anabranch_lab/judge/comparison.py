"""A part of a claim: the measured value against the expected value that was fixed before.

Expected values are in the claims.toml of the study and nowhere else; a judge gives its measured values, by the names of the parts. Each
comparison asks for a *direction* (more than, less than, a sign, an order of packets), for a *size* (a published value with its
tolerance, a published range), or for both. Each question has two probabilities: how likely such runs would be if the statement were wrong, and how
likely if it were right. `grades.py` makes grades of them.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from .. import stats
from ..plan.catalogue import Expected
from ..run.grid import Sample
from ..stats import Estimate


@dataclass(frozen=True)
class Signs:
    """Differences of which only the sign counts, one a seed: for quantities with a heavy tail."""

    differences: Sample


Measured = Estimate | Sample | Signs | float | int | str
"""The value that a judge gives for a part. A number or a text has no interval: it does not vary with the seed."""


@dataclass(frozen=True)
class Test:
    """A question with two answers, and the probability of such runs under either; both two-sided, so 0.05 is an interval of 95 %."""

    holds: float
    """The probability of such runs, or clearer ones, if the statement were wrong: small when it holds."""
    fails: float
    """The probability of such runs, or clearer ones, if the statement were right: small when it does not hold."""

    __test__ = False


@dataclass(frozen=True)
class Comparison:
    """One part, compared and not graded yet."""

    expected: Expected
    at: str
    measured: float | str
    half: float | None
    """Half of the 95 % interval."""
    seeds: int | None
    direction: Test | None
    size: Test | None
    band: tuple[float, float] | None
    """The bounds between which a measured size counts as the published one."""
    spread: float = 0.0
    """By how much one run of the published length differs from the mean, 95 %; 0 where the value was not printed from one run."""
    judged: bool = True
    """False where there are too few runs."""

    @property
    def crosses(self) -> str:
        """The reason why an interval decides nothing: it reaches over an edge, or too few seeds are all equal."""
        if self.half == 0 and self.seeds:
            return f"{self.seeds} equal seeds are too few to be sure of"
        return "the interval reaches over"

    @property
    def factor(self) -> tuple[float, float, float] | None:
        """Measured over published, with the ends of its interval; nothing without a published number. A bound is one where less is an effect, too."""
        value = self.expected.value
        if self.expected.nothing is not None:
            value = self.expected.more_than if self.expected.less_than is None else self.expected.less_than
        if not value or not isinstance(self.measured, float):
            return None
        half = self.half or 0.0
        ends = sorted(edge / value for edge in (self.measured - half, self.measured + half))
        return self.measured / value, ends[0], ends[1]


def compare(expected: Expected, at: str, measured: Measured, one_run: float = 1.0) -> Comparison:
    """Compares a measured value with its expected value.

    `one_run`: the standard deviation of a published run over that of one of ours (the root of our length over the published one).
    """
    if isinstance(measured, Sample):
        measured = measured.estimate
    if expected.not_testable and isinstance(measured, str):
        return Comparison(expected, at, measured, None, None, None, None, None)
    if isinstance(measured, Signs):
        return _signs(expected, at, measured)
    if expected.sign:
        raise ValueError(
            f"{at}: claims.toml asks for signs, and something else is measured: nothing would be compared"
        )
    if expected.equals is not None:
        return _exact(expected, at, measured)
    if isinstance(measured, str):
        raise ValueError(f"{at}: a text is measured ({measured!r}), and claims.toml has no `equals` for it")
    if isinstance(measured, Estimate):
        known, seeds, least = measured, measured.n, measured.least
    else:
        known, seeds, least = _exactly(float(measured)), None, 0
    if not math.isfinite(known.mean):
        # A division by 0: such runs decide nothing.
        nothing = Test(1.0, 1.0)
        return Comparison(expected, at, "no figure", None, seeds, nothing, None, None)
    band, spread = _band(expected, known, one_run)
    return Comparison(
        expected,
        at,
        known.mean,
        known.half if math.isfinite(known.half) and isinstance(measured, Estimate) else None,
        seeds,
        _direction(expected, known, spread),
        None if band is None else _size(known, band),
        band,
        spread,
        seeds is None or seeds >= least,
    )


BENDS = (0.0, 0.01, 0.2, 5.0, 100.0)
"""Factors by which a measured value is multiplied to see whether a comparison can fail; a difference also by their negatives."""


ROUNDED = 1e-9
"""A measured value below this is none: what is left of a difference of equal numbers."""


def cannot_fail(
    expected: Expected, at: str, measured: Measured, *, signed: bool, size: float | None = None
) -> bool:
    """Whether a comparison holds for any measured value: also for 0, a hundredth and a hundredfold of it.

    `signed`: the measure can be below 0, as a difference can. `size`: how large the measure can be, where that is known: a
    difference can be as large as the values that it is made of. If it is not known it is the measured value, or the standard
    deviation of the runs where that is larger.
    """
    known = _varying(measured)
    if known is None or expected.equals is not None or expected.nothing is not None:
        # A measure without the effect, `nothing`, is beyond the threshold.
        return False
    if size is None:
        size = max(abs(known.mean), known.sd) if math.isfinite(known.sd) else abs(known.mean)
    if not math.isfinite(known.mean) or not math.isfinite(size) or size < ROUNDED:
        return False
    size = math.copysign(size, known.mean)
    factors = (*BENDS, *(-each for each in BENDS)) if signed else BENDS
    bent = (replace(known, mean=mean, half=0.0) for mean in (known.mean, *(size * each for each in factors)))
    return all(
        (test := each.size or each.direction) is not None and test.holds <= test.fails
        for each in (compare(replace(expected, one_run=False), at, value) for value in bent)
    )


def says_small(expected: Expected) -> bool:
    """Whether a part says that a measure is small: a difference is none, or not much to the wrong side, or something is at most so much.

    Such a part holds best where the measure is nearly 0, and that does not show how large it could be: by the measured value alone
    nobody knows whether the comparison can fail.
    """
    bounds = expected.same or expected.range
    if expected.value is not None:
        return False
    if bounds is not None:
        return bounds[0] <= 0 <= bounds[1]
    if expected.more_than is not None:
        return expected.more_than < 0
    return expected.less_than is not None and expected.less_than > 0


def _varying(measured: Measured) -> Estimate | None:
    """A measured value as an estimate; None for signs and texts."""
    known = measured.estimate if isinstance(measured, Sample) else measured
    if isinstance(known, bool) or not isinstance(known, Estimate | float | int):
        return None
    return known if isinstance(known, Estimate) else _exactly(float(known))


def _exact(expected: Expected, at: str, measured: Measured) -> Comparison:
    """Compares a count or a text, which must be equal."""
    if not isinstance(measured, str | int | float):
        raise ValueError(f"{at}: `equals` takes a number or a text, not a mean of runs")
    wanted = expected.equals
    both = isinstance(measured, int | float) and isinstance(wanted, int | float)
    holds = measured == wanted if both else str(measured) == str(wanted)
    return Comparison(expected, at, str(measured), None, None, _certain(bool(holds)), None, None)


def _exactly(value: float) -> Estimate:
    """A number that does not vary with the seed, as an estimate without an interval."""
    return Estimate(value, 0.0, 1, 0.0, 0)


def _certain(holds: bool) -> Test:
    return Test(0.0, 1.0) if holds else Test(1.0, 0.0)


def _chance_below(known: Estimate, bound: float) -> float:
    """How likely a mean that is measured so far above `bound` would be if it were `bound`: one-sided."""
    if not math.isfinite(known.half):
        return 1.0
    off = known.mean - bound
    if known.half == 0:
        # Seeds that are all equal say that most runs are so: if half of them lay beyond the bound, each seed would be a toss of a coin (sign test).
        # A value exactly on a bound is within it.
        return (0.5**known.n if known.degrees else 0.0) if off >= 0 else 1.0
    error = known.half / stats.t_quantile((1 + stats.LEVEL) / 2, known.degrees)
    return 1 - stats.t_cdf(off / error, known.degrees)


def _chance_above(known: Estimate, bound: float) -> float:
    return _chance_below(replace(known, mean=-known.mean), -bound)


def _strictly(chance: Callable[[Estimate, float], float], known: Estimate, bound: float) -> float:
    """The same for `more than`: a value without an interval must not lie on the bound itself."""
    return 1.0 if known.half == 0 and known.mean == bound else chance(known, bound)


def _two_sided(one_sided: float) -> float:
    return min(1.0, 2 * one_sided)


def _direction(expected: Expected, known: Estimate, spread: float) -> Test | None:
    """Whether there is an effect in the direction that is claimed: one larger than the threshold `no_effect`.

    An effect in the other direction or one known to be smaller than that counts as none; an effect that may be either is open.
    """
    threshold = expected.threshold
    if threshold is None:
        return None
    bound, more = threshold
    none = expected.no_effect
    if expected.value is not None or expected.range is not None:
        # A measure inside the band is never no effect; the band ends nearer to none where one published run says it.
        low, high = expected.edges
        room = (low - spread - bound) if more else (bound - high - spread)
        if room <= 0 and not expected.explicit:
            # The published value may as well be none: it claims no direction.
            return None
        none = min(none, max(0.0, room))
    bound += none if more else -none
    holds = _strictly(_chance_below if more else _chance_above, known, bound)
    fails = (_chance_above if more else _chance_below)(known, bound)
    return Test(_two_sided(holds), _two_sided(fails))


def _band(expected: Expected, known: Estimate, one_run: float) -> tuple[tuple[float, float] | None, float]:
    if all(each is None for each in (expected.value, expected.range, expected.same, expected.nothing)):
        return None, 0.0
    low, high = expected.edges
    if not expected.one_run:
        return (low, high), 0.0
    scale = one_run if expected.one_run is True else float(expected.one_run)
    sd = known.sd if known.n > 2 and math.isfinite(known.sd) else math.inf
    spread = math.inf if math.isinf(sd) else stats.t_quantile((1 + stats.LEVEL) / 2, known.n - 1) * sd * scale
    return (low - spread, high + spread), spread


def _size(known: Estimate, band: tuple[float, float]) -> Test:
    low, high = band
    inside = max(_chance_below(known, low), _chance_above(known, high))
    below, above = _strictly(_chance_above, known, low), _strictly(_chance_below, known, high)
    return Test(_two_sided(inside), _two_sided(min(below, above)))


def _signs(expected: Expected, at: str, measured: Signs) -> Comparison:
    if not expected.sign:
        raise ValueError(f"{at}: signs are measured, and claims.toml has no `sign` for them")
    values = measured.differences.values
    flip = -1 if expected.sign == "less" else 1
    holds, fails = (stats.sign_test([way * flip * value for value in values]) for way in (1, -1))
    positive, n = sum(value * flip > 0 for value in values), len(values)
    return Comparison(
        expected,
        at,
        f"{positive} of {n} seeds",
        None,
        n,
        Test(_two_sided(holds), _two_sided(fails)),
        None,
        None,
        judged=n >= measured.differences.least,
    )
