"""Checks of the arguments of a model: one clear sentence instead of a square root of something negative."""

import numpy as np
from numpy.typing import ArrayLike, NDArray


def positive(name: str, value: ArrayLike) -> NDArray[np.float64]:
    """Numbers above 0."""
    array = np.asarray(value, float)
    if not np.all(np.isfinite(array) & (array > 0)):
        raise ValueError(f"{name} {_first(array, array > 0)}: more than 0 is needed")
    return array


def probability(name: str, value: ArrayLike) -> NDArray[np.float64]:
    """Numbers between 0 and 1, both excluded."""
    array = np.asarray(value, float)
    good = (array > 0) & (array < 1)
    if not np.all(good):
        raise ValueError(f"{name} {_first(array, good)}: a probability above 0 and below 1 is needed")
    return array


def count(name: str, value: ArrayLike) -> NDArray[np.float64]:
    """Whole numbers from 1."""
    array = np.asarray(value, float)
    good = (array >= 1) & (array == np.floor(array))
    if not np.all(good):
        raise ValueError(f"{name} {_first(array, good)}: a whole number from 1 is needed")
    return array


def _first(array: NDArray[np.float64], good: NDArray[np.bool_]) -> str:
    bad = array[~(good & np.isfinite(array))]
    return f"{bad.flat[0]:g}" if bad.size else "?"
