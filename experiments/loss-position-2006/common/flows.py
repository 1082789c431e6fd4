"""The runs of a sweep, flow by flow: transmission time, number of packets, and repair of the loss."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anabranch_lab.run import grid
from anabranch_lab.run.results import Results

SETS = {"low": (40, 5), "medium": (1000, 40), "high": (10000, 300)}
"""The display sets: kbit/s and ms of a link."""
FAST, TIMER, NOTHING = "fast retransmit", "timer", "nothing"
"""Repairs of a loss."""

MEASURES = {
    "time": "1000 * " + grid.of_flow("flow", "end_s"),
    "packets": grid.of_link("down", "arrivals"),
    "fast": grid.of_flow("flow", "fast_retransmits"),
    "timeouts": grid.of_flow("flow", "timeouts"),
    "again": grid.of_flow("flow", "retransmissions"),
}


@dataclass(frozen=True)
class Flow:
    """One flow with one packet lost, or none."""

    time: float
    """Until the client knows that nothing more comes, from its opening, ms: the report's transmission time. Infinite where the run ends before."""
    packets: int
    """All packets that the server sent."""
    fast: int
    """Fast retransmits."""
    timeouts: int
    """Expiries of the server's retransmission timer for data."""
    again: int
    """Packets (TCP) or chunks (SCTP) of data sent again."""


@dataclass(frozen=True)
class Row:
    """The flows of one place, by the position of the loss; position 0 is a flow without one."""

    flows: Mapping[Any, Flow]

    def __getitem__(self, position: Any) -> Flow:
        """The flow that lost the packet at this position."""
        return self.flows[position]

    def __iter__(self) -> Iterator[Any]:
        """The positions."""
        return iter(self.flows)

    @property
    def positions(self) -> list[Any]:
        """The positions of lost packets, in order, without 0."""
        return [position for position in self.flows if position != 0]

    def extra(self, position: Any) -> float:
        """The extra time over the flow without a loss, ms."""
        return self.flows[position].time - self.flows[0].time

    def repair(self, position: Any, needless: int = 0) -> str:
        """The repair of a loss; `needless`: so often the timer expires for no reason. A packet without data has a timer of its own."""
        flow = self.flows[position]
        if flow.timeouts > needless:
            return TIMER
        if flow.fast:
            return FAST
        return NOTHING if self.extra(position) <= 1 else TIMER

    def waits(self) -> list[Any]:
        """The positions at which some timer was needed."""
        return [k for k in self.positions if self.repair(k) == TIMER]

    def timed_out(self) -> list[Any]:
        """The positions at which data waited for the retransmission timer."""
        return [k for k in self.positions if self.flows[k].timeouts]

    def fast(self) -> list[Any]:
        """The positions at which fast retransmit repaired the loss, and no timer was needed."""
        return [k for k in self.positions if self.flows[k].fast and not self.flows[k].timeouts]


class Table:
    """All flows of a sweep."""

    def __init__(self, results: Results, sweep: str, over: str = "position"):
        axes = [axis.name for axis in results.plan.sweep(sweep).axes]
        self.names = [name for name in axes if name != over]
        found: dict[tuple, dict[Any, Flow]] = {}
        for row in results.rows(sweep, grid.sql(axes, MEASURES)):
            place = tuple(row[name] for name in self.names)
            time = float("inf") if row["time"] is None else float(row["time"])
            counts = {name: int(row[name]) for name in ("packets", "fast", "timeouts", "again")}
            found.setdefault(place, {})[row[over]] = Flow(time, **counts)
        self.rows = {place: Row(dict(sorted(flows.items()))) for place, flows in found.items()}

    def at(self, **at: Any) -> Row:
        """The one row with these values."""
        return self.rows[tuple(at[name] for name in self.names)]

    def where(self, **at: Any) -> list[tuple[dict[str, Any], Row]]:
        """The rows with these values, each with all its values."""
        places = [(dict(zip(self.names, place, strict=True)), row) for place, row in self.rows.items()]
        return [(place, row) for place, row in places if all(place[name] == at[name] for name in at)]


def trip(display: str, back: int) -> float:
    """Milliseconds that a packet of 1500 bytes and its answer of `back` bytes take."""
    rate, delay = SETS[display]
    return 2 * delay + (1500 + back) * 8 / rate


def text(positions: Sequence[Any]) -> str:
    """`1, 15-19`."""
    parts: list[str] = []
    rest = list(positions)
    while rest:
        first = last = rest.pop(0)
        while rest and rest[0] == last + 1:
            last = rest.pop(0)
        parts.append(str(first) if first == last else f"{first}-{last}")
    return ", ".join(parts) or "none"
