"""The web-object study's spreadsheet, against the table that the thesis prints and against logs worked out by hand."""

import sys

import numpy as np
import pytest

from anabranch_lab.judge import experiment
from anabranch_lab.plan import folders
from anabranch_lab.run import simulation

PLAN = "web-objects-2005/traces"


@pytest.fixture
def modules():
    """The study's own modules."""
    plan = folders.find(folders.root() / "experiments", PLAN)
    experiment._module(plan)
    package = "anabranch_experiments_web_objects_2005"
    return {name: sys.modules[f"{package}.{name}"] for name in ("common.packets", "traces.tables")}


def log(packets, rows):
    """Rows of time, size, user data, kind, connection, dropped."""
    time, size, user, kind, flow, dropped = (np.array(column) for column in zip(*rows, strict=True))
    return packets.Log(time, size, user, kind, flow, dropped.astype(bool))


def test_the_sheet_is_the_one_of_table_5_1(modules):
    packets = modules["common.packets"]
    rows = modules["traces.tables"].printed_5_1()
    given = log(packets, [(time, size, 0, 0, 0, 0) for time, size, *_ in rows])
    found = packets.sheet(given, 60_000, header=0)
    for column, place in (("start", 2), ("end", 3), ("idle", 4)):
        wanted = [row[place] for row in rows]
        # Printed to the millisecond, from times of the millisecond.
        assert np.abs(getattr(found, column) - wanted).max() < 0.0021, column
    assert found.waiting.tolist() == [0, 0, 1, 2, 0, 1, 2, 2, 3, 4, 0, 1, 2, 2, 3, 4, 0, 1]


def test_what_was_dropped_uses_nothing_of_the_line(modules):
    packets = modules["common.packets"]
    rows = [
        (0.0, 984, 900, 0, 0, 0),
        (0.0, 984, 900, 0, 0, 1),
        (0.0, 984, 900, 0, 1, 0),
        (5.0, 984, 900, 0, 1, 0),
    ]
    found = packets.sheet(log(packets, rows), 8000)
    assert found.start.tolist() == [0.0, 1.0, 5.0]
    assert found.idle.tolist() == [0.0, 0.0, 3.0]
    assert found.waiting.tolist() == [0, 1, 0]


def test_drops_are_one_overflow_until_the_buffer_has_drained(modules):
    packets = modules["common.packets"]

    def overflows(*steps: tuple[float, int]) -> float:
        return packets.look(log(packets, [(time, 984, 900, 0, 0, lost) for time, lost in steps]), 8000)[
            "overflows"
        ]

    # A packet takes a second; three wait, a fourth is dropped.
    full = [(0.0, 0)] * 4
    assert overflows(*full) == 0
    assert overflows(*full, (0.0, 1), (0.5, 1)) == 1
    assert overflows(*full, (0.0, 1), (1.0, 0), (1.0, 1)) == 1
    assert overflows(*full, (0.0, 1), (3.5, 0), (3.5, 0), (3.5, 0), (3.5, 1)) == 2


def test_what_opens_and_closes(modules):
    packets = modules["common.packets"]
    synack, ack, fin = 0x12, 0x10, 0x11
    rows = [
        (0.0, 60, 0, synack, 0, 0),
        (1.0, 60, 0, synack, 1, 0),
        (2.0, 60, 0, synack, 1, 0),
        (3.0, 1052, 1000, ack, 0, 0),
        (4.0, 52, 0, fin, 0, 0),
        (5.0, 1052, 1000, fin, 1, 0),
        # A retransmission is carried again.
        (6.0, 52, 0, ack, 0, 0),
        (6.0, 52, 0, ack, 1, 0),
        (7.0, 52, 0, ack, 1, 0),
        (7.0, 52, 0, fin, 0, 0),
    ]
    seen = packets.look(log(packets, rows), 1e6)
    assert seen["overhead"] == 3 * 76 + 5 * 68
    # The FIN of the second rides with data.
    assert seen["counted"] == 3 * 76 + 6 * 68
    assert seen["synacks"] == 2.0
    assert seen["idle"] == pytest.approx(5.0 - (3 * 76 + 1068 + 68) * 8e-6)


SCENARIO = """
duration = "60 s"
[[link]]
name = "down"
from = "server"
to = "client"
rate = "60 kbit/s"
delay = "180 ms"
queue = { kind = "droptail", packets = 50 }
both = true
[[flow]]
name = "page"
from = "server"
to = "client"
protocol = "tcp"
engine = "linux-2.4"
traffic = { kind = "objects", bytes = "30 kB", objects = 30, message = "1400 B" }
[record]
packets = ["down"]
"""


def test_the_line_works_as_long_as_the_sheet_says():
    """The simulator's own count of how long its line was busy, and the sheet's from the packets."""
    outcome = simulation.simulate(SCENARIO, 1, trace=True)
    link = outcome.summary["links"][0]
    rows = [row for row in outcome.trace.to_pylist() if row["kind"] == "offered"]
    assert len(rows) == link["arrivals"]
    assert sum(row["a"] for row in rows) == 30_000
    busy = sum(row["size"] for row in rows) * 8 / 60_000
    assert link["utilisation"] * 60 == pytest.approx(busy, rel=1e-6)
    objects = outcome.summary["objects"]
    assert [each["object"] for each in objects] == list(range(30))
    assert all(each["open_s"] < each["first_byte_s"] <= each["completion_s"] for each in objects)
