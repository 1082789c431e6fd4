"""Estimates of what is not a mean over seeds."""

import math
from collections.abc import Callable

import numpy as np

from anabranch_lab.run.grid import Curve
from anabranch_lab.stats import LEAST, Estimate, estimate

RESAMPLED = 2000
"""Times that seeds are drawn again for a bootstrap."""


def jackknife(rows: np.ndarray, measure: Callable[[np.ndarray], float], least: int = LEAST) -> Estimate:
    """A measure of all seeds together (rows are seeds), with the interval that leaving out one of them at a time gives."""
    n, whole = len(rows), measure(rows)
    if n == 1:
        return Estimate(whole, math.inf, 1, math.nan, least)
    pseudo = [n * whole - (n - 1) * measure(np.delete(rows, index, axis=0)) for index in range(n)]
    return estimate(pseudo, least)


def peak(curve: Curve) -> Estimate:
    """Where the mean curve is highest, with the middle 95 % of what seeds drawn again give (bootstrap).

    The place of a maximum jumps from point to point: leaving out one seed moves it not at all or too far, and the mean of each
    seed's own maximum lies in the middle of a curve that is flat. The interval is that of the bootstrap to both ends; its middle stands
    as the mean.
    """
    n = len(curve.seeds)
    if n == 1:
        return Estimate(highest(curve), math.inf, 1, math.nan, curve.least)
    drawn = np.random.default_rng(1).integers(0, n, (RESAMPLED, n))
    places = np.asarray(curve.x)[curve.values[drawn].mean(axis=1).argmax(axis=1)]
    low, high = (float(value) for value in np.quantile(places, (0.025, 0.975), method="nearest"))
    return Estimate((low + high) / 2, (high - low) / 2, n, float(places.std()), curve.least)


def highest(curve: Curve) -> float:
    """The point at which the mean curve is highest."""
    return float(curve.x[int(curve.means.argmax())])
