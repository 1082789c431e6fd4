"""Time series: the samples of recorded runs (`sample` of a scenario's `[record]`) as arrays."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..plan.plan import PlanError
from . import work
from .grid import Grid
from .results import Results

EVENTS = ("fast-retransmit", "timeout")
"""Events that a recorded run may have besides samples (`trace` of its `[record]`); `Samples.times` gives their times."""

QUERY = """
    SELECT seed, entity, subflow, time_ns, seq, size, a, b, c FROM runs
    WHERE kind = 'sample' ORDER BY seed, entity, subflow, time_ns
"""
EVENTS_QUERY = f"""
    SELECT seed, kind, entity, time_ns FROM runs WHERE kind IN {EVENTS} ORDER BY time_ns
"""


@dataclass(frozen=True)
class Link:
    """Samples of a link; counts are those of the interval that ends at `time`."""

    time: np.ndarray
    """Seconds since the start of the run."""
    interval: float
    """Seconds from sample to sample."""
    packets: np.ndarray
    """Packets offered, dropped ones included."""
    size: np.ndarray
    """Bytes offered, with IP headers."""
    queue: np.ndarray
    """Packets waiting."""
    queue_size: np.ndarray
    """Bytes waiting."""
    drops: np.ndarray
    """Packets dropped."""

    @property
    def rate(self) -> np.ndarray:
        """Rate of the offered packets, bits per second."""
        return 8 * self.size / self.interval


@dataclass(frozen=True)
class Sender:
    """Samples of a sender, or of one of its subflows; counts are those of the interval that ends at `time`."""

    time: np.ndarray
    interval: float
    packets: np.ndarray
    """Packets with user data."""
    size: np.ndarray
    """Bytes sent, with IP headers."""
    cwnd: np.ndarray
    """Bytes, as the engine counts them; of several subflows the sum."""
    ssthresh: np.ndarray
    """Bytes; of several subflows the sum."""
    srtt: np.ndarray
    """Seconds; of several subflows the mean."""

    @property
    def rate(self) -> np.ndarray:
        """Rate of the sent packets, bits per second."""
        return 8 * self.size / self.interval


@dataclass(frozen=True)
class Receiver:
    """Samples of a receiver, or of one of its subflows."""

    time: np.ndarray
    interval: float
    packets: np.ndarray
    """Packets that brought new user data."""
    size: np.ndarray
    """Bytes of these, with IP headers."""

    @property
    def rate(self) -> np.ndarray:
        """New data, bits per second."""
        return 8 * self.size / self.interval


class Samples:
    """The samples of one run."""

    def __init__(
        self,
        seed: int,
        columns: Mapping[tuple[str, int], Mapping[str, np.ndarray]],
        events: Mapping[tuple[str, str], Sequence[float]] | None = None,
    ):
        self.seed = seed
        self._columns = columns
        self._events = events or {}

    def times(self, kind: str, flow: str) -> np.ndarray:
        """When a sender had an event of that kind (`EVENTS`), seconds; of all of its subflows. `load` must have been asked for events."""
        return np.array(self._events.get((kind, f"{flow}:sender"), ()), dtype=float)

    def link(self, name: str) -> Link:
        """A link's samples; the way back of `both` is NAME-back."""
        found = self._one(f"link:{name}", None)
        time, interval = _clock(found)
        return Link(time, interval, found["seq"], found["size"], found["a"], found["b"], found["c"])

    def subflows(self, flow: str) -> list[int]:
        """The numbers of a flow's subflows."""
        return [number for entity, number in self._columns if entity == f"{flow}:sender"]

    def sender(self, flow: str, subflow: int | None = None) -> Sender:
        """A sender's samples: of one subflow, or of all together."""
        parts = []
        for number in self.subflows(flow) if subflow is None else [subflow]:
            found = self._one(f"{flow}:sender", number)
            time, interval = _clock(found)
            parts.append(
                Sender(time, interval, found["seq"], found["size"], found["a"], found["b"], found["c"] / 1e9)
            )
        if not parts:
            raise KeyError(f"no samples of a sender `{flow}`; there are {self._names()}")
        whole = parts[0]
        for part in parts[1:]:
            _same_times(flow, whole.time, part.time)
            whole = replace(
                whole,
                packets=whole.packets + part.packets,
                size=whole.size + part.size,
                cwnd=whole.cwnd + part.cwnd,
                ssthresh=whole.ssthresh + part.ssthresh,
                srtt=whole.srtt + part.srtt,
            )
        return replace(whole, srtt=whole.srtt / len(parts))

    def receiver(self, flow: str, subflow: int | None = None) -> Receiver:
        """A receiver's samples: of one subflow, or of all together."""
        numbers = [number for entity, number in self._columns if entity == f"{flow}:receiver"]
        whole: Receiver | None = None
        for number in numbers if subflow is None else [subflow]:
            found = self._one(f"{flow}:receiver", number)
            time, interval = _clock(found)
            part = Receiver(time, interval, found["seq"], found["size"])
            if whole is None:
                whole = part
            else:
                _same_times(flow, whole.time, part.time)
                whole = replace(whole, packets=whole.packets + part.packets, size=whole.size + part.size)
        if whole is None:
            raise KeyError(f"no samples of a receiver `{flow}`; there are {self._names()}")
        return whole

    def _one(self, entity: str, subflow: int | None) -> Mapping[str, np.ndarray]:
        place = (entity, 0 if subflow is None else subflow)
        if place not in self._columns:
            raise KeyError(f"no samples of `{entity}`, subflow {place[1]}; there are {self._names()}")
        return self._columns[place]

    def _names(self) -> str:
        return ", ".join(dict.fromkeys(entity for entity, _ in self._columns)) or "none"


def load(results: Results, sweep: str, at: Mapping[str, Any], *, events: bool = False) -> dict[int, Samples]:
    """The samples of every run at one point of a sweep with `trace = true`, by seed; with `events` the times for `Samples.times`, too."""
    table = results.table(sweep, QUERY, kind=work.TRACE, at=at)
    columns = {name: table.column(name).to_numpy() for name in ("seed", "subflow")}
    entity = np.asarray(table.column("entity").to_pylist(), dtype=object)
    numbers = {
        name: table.column(name).to_numpy().astype(float)
        for name in ("time_ns", "seq", "size", "a", "b", "c")
    }
    found: dict[int, dict[tuple[str, int], dict[str, np.ndarray]]] = {}
    if not len(entity):
        raise PlanError(
            f"sweep `{sweep}` recorded no samples at {dict(at)}: does `sample_from` come after the end?"
        )
    changed = (
        (columns["seed"][1:] != columns["seed"][:-1])
        | (columns["subflow"][1:] != columns["subflow"][:-1])
        | (entity[1:] != entity[:-1])
    )
    edges = [0, *(np.flatnonzero(changed) + 1).tolist(), len(entity)]
    for start, stop in itertools.pairwise(edges):
        place = (str(entity[start]), int(columns["subflow"][start]))
        found.setdefault(int(columns["seed"][start]), {})[place] = {
            name: values[start:stop] for name, values in numbers.items()
        }
    happened: dict[int, dict[tuple[str, str], list[float]]] = {}
    if events:
        for row in results.table(sweep, EVENTS_QUERY, kind=work.TRACE, at=at).to_pylist():
            mine = happened.setdefault(int(row["seed"]), {})
            mine.setdefault((row["kind"], row["entity"]), []).append(row["time_ns"] / 1e9)
    return {seed: Samples(seed, entities, happened.get(seed)) for seed, entities in found.items()}


def measure(
    results: Results, sweep: str, look: Callable[[Samples], Mapping[str, float]], *, events: bool = False
) -> Grid:
    """Measures that `look` takes from the samples of each run, as a grid: like `Results.grid`, for quantities over time.

    `events`: `look` asks for `Samples.times`."""
    found = results.plan.sweep(sweep)
    axes = tuple(axis.name for axis in found.axes)
    cells: dict[tuple, dict[str, list]] = {}
    names: tuple[str, ...] = ()
    for point, _ in results.points(found):
        cell: dict[str, list] = {"seed": []}
        for seed, samples in sorted(load(results, sweep, point.at, events=events).items()):
            seen = look(samples)
            names = tuple(seen)
            cell["seed"].append(seed)
            for name, value in seen.items():
                cell.setdefault(name, []).append(float(value))
        cells[tuple(point.at[axis] for axis in axes)] = cell
    return Grid(axes, names, cells, results.least(found))


def _clock(found: Mapping[str, np.ndarray]) -> tuple[np.ndarray, float]:
    time = found["time_ns"] / 1e9
    if time.size < 2:
        raise ValueError("one sample makes no series")
    return time, float(np.median(np.diff(time)))


def _same_times(flow: str, first: np.ndarray, second: np.ndarray) -> None:
    if first.size != second.size:
        raise ValueError(f"the subflows of `{flow}` do not live equally long; ask for each of them")
