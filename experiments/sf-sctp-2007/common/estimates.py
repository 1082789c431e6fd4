"""Estimates of quantities that are not means over seeds."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from anabranch_lab.run.grid import Curve, Sample
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


def without_luck(pairs: Sequence[tuple[Sample, Sample]], measure: Callable[[list[float]], float]) -> Estimate:
    """A measure of several means, each without the luck of its losses: pairs of a sample and its control, whose mean is 0.

    Each mean is where the straight line over the control crosses 0; leaving out one seed at a time, lines and all, gives the interval.
    """
    samples = [sample for pair in pairs for sample in pair]
    # Sweeps may have stopped after different numbers of seeds.
    seeds = [seed for seed in samples[0].seeds if all(seed in sample.seeds for sample in samples)]
    rows = np.array([[sample.values[sample.seeds.index(seed)] for sample in samples] for seed in seeds])

    def whole(rows: np.ndarray) -> float:
        return measure([_at_nothing(*rows[:, 2 * i : 2 * i + 2].T) for i in range(len(pairs))])

    return jackknife(rows, whole, max(sample.least for sample in samples))


def _at_nothing(values: np.ndarray, control: np.ndarray) -> float:
    off = control - control.mean()
    square = float(off @ off)
    slope = float(off @ values) / square if len(values) > 2 and square > 0 else 0.0
    return float(values.mean() - slope * control.mean())


def minus_one(ratio: Estimate) -> Estimate:
    """The distance of a ratio from 1."""
    return replace(ratio, mean=ratio.mean - 1)


def reached(curve: Curve, threshold: float) -> Estimate:
    """Where the mean curve first reaches a threshold, between the simulated points; not a finite number where it never does.

    The first point at which a single seed does would be too early: noise takes it there."""
    return jackknife(curve.values, lambda rows: _first(curve.x, rows.mean(axis=0), threshold), curve.least)


def _first(x: Sequence[float], values: np.ndarray, threshold: float) -> float:
    for index, value in enumerate(values):
        if value >= threshold:
            if index == 0:
                return float(x[0])
            before = values[index - 1]
            return float(x[index - 1] + (threshold - before) / (value - before) * (x[index] - x[index - 1]))
    return math.inf


def peak(curve: Curve) -> Estimate:
    """Where the mean curve is highest, with the middle 95 % of the places for resampled seeds (bootstrap).

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
    # The places are those of means of n seeds; that of a single run varies more, by the root of n.
    return Estimate((low + high) / 2, (high - low) / 2, n, float(places.std()) * math.sqrt(n), curve.least)


def highest(curve: Curve) -> float:
    """The point at which the mean curve is highest."""
    return float(curve.x[int(curve.means.argmax())])
