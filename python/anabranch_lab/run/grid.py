"""Measures over a grid of runs: one value for every point and seed, and statistics over them."""

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from .. import stats
from ..stats import Estimate


def of_flow(name: str, column: str) -> str:
    """SQL: a column of the flow of that name; `%` stands for anything, then it is the sum."""
    return f"sum({column}) FILTER (kind = 'flow' AND name LIKE '{name}')"


def mean_of_flows(name: str, column: str) -> str:
    """SQL: the mean of a column over the flows whose name is like that."""
    return f"avg({column}) FILTER (kind = 'flow' AND name LIKE '{name}')"


def of_subflow(flow: str, number: int, column: str) -> str:
    """SQL: a column of one subflow of a flow."""
    return f"sum({column}) FILTER (kind = 'subflow' AND name = '{flow}' AND subflow = {number})"


def of_link(name: str, column: str) -> str:
    """SQL: a column of the link of that name."""
    return f"sum({column}) FILTER (kind = 'link' AND name = '{name}')"


def of_group(name: str, column: str) -> str:
    """SQL: a column of the flows that a `count` made, summed up: `jain`, `packets_lost`, goodput and the rest."""
    return f"sum({column}) FILTER (kind = 'group' AND name = '{name}')"


def of_object(name: str, number: int, column: str) -> str:
    """SQL: a column of one object that a client fetches, such as `completion_s`; `name` is the flow's in the file."""
    return f"sum({column}) FILTER (kind = 'object' AND name = '{name}' AND object = {number})"


def of_source(flow: str, source: str, column: str) -> str:
    """SQL: a column of one source of messages of a flow, such as `latency_p99_s`; `%` stands for anything, then it is the sum."""
    return f"sum({column}) FILTER (kind = 'source' AND flow LIKE '{flow}' AND source = '{source}')"


def first_object(name: str) -> str:
    """SQL: when the first of the objects was complete, in seconds since the first connection was opened."""
    return f"min(completion_s) FILTER (kind = 'object' AND name = '{name}')"


def last_object(name: str) -> str:
    """SQL: when the last of the objects was complete, in seconds; NULL while one is missing."""
    of = f"FILTER (kind = 'object' AND name = '{name}')"
    return f"CASE WHEN count(completion_s) {of} = count(bytes) {of} THEN max(completion_s) {of} END"


def of_share(link: str, flow: str, column: str) -> str:
    """SQL: a column of the results of one flow at a link (`by_flow` of the scenario): `share`, `drop_rate` and the rest."""
    return f"sum({column}) FILTER (kind = 'share' AND name = '{link}' AND flow LIKE '{flow}')"


def luck(link: str, p: str | float) -> str:
    """SQL: packets that a link's loss model took less their expected number. Its mean is 0: a control (`Sample.controlled`)."""
    return f"{of_link(link, 'drops_error')} - ({p}) * {of_link(link, 'arrivals')}"


def drop_rate(link: str) -> str:
    """SQL: dropped packets of a link, by its queue, for each packet that arrived there."""
    return f"{of_link(link, 'drops_queue')} / nullif({of_link(link, 'arrivals')}, 0)"


def sql(axes: Sequence[str], measures: Mapping[str, str]) -> str:
    """The query that `load` wants: a row for each point and seed, a column for each measure."""
    places = ", ".join(f'"{axis}"' for axis in (*axes, "seed"))
    columns = ", ".join(f'CAST({expression} AS DOUBLE) AS "{name}"' for name, expression in measures.items())
    return f"SELECT {places}, {columns} FROM runs GROUP BY {places} ORDER BY {places}"


def load(table: pa.Table, axes: Sequence[str], measures: Sequence[str], least: int = stats.LEAST) -> "Grid":
    """The answer to that query as a grid."""
    cells: dict[tuple, dict[str, list]] = {}
    for row in table.to_pylist():
        cell = cells.setdefault(tuple(row[axis] for axis in axes), {"seed": [], **{m: [] for m in measures}})
        for name, values in cell.items():
            values.append(row[name])
    return Grid(tuple(axes), tuple(measures), cells, least)


RESAMPLED = 400
"""Times that runs are drawn again for a bootstrap."""


@dataclass(frozen=True)
class Sample:
    """One measure at one point: a value for each seed."""

    seeds: tuple[int, ...]
    values: tuple[float, ...]
    least: int = stats.LEAST
    """Seeds that it takes to judge it."""

    @functools.cached_property
    def estimate(self) -> Estimate:
        """Mean and 95 % interval."""
        return stats.estimate(self.values, self.least)

    def controlled(self, control: "Sample") -> Estimate:
        """The mean without the luck of `control`, a measure of the same runs whose mean is known to be 0."""
        values, luck = self._common(control)
        return stats.controlled(values, luck, max(self.least, control.least))

    def over(self, other: "Sample") -> Estimate:
        """The ratio of the means, over the seeds that both have."""
        first, second = self._common(other)
        return stats.ratio(first, second, max(self.least, other.least))

    def _common(self, other: "Sample") -> tuple[list[float], list[float]]:
        """The values of both, of the seeds that both have."""
        if self.seeds == other.seeds:
            return list(self.values), list(other.values)
        yours = dict(zip(other.seeds, other.values, strict=True))
        pairs = [
            (value, yours[seed]) for seed, value in zip(self.seeds, self.values, strict=True) if seed in yours
        ]
        return [mine for mine, _ in pairs], [its for _, its in pairs]

    def _with(self, other: "Sample | float", act: Callable[[Any, Any], Any]) -> "Sample":
        if not isinstance(other, Sample):
            return Sample(self.seeds, tuple(act(value, other) for value in self.values), self.least)
        least = max(self.least, other.least)
        if self.seeds == other.seeds:
            return Sample(self.seeds, tuple(map(act, self.values, other.values)), least)
        mine, yours = (
            dict(zip(self.seeds, self.values, strict=True)),
            dict(zip(other.seeds, other.values, strict=True)),
        )
        seeds = tuple(seed for seed in self.seeds if seed in yours)
        values = tuple(act(mine[seed], yours[seed]) for seed in seeds)
        return Sample(seeds, values, least)

    def __sub__(self, other: "Sample | float") -> "Sample":
        """The difference, seed by seed."""
        return self._with(other, lambda a, b: a - b)

    def __add__(self, other: "Sample | float") -> "Sample":
        """The sum, seed by seed."""
        return self._with(other, lambda a, b: a + b)

    def __mul__(self, other: "Sample | float") -> "Sample":
        """The product, seed by seed."""
        return self._with(other, lambda a, b: a * b)

    def __truediv__(self, other: "Sample | float") -> "Sample":
        """The quotient, seed by seed; not a number where the divisor is 0."""
        return self._with(other, _divide)


@dataclass(frozen=True)
class Curve:
    """One measure along one axis: a value for each seed and each point."""

    x: tuple[float, ...]
    seeds: tuple[int, ...]
    values: np.ndarray
    """Rows are seeds, columns are points."""
    least: int = stats.LEAST
    """Seeds that it takes to judge it."""

    @property
    def means(self) -> np.ndarray:
        """The mean at each point."""
        return self.values.mean(axis=0)

    @property
    def estimates(self) -> list[Estimate]:
        """Mean and 95 % interval at each point."""
        return [stats.estimate([float(v) for v in column], self.least) for column in self.values.T]

    @property
    def halves(self) -> np.ndarray:
        """Half widths of the intervals, for error bars."""
        return np.array([each.half if math.isfinite(each.half) else 0.0 for each in self.estimates])

    def at(self, x: float) -> Estimate:
        """Mean and 95 % interval at one point."""
        return self.sample(x).estimate

    def sample(self, x: float) -> Sample:
        """The values at one point."""
        if x not in self.x:
            raise KeyError(f"no point {x}; there are {', '.join(str(each) for each in self.x)}")
        column = self.values[:, self.x.index(x)]
        return Sample(self.seeds, tuple(float(v) for v in column), self.least)

    def between(self, low: float, high: float) -> "Curve":
        """The part of it with low <= x <= high."""
        kept = [index for index, x in enumerate(self.x) if low <= x <= high]
        return Curve(tuple(self.x[index] for index in kept), self.seeds, self.values[:, kept], self.least)

    def slope(self) -> Estimate:
        """Least-squares slope of each seed's curve; their mean and 95 % interval."""
        return stats.estimate([stats.slope(self.x, row) for row in self.values], self.least)

    def exponent(self) -> Estimate:
        """Slope of log y over log x of each seed's curve; points where it is not positive do not count."""
        return stats.estimate([stats.exponent(self.x, row) for row in self.values], self.least)

    def change(self) -> Estimate:
        """By which part of its mean the straight line through each seed's curve rises from the first point to the last."""
        span = max(self.x) - min(self.x)
        return stats.estimate(
            [stats.slope(self.x, row) * span / float(row.mean()) for row in self.values], self.least
        )

    def rank(self) -> float:
        """Spearman's rank correlation of the means with x."""
        return stats.spearman(self.x, [float(mean) for mean in self.means])

    def ranked(self) -> Estimate:
        """Spearman's rank correlation of the means with x, with the middle 95 % of its values over resampled runs (bootstrap)."""
        n = len(self.seeds)
        if n == 1:
            return Estimate(self.rank(), math.inf, 1, math.nan, self.least)
        drawn = np.random.default_rng(1).integers(0, n, (RESAMPLED, n))
        found = np.array([stats.spearman(self.x, list(means)) for means in self.values[drawn].mean(axis=1)])
        low, high = (float(value) for value in np.quantile(found, (0.025, 0.975)))
        return Estimate((low + high) / 2, (high - low) / 2, n, float(found.std()), self.least)

    def ranks(self) -> Estimate:
        """Spearman's rank correlation of each seed's curve with x; mean and 95 % interval."""
        each = [stats.spearman(self.x, [float(v) for v in row]) for row in self.values]
        return stats.estimate(each, self.least)

    def rise(self, first: float, last: float) -> Estimate:
        """How much higher it is at `last` than at `first`, seed by seed."""
        return (self.sample(last) - self.sample(first)).estimate

    def peak(self) -> Estimate:
        """Where each seed's curve is highest; mean and 95 % interval of x."""
        return stats.estimate([float(self.x[index]) for index in self.values.argmax(axis=1)], self.least)

    def _with(self, other: "Curve | float", act: Callable[[Any, Any], Any]) -> "Curve":
        if not isinstance(other, Curve):
            return Curve(self.x, self.seeds, act(self.values, other), self.least)
        if self.x != other.x:
            raise ValueError(f"two curves over different points: {self.x} and {other.x}")
        seeds = tuple(seed for seed in self.seeds if seed in other.seeds)
        mine = self.values[[self.seeds.index(seed) for seed in seeds]]
        yours = other.values[[other.seeds.index(seed) for seed in seeds]]
        return Curve(self.x, seeds, act(mine, yours), max(self.least, other.least))

    def __sub__(self, other: "Curve | float") -> "Curve":
        """The difference, seed by seed and point by point."""
        return self._with(other, lambda a, b: a - b)

    def __add__(self, other: "Curve | float") -> "Curve":
        """The sum, seed by seed and point by point."""
        return self._with(other, lambda a, b: a + b)

    def __mul__(self, other: "Curve | float") -> "Curve":
        """The product, seed by seed and point by point."""
        return self._with(other, lambda a, b: a * b)

    def __truediv__(self, other: "Curve | float") -> "Curve":
        """The quotient, seed by seed and point by point; not a number where the divisor is 0."""
        return self._with(other, lambda a, b: np.divide(a, b, out=np.full(np.shape(a), np.nan), where=b != 0))


@dataclass(frozen=True)
class Grid:
    """Measures of every run of a sweep."""

    axes: tuple[str, ...]
    measures: tuple[str, ...]
    cells: Mapping[tuple, Mapping[str, Sequence]]
    least: int = stats.LEAST
    """Seeds that it takes to judge a measure of the grid."""

    def joined(self, other: "Grid") -> "Grid":
        """Both together: points that two sweeps of one plan run for different lengths, say. No point may be in both."""
        if (self.axes, self.measures) != (other.axes, other.measures):
            raise ValueError(f"grids of {self.axes}, {self.measures} and {other.axes}, {other.measures}")
        both = self.cells.keys() & other.cells.keys()
        if both:
            raise ValueError(f"in both grids: {dict(zip(self.axes, min(both), strict=True))}")
        cells = {**self.cells, **other.cells}
        return Grid(self.axes, self.measures, cells, max(self.least, other.least))

    def only(self, **at: Any) -> "Grid":
        """The points with these values, without the axes that they are values of: one engine of several, say."""
        drop = {self._index(axis): value for axis, value in at.items()}
        cells = {
            tuple(value for index, value in enumerate(place) if index not in drop): cell
            for place, cell in self.cells.items()
            if all(place[index] == value for index, value in drop.items())
        }
        if not cells:
            raise KeyError(f"no point has {at}")
        axes = tuple(axis for index, axis in enumerate(self.axes) if index not in drop)
        return Grid(axes, self.measures, cells, self.least)

    def values(self, axis: str) -> list[Any]:
        """The values of an axis, in the order in which they occur."""
        index = self._index(axis)
        if axis not in self._values:
            self._values[axis] = list(dict.fromkeys(place[index] for place in self.cells))
        return list(self._values[axis])

    @functools.cached_property
    def _values(self) -> dict[str, list[Any]]:
        """The values of each axis that somebody has asked for: analyses ask some thousand times."""
        return {}

    @functools.cached_property
    def _samples(self) -> dict[tuple[str, tuple], Sample]:
        """Samples that were asked for before, by measure and place."""
        return {}

    def sample(self, measure: str, **at: Any) -> Sample:
        """One measure at the one point with these values."""
        places = self._places(at)
        if len(places) != 1:
            raise KeyError(
                f"{len(places)} points have {at}; name one value for each of {', '.join(self.axes)}"
            )
        asked = (measure, places[0])
        if asked not in self._samples:
            cell = self.cells[places[0]]
            values = tuple(self._number(value) for value in cell[measure])
            self._samples[asked] = Sample(tuple(cell["seed"]), values, self.least)
        return self._samples[asked]

    def at(self, measure: str, **at: Any) -> Estimate:
        """Mean and 95 % interval of a measure at a point."""
        return self.sample(measure, **at).estimate

    def curve(self, measure: str, over: str, **at: Any) -> Curve:
        """One measure along an axis, the other axes at these values; only seeds that every point has."""
        index = self._index(over)
        places = self._places(at)
        places.sort(key=lambda place: place[index])
        x = tuple(place[index] for place in places)
        if not x or len(set(x)) != len(x):
            raise KeyError(f"{at} does not make one curve over {over}; axes are {', '.join(self.axes)}")
        columns = [
            dict(zip(self.cells[place]["seed"], self.cells[place][measure], strict=True)) for place in places
        ]
        seeds = [seed for seed in columns[0] if all(seed in column for column in columns)]
        values = [[self._number(column[seed]) for column in columns] for seed in seeds]
        return Curve(x, tuple(seeds), np.array(values, dtype=float), self.least)

    def _places(self, at: Mapping[str, Any]) -> list[tuple]:
        wanted = {self._index(axis): value for axis, value in at.items()}
        if len(wanted) == len(self.axes):
            # One point, or none.
            place = tuple(wanted[index] for index in range(len(self.axes)))
            return [place] if place in self.cells else []
        return [place for place in self.cells if all(place[i] == value for i, value in wanted.items())]

    def _index(self, axis: str) -> int:
        if axis not in self.axes:
            raise KeyError(f"no axis `{axis}`; there are {', '.join(self.axes)}")
        return self.axes.index(axis)

    @staticmethod
    def _number(value: float | None) -> float:
        return math.nan if value is None else value


def _divide(a: float, b: float) -> float:
    return a / b if b != 0 else math.nan
