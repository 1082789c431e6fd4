"""Means with Student-t intervals, and the differences that common random numbers make narrow."""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

LEVEL = 0.95

LEAST = 5
"""Seeds without which no mean is judged, where the plan has no rule for its seeds (`sequential.py`)."""


@dataclass(frozen=True)
class Estimate:
    """A mean over independent runs, with the half width of its 95 % interval."""

    mean: float
    half: float
    n: int
    sd: float
    least: int = LEAST
    """Values that it takes to judge it."""
    freedom: float = 0
    """Degrees of freedom of its interval, where they are not one fewer than its values."""

    @property
    def degrees(self) -> float:
        """Degrees of freedom of its interval."""
        return self.freedom or self.n - 1

    def half_at(self, level: float) -> float:
        """Half width of its interval at another level than 95 %."""
        if self.n < 2 or self.half == 0 or not math.isfinite(self.half):
            return self.half
        return (
            self.half * t_quantile((1 + level) / 2, self.degrees) / t_quantile((1 + LEVEL) / 2, self.degrees)
        )

    @property
    def low(self) -> float:
        """Lower end of the interval."""
        return self.mean - self.half

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return self.mean + self.half

    def times(self, factor: float) -> "Estimate":
        """The estimate in another unit."""
        size = abs(factor)
        return replace(self, mean=factor * self.mean, half=size * self.half, sd=size * self.sd)

    def text(self, digits: int = 1) -> str:
        """Mean and half width, as a table shows them; in words where a run had nothing to measure."""
        if math.isnan(self.mean):
            return "no figure"
        return f"{self.mean:.{digits}f} ± {self.half:.{digits}f}"


def estimate(values: Sequence[float], least: int = LEAST) -> Estimate:
    """Mean of independent values and its interval; the interval of a single value is infinite."""
    n = len(values)
    if n == 0:
        raise ValueError("no values to take a mean of")
    mean = math.fsum(values) / n
    if n == 1:
        return Estimate(mean, math.inf, 1, math.nan, least)
    sd = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (n - 1))
    return Estimate(mean, t_quantile((1 + LEVEL) / 2, n - 1) * sd / math.sqrt(n), n, sd, least)


def controlled(values: Sequence[float], control: Sequence[float], least: int = LEAST) -> Estimate:
    """The mean of values, without the luck of something else in the same runs whose mean is known to be 0.

    A run with more losses than its loss probability has less goodput: the straight line of the values over the control says how much less, and the
    mean is where it crosses 0 (regression with one control variate, Lavenberg and Welch 1981). The interval is that of the line at 0, with n - 2
    degrees of freedom. Where the control does not vary it is the plain mean.
    """
    if len(values) != len(control):
        raise ValueError(
            f"a control needs a value for each run: {len(values)} values, {len(control)} of the control"
        )
    plain = estimate(values, least)
    n = len(values)
    y, x = np.asarray(values, float), np.asarray(control, float)
    off = x - x.mean()
    square = float((off * off).sum())
    if n < 4 or square == 0 or not np.isfinite(x).all():
        return plain
    slope_ = float((off * (y - y.mean())).sum()) / square
    at_nothing = float(y.mean() - slope_ * x.mean())
    left = y - y.mean() - slope_ * off
    error = math.sqrt(float((left * left).sum()) / (n - 2) * (1 / n + float(x.mean()) ** 2 / square))
    return Estimate(at_nothing, t_quantile((1 + LEVEL) / 2, n - 2) * error, n, plain.sd, least, n - 2)


def paired(first: Sequence[float], second: Sequence[float]) -> Estimate:
    """The mean of first - second, run by run; both in the order of the same seeds."""
    if len(first) != len(second):
        raise ValueError(f"pairs need two series of one length, not {len(first)} and {len(second)}")
    return estimate([a - b for a, b in zip(first, second, strict=True)])


def unpaired(first: Sequence[float], second: Sequence[float], least: int = LEAST) -> Estimate:
    """The difference of the means of two groups of runs that differ in size and spread (Welch 1947).

    A group of fewer than two runs says nothing: not a number then.
    """
    n = len(first) + len(second)
    if min(len(first), len(second)) < 2:
        return Estimate(math.nan, math.inf, n, math.nan, least)
    mine, other = estimate(first), estimate(second)
    parts = [each.sd**2 / each.n for each in (mine, other)]
    error = math.sqrt(sum(parts))
    freedom = (
        error**4 / sum(part**2 / (each.n - 1) for part, each in zip(parts, (mine, other), strict=True))
        if error
        else n - 2
    )
    half = t_quantile((1 + LEVEL) / 2, freedom) * error
    return Estimate(mine.mean - other.mean, half, n, error * math.sqrt(n), least, freedom)


def ratio(first: Sequence[float], second: Sequence[float], least: int = LEAST) -> Estimate:
    """The ratio of the means of two series of the same seeds; its interval from leaving out one seed at a time."""
    if len(first) != len(second):
        raise ValueError(f"a ratio needs two series of one length, not {len(first)} and {len(second)}")
    n, above, below = len(first), math.fsum(first), math.fsum(second)
    if n == 0 or below == 0:
        raise ValueError("no ratio: no values, or a divisor of 0")
    whole = above / below
    # Without a seed that carries all of the divisor there is no ratio: nothing says how far it would vary.
    if n == 1 or any(below == b for b in second):
        return Estimate(whole, math.inf, n, math.nan, least)
    # Jackknife (Quenouille, Tukey): the pseudo-values of n seeds are about independent.
    pseudo = [n * whole - (n - 1) * (above - a) / (below - b) for a, b in zip(first, second, strict=True)]
    return estimate(pseudo, least)


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """Least-squares slope of y over x."""
    xs, ys = np.asarray(x, float), np.asarray(y, float)
    if xs.size < 2 or np.ptp(xs) == 0:
        raise ValueError("a slope needs two different x")
    off = xs - xs.mean()
    return float((off * (ys - ys.mean())).sum() / (off * off).sum())


def exponent(x: Sequence[float], y: Sequence[float]) -> float:
    """Least-squares slope of log y over log x, of the points where both are positive."""
    xs, ys = np.asarray(x, float), np.asarray(y, float)
    kept = (xs > 0) & (ys > 0)
    return slope(np.log(xs[kept]), np.log(ys[kept]))


def spearman(x: Sequence[float], y: Sequence[float]) -> float:
    """Spearman's rank correlation; equal values share their mean rank. 0 when one of the two does not vary."""
    if len(x) != len(y) or len(x) < 2:
        raise ValueError("a rank correlation needs two series of one length, 2 or more")
    a, b = _ranks(x), _ranks(y)
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return 0.0
    a, b = a - a.mean(), b - b.mean()
    return float((a * b).sum() / math.sqrt((a * a).sum() * (b * b).sum()))


def _ranks(values: Sequence[float]) -> np.ndarray:
    _, place, count = np.unique(np.asarray(values, float), return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    return (last - (count - 1) / 2)[place]


def jain(shares: Sequence[float]) -> float:
    """Jain's fairness index: 1 when all shares are equal, 1/n when one has all."""
    total, squares = math.fsum(shares), math.fsum(share * share for share in shares)
    if squares == 0:
        raise ValueError("no fairness among shares of 0")
    return total * total / (len(shares) * squares)


def sign_test(differences: Sequence[float]) -> float:
    """One-sided sign test: how likely so many positive differences are if both signs were. Zeros do not count."""
    signs = [value > 0 for value in differences if value != 0]
    n, positive = len(signs), sum(signs)
    if n == 0:
        return 1.0
    return sum(math.comb(n, k) for k in range(positive, n + 1)) / 2**n


def autocorrelation(values: Sequence[float], longest: int) -> np.ndarray:
    """Autocorrelation at lags 0 to `longest` samples; 0 throughout when nothing varies."""
    series = np.asarray(values, float)
    series = series - series.mean()
    power = float((series * series).sum())
    if power == 0:
        return np.zeros(longest + 1)
    padded = 1 << (2 * series.size - 1).bit_length()
    spectrum = np.fft.rfft(series, padded)
    return np.fft.irfft(spectrum * np.conj(spectrum), padded)[: longest + 1] / power


def t_cdf(t: float, freedom: float) -> float:
    """Student's distribution function."""
    if t == 0:
        return 0.5
    tail = _incomplete_beta(freedom / (freedom + t * t), freedom / 2, 0.5) / 2
    return 1 - tail if t > 0 else tail


@functools.cache
def t_quantile(probability: float, freedom: float) -> float:
    """The t with t_cdf(t) = probability; freedom is the number of degrees of freedom."""
    if not 0 < probability < 1 or freedom <= 0:
        raise ValueError(f"no quantile for probability {probability} and {freedom} degrees of freedom")
    if probability < 0.5:
        return -t_quantile(1 - probability, freedom)
    low, high = 0.0, 1.0
    while t_cdf(high, freedom) < probability:
        low, high = high, high * 2
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if t_cdf(middle, freedom) < probability else (low, middle)
    return (low + high) / 2


def _incomplete_beta(x: float, a: float, b: float) -> float:
    """Regularised incomplete beta function, by its continued fraction."""
    if x <= 0 or x >= 1:
        return min(max(x, 0.0), 1.0)
    # The fraction converges fast only on this side; the other follows from the symmetry.
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(1 - x, b, a)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    tiny = 1e-300
    c, d = 1.0, 1 / _away_from_zero(1 - (a + b) * x / (a + 1), tiny)
    fraction = d
    for m in range(1, 500):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        before = fraction
        for term in (even, odd):
            d = 1 / _away_from_zero(1 + term * d, tiny)
            c = _away_from_zero(1 + term / c, tiny)
            fraction *= c * d
        if abs(fraction - before) <= 1e-15 * abs(fraction):
            break
    return front * fraction / a


def _away_from_zero(value: float, tiny: float) -> float:
    return value if abs(value) > tiny else tiny
