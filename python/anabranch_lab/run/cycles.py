"""Phases and cycles of a bottleneck queue, from samples (Zou 2007, section 4.4 and Fig. 4.4).

A queue builds up (QBU), drains (QDN) or is steady, which means empty (QSD). A cycle goes from the beginning of one steady phase to
that of the next; where the queue never runs empty, from one build-up to the next. Sampled queues jitter by a few packets, so
a turn counts only when the queue then moves by a least distance.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

QBU, QDN, QSD = "QBU", "QDN", "QSD"


@dataclass(frozen=True)
class Phase:
    """A stretch of time in which the queue does one thing; seconds."""

    state: str
    start: float
    end: float

    @property
    def length(self) -> float:
        """Seconds."""
        return self.end - self.start


def turns(values: Sequence[float], least: float) -> list[int]:
    """The turning points of a series: positions of its highs and lows, in turn, each at least `least` from the next.

    The first and the last position are ends, not turns, and are part of the answer.
    """
    series = np.asarray(values, float)
    if series.size == 0:
        return []
    high = low = 0
    found: list[int] = []
    direction = 0
    for index in range(1, series.size):
        value = series[index]
        if value > series[high]:
            high = index
        if value < series[low]:
            low = index
        if direction >= 0 and series[high] - value >= least:
            if direction > 0 or high > 0:
                found.append(high)
            direction, low, high = -1, index, index
        elif direction <= 0 and value - series[low] >= least:
            if direction < 0 or low > 0:
                found.append(low)
            direction, low, high = 1, index, index
    return [0, *[index for index in found if 0 < index < series.size - 1], series.size - 1]


def phases(
    time: Sequence[float], queue: Sequence[float], *, least: float = 5.0, empty: float = 1.0
) -> list[Phase]:
    """The phases of a sampled queue, one after the other.

    `queue` is in packets; a queue of at most `empty` packets is steady. A busy period that never holds `least` packets is jitter of
    a steady phase. Neighbouring phases of one state are one.
    """
    times, series = np.asarray(time, float), np.asarray(queue, float)
    if times.size != series.size:
        raise ValueError(f"{times.size} times for {series.size} samples")
    found: list[Phase] = []
    for start, end, busy in _periods(series, empty, least):
        if not busy:
            _add(found, QSD, times[start], times[end])
            continue
        marks = _legs(series[start : end + 1], least)
        for before, after in itertools.pairwise(marks):
            rises = series[start + after] > series[start + before]
            _add(found, QBU if rises else QDN, times[start + before], times[start + after])
    return found


def _legs(series: np.ndarray, least: float) -> list[int]:
    """The turns without those that only a short leg separates from an end."""
    marks = turns(series, least)
    if len(marks) > 2 and abs(series[marks[1]] - series[marks[0]]) < least:
        del marks[1]
    if len(marks) > 2 and abs(series[marks[-1]] - series[marks[-2]]) < least:
        del marks[-2]
    return marks


def _periods(series: np.ndarray, empty: float, least: float) -> list[tuple[int, int, bool]]:
    """Busy and empty stretches as (first, last, busy); each begins where the one before it ends."""
    busy = series > empty
    edges = [0, *(np.flatnonzero(busy[1:] != busy[:-1]) + 1).tolist(), series.size]
    stretches: list[tuple[int, int, bool]] = []
    for start, stop in itertools.pairwise(edges):
        full = bool(busy[start]) and float(series[start:stop].max()) >= least
        end = min(stop, series.size - 1)
        if stretches and stretches[-1][2] == full:
            stretches[-1] = (stretches[-1][0], end, full)
        else:
            stretches.append((start, end, full))
    return [each for each in stretches if each[1] > each[0]]


def _add(found: list[Phase], state: str, start: float, end: float) -> None:
    if found and found[-1].state == state:
        found[-1] = Phase(state, found[-1].start, float(end))
    elif end > start:
        found.append(Phase(state, float(start), float(end)))


def cycles(found: Sequence[Phase]) -> list[list[Phase]]:
    """Whole cycles: from steady phase to steady phase, or from build-up to build-up where there is no steady phase.

    The times before the first and after the last beginning are no whole cycles and are left out.
    """
    inner = list(found[1:])  # the first phase began before the samples did
    first = QSD if any(phase.state == QSD for phase in inner) else QBU
    starts = [index for index, phase in enumerate(inner) if phase.state == first]
    return [inner[a:b] for a, b in itertools.pairwise(starts)]


def mean_lengths(found: Sequence[Phase]) -> dict[str, float]:
    """Seconds that each state takes of a whole cycle, on average, and the cycle itself as `cycle`; NaN without a cycle."""
    whole = cycles(found)
    if not whole:
        return dict.fromkeys((QBU, QDN, QSD, "cycle"), float("nan"))
    total = {state: sum(p.length for c in whole for p in c if p.state == state) for state in (QBU, QDN, QSD)}
    lengths = {state: seconds / len(whole) for state, seconds in total.items()}
    return lengths | {"cycle": sum(lengths.values())}


def mean_phases(found: Sequence[Phase]) -> dict[str, float]:
    """Seconds that a phase of each state lasts, on average; the first and the last, which are cut off, do not count."""
    lengths = {
        state: [phase.length for phase in found[1:-1] if phase.state == state] for state in (QBU, QDN, QSD)
    }
    return {state: sum(each) / len(each) if each else float("nan") for state, each in lengths.items()}


def regrowths(found: Sequence[Phase]) -> int:
    """How often a draining queue grew again before it was empty."""
    return sum(a.state == QDN and b.state == QBU for a, b in itertools.pairwise(found))


def cuts(values: Sequence[float], least: float) -> list[float]:
    """The falls of a series: each low as a share of the high before it.

    For the sum of all windows this is the cut of the aggregate: 0.5 when every subflow halves at once.
    """
    series = np.asarray(values, float)
    marks = turns(series, least)
    return [
        float(series[low] / series[high])
        for high, low in itertools.pairwise(marks)
        if series[low] < series[high] and low != marks[-1]
    ]


def period(values: Sequence[float], interval: float, shortest: float, longest: float) -> tuple[float, float]:
    """The lag of the highest autocorrelation between two lags, seconds, and that autocorrelation.

    NaN and the value at the edge when the highest one is no peak.
    """
    from ..stats import autocorrelation

    low, high = max(1, round(shortest / interval)), round(longest / interval)
    found = autocorrelation(values, high + 1)
    best = low + int(found[low : high + 1].argmax())
    peak = found[best] >= found[best - 1] and found[best] >= found[best + 1]
    return (best * interval if peak else float("nan")), float(found[best])
