"""The report's two kinds of figures: transmission time over the position of the loss, and the packets over time."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.judge.experiment import Table as Sheet
from anabranch_lab.run.results import Results
from anabranch_lab.show import plots

from .flows import SETS, Row, Table

LABELS = {
    "low": "(a) low: 40 kbit/s, 5 ms",
    "medium": "(b) medium: 1000 kbit/s, 40 ms",
    "high": "(c) high: 10000 kbit/s, 300 ms",
}


def times(axes: Axes, row: Row, name: str, colour: str, **look: Any) -> None:
    """A line of times; a circle where fast retransmit was enough, a triangle where a timer was needed, a dot elsewhere."""
    positions = list(row)
    values = [row[k].time for k in positions]
    axes.plot(positions, values, color=colour, label=name, **{"linewidth": 1.1, **look})
    kinds = {"o": row.fast(), "^": row.timed_out()}
    kinds["."] = [k for k in positions if all(k not in found for found in kinds.values())]
    for marker, found in kinds.items():
        axes.plot(found, [row[k].time for k in found], marker, color=colour, markersize=4.5)


def by_position(name: str, title: str, rows: Callable[[str], Mapping[str, Row]], caption: str = "") -> Entry:
    """A figure of the report: low, medium and high side by side; `rows` has the lines of a display set, by name."""

    def draw() -> Figure:
        figure, axes = plots.panels(3, height=3.3)
        for panel, display in zip(axes, SETS, strict=True):
            for index, (line, row) in enumerate(rows(display).items()):
                look = {"linestyle": "-" if index == 0 else "--"}
                times(panel, row, line, plots.CYCLE[index % len(plots.CYCLE)], **look)
            plots.label(panel, LABELS[display], "position of the lost packet", "transmission time, ms")
            panel.set_ylim(bottom=0)
            panel.set_xticks(range(0, 21, 5))
        axes[0].legend()
        return figure

    marks = "Circles: fast retransmit was enough. Triangles: the retransmission timer expired. Position 0: nothing was lost."
    return Entry(name, title, f"{caption} {marks}".strip(), draw)


def ours(table: Table, places: Mapping[str, Mapping[str, Any]], title: str) -> Sheet:
    """Our own times, a row for each position, for each place low, medium and high."""
    head = ["lost", *(f"{name}, {display}" for name in places for display in SETS)]
    found = [table.at(display=display, **at) for at in places.values() for display in SETS]
    rows = [["none" if k == 0 else str(k), *(f"{row[k].time:.0f}" for row in found)] for k in list(found[0])]
    note = "Milliseconds, of our own runs. The report's are in figures that are lost: nothing here was compared with them."
    return Sheet(title, head, rows, note, open=False)


class Record:
    """The events of one recorded run."""

    def __init__(self, events: Sequence[Mapping[str, Any]], unit: int):
        self._events = sorted(events, key=lambda event: event["time_ns"])
        self._unit = unit

    def of(self, end: str, *kinds: str) -> list[dict[str, Any]]:
        """Events of one end, in order: `time` in seconds, `number` of the packet of data (the first is 1)."""
        found = []
        for event in self._events:
            if event["entity"].endswith(end) and event["kind"] in kinds:
                number = event["seq"] // self._unit + 1
                found.append({**event, "time": event["time_ns"] / 1e9, "number": number})
        return found

    @property
    def sent(self) -> list[dict[str, Any]]:
        """Data that the server sent."""
        return [event for event in self.of("sender", "sent") if event["size"] > 0]

    def bursts(self, gap: float) -> list[list[dict[str, Any]]]:
        """The packets that the server sent, cut wherever it was silent for longer than `gap` seconds."""
        bursts: list[list[dict[str, Any]]] = []
        for event in self.sent:
            if not bursts or event["time"] - bursts[-1][-1]["time"] > gap:
                bursts.append([])
            bursts[-1].append(event)
        return bursts

    def server(self, axes: Axes) -> None:
        """Draws the packets that the server sends, and the acknowledgements that reach the server."""
        sent, acks = self.sent, self.of("sender", "ack")
        for again, colour, name in ((False, plots.SCTP, "sent"), (True, plots.TCP, "sent again")):
            some = [event for event in sent if bool(event["reason"]) == again]
            axes.vlines(
                [event["time"] for event in some],
                [event["number"] - 1 for event in some],
                [event["number"] for event in some],
                color=colour,
                linewidth=2.2,
                label=name,
            )
        level = [event["seq"] / self._unit for event in acks]
        axes.step(
            [event["time"] for event in acks],
            level,
            where="post",
            color=plots.PUBLISHED,
            label="acknowledged",
        )
        gaps = [event for event in acks if event["a"] > 0]
        axes.plot(
            [event["time"] for event in gaps],
            [event["seq"] / self._unit for event in gaps],
            "x",
            color=plots.OTHER,
            markersize=5,
            label="with a gap report",
        )
        axes.legend(loc="lower right")

    def client(self, axes: Axes) -> None:
        """Draws the packets that reach the client, and the duplicates among them."""
        received = self.of("receiver", "received")
        for twice, colour, name in ((False, plots.SCTP, "arrived"), (True, plots.TCP, "had arrived before")):
            some = [event for event in received if (event["reason"] == "duplicate") == twice]
            axes.vlines(
                [event["time"] for event in some],
                [event["number"] - 1 for event in some],
                [event["number"] for event in some],
                color=colour,
                linewidth=2.2,
                label=name,
            )
        axes.legend(loc="lower right")


def sequence(
    name: str, title: str, load: Callable[[], Record], *, client: bool = False, caption: str = ""
) -> Entry:
    """Packets of data over time, seen from one end."""

    def draw() -> Figure:
        figure, (axes,) = plots.panels(1, height=4.2)
        figure.set_figwidth(7.2)
        record = load()
        (record.client if client else record.server)(axes)
        plots.label(axes, title, "time since the client opened, s", "packets of data")
        axes.set_ylim(bottom=-0.5)
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        return figure

    return Entry(name, title, caption, draw)


def recorded(results: Results, sweep: str, unit: int, **at: Any) -> Record:
    """The events of one point of a recorded sweep; `unit`: the step of the sequence number for a packet of data."""
    return Record(results.rows(sweep, "SELECT * FROM runs", kind="trace", at=at), unit)


def all_recorded(results: Results, sweep: str, unit: int) -> dict[str, Record]:
    """Every flow of a recorded sweep, by the name of its place; `unit`: the step of the sequence number for a packet of data."""
    return {
        point.at["place"]: recorded(results, sweep, unit, **point.at)
        for point, _ in results.points(results.plan.sweep(sweep))
    }
