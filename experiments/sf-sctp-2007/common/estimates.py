"""Estimates of what is not a mean over seeds."""

import math
from collections.abc import Callable

import numpy as np

from anabranch_lab.stats import LEAST, Estimate, estimate


def jackknife(rows: np.ndarray, measure: Callable[[np.ndarray], float], least: int = LEAST) -> Estimate:
    """A measure of all seeds together (rows are seeds), with the interval that leaving out one of them at a time gives."""
    n, whole = len(rows), measure(rows)
    if n == 1:
        return Estimate(whole, math.inf, 1, math.nan, least)
    pseudo = [n * whole - (n - 1) * measure(np.delete(rows, index, axis=0)) for index in range(n)]
    return estimate(pseudo, least)
