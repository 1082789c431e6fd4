"""The calculations of section 5.3.1 on a log of packets, by a spreadsheet: idle times of the line, the buffer in front of it, and
bytes other than user data.

A row is a packet that the server sent, with the time at which it reached the queue. Knowing the rate of the line one knows
when it is sent: not before the packet in front of it has left.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from anabranch_lab.run import work
from anabranch_lab.run.grid import Grid
from anabranch_lab.run.results import Results

from .pages import LINK, NETWORKS

CAPTURE_HEADER = 16
"""Bytes that a Linux cooked capture adds to an IP packet; every size in the thesis has them (1468, 76, 68)."""
FIN, SYN, ACK = 0x01, 0x02, 0x10
"""Flags of a TCP header."""
ALONE = 52
"""Bytes of a TCP segment with timestamps and nothing else, with its IP header."""


@dataclass(frozen=True)
class Log:
    """Packets in the order in which they reached the queue of a link; arrays of the same length."""

    time: np.ndarray
    """Seconds since the first packet."""
    size: np.ndarray
    """Bytes with the IP header."""
    user: np.ndarray
    """Bytes of user data."""
    kind: np.ndarray
    """Flags of a TCP segment, type of the first chunk of an SCTP packet."""
    flow: np.ndarray
    """Number of the connection, from 0."""
    dropped: np.ndarray
    """Whether the queue had no room."""


@dataclass(frozen=True)
class Sheet:
    """Table 5.1, a row for each packet that was sent."""

    time: np.ndarray
    start: np.ndarray
    end: np.ndarray
    idle: np.ndarray
    """Seconds for which the line had nothing to send before this packet; 0 for the first."""
    waiting: np.ndarray
    """Packets that have not left the line when this one comes."""


def sheet(log: Log, rate: float, header: int = CAPTURE_HEADER) -> Sheet:
    """The spreadsheet of a line of `rate` bits per second; packets that were dropped use none of it."""
    kept = ~log.dropped
    time, size = log.time[kept], log.size[kept] + header
    start, end = np.empty(time.size), np.empty(time.size)
    free = -np.inf
    for row, (at, lasts) in enumerate(zip(time, size * 8 / rate, strict=True)):
        start[row] = max(at, free)
        free = end[row] = start[row] + lasts
    idle = np.zeros(time.size)
    idle[1:] = start[1:] - end[:-1]
    # The number of earlier packets whose transmission ends after the arrival of this one; the ends are ascending.
    waiting = np.arange(time.size) - np.searchsorted(end, time, side="right")
    return Sheet(time, start, end, idle, np.maximum(waiting, 0))


QUERY = f"""
SELECT seed, time_ns / 1e9 AS time, kind = 'dropped' AS dropped, size, a AS user, b AS what, seq,
       CAST(regexp_extract(flow, '[0-9]+$') AS INTEGER) - 1 AS connection
FROM runs WHERE kind IN ('offered', 'dropped') AND entity = 'link:{LINK}'
ORDER BY seed, time_ns, seq
"""


def logs(results: Results, sweep: str, at: Mapping[str, Any]) -> dict[int, Log]:
    """The packets that the server sent in every run at one point, by seed."""
    table = results.table(sweep, QUERY, kind=work.TRACE, at=at)
    column = {name: table.column(name).to_numpy() for name in table.column_names}
    found = {}
    for seed in np.unique(column["seed"]):
        of_seed = column["seed"] == seed
        offered, lost = of_seed & ~column["dropped"], of_seed & column["dropped"]
        time = column["time"][offered]
        found[int(seed)] = Log(
            time - time[0],
            column["size"][offered].astype(int),
            column["user"][offered].astype(int),
            column["what"][offered].astype(int),
            column["connection"][offered],
            np.isin(column["seq"][offered], column["seq"][lost]),
        )
    return found


def look(log: Log, rate: float) -> dict[str, float]:
    """The measures of one log."""
    rows = sheet(log, rate)
    data = np.flatnonzero(log.user[~log.dropped])
    synacks = log.flow[(log.kind & (SYN | ACK)) == (SYN | ACK)]
    others = len(np.unique(log.flow)) - 1
    kept = ~log.dropped
    alone = float((log.size + CAPTURE_HEADER)[kept & (log.user == 0)].sum())
    riding = np.count_nonzero(kept & (log.user > 0) & ((log.kind & FIN) != 0))
    return {
        # Seconds without work from the first packet to the last with user data.
        "idle": float(rows.idle[: data[-1] + 1].sum()),
        # Seconds without work once the first ten packets are under way.
        "gaps": float(rows.idle[10 : data[-1] + 1].sum()),
        # Bytes of packets without user data: they open and close connections.
        "overhead": alone,
        # Overhead as in Fig. 5.3: a FIN that rides with data counts as a packet of its own.
        "counted": alone + float((ALONE + CAPTURE_HEADER) * riding),
        # Copies of the SYN-ACK for each connection but the first.
        "synacks": float(np.count_nonzero(synacks > 0) / others) if others else np.nan,
        "waiting": float(rows.waiting.max()),
        "overflows": float(_overflows(log, rows)),
    }


def _overflows(log: Log, rows: Sheet) -> int:
    """The number of overflows: drops belong to one overflow until the buffer has been less than half of its maximum."""
    lost = np.flatnonzero(log.dropped)
    # The number of packets kept before each loss: kept packets are the rows of the sheet.
    kept = np.searchsorted(np.flatnonzero(~log.dropped), lost)
    relieved = rows.waiting < rows.waiting.max() / 2
    return int(lost.size > 0) + sum(
        bool(relieved[before:after].any()) for before, after in itertools.pairwise(kept)
    )


def measure(results: Results, sweep: str) -> Grid:
    """The measures of `look`, for every run of a sweep with the axes network and scenario; TCP."""
    cells: dict[tuple, dict[str, list]] = {}
    names: tuple[str, ...] = ()
    for point, _ in results.points(results.plan.sweep(sweep)):
        cell: dict[str, list] = {"seed": []}
        for seed, log in logs(results, sweep, point.at).items():
            seen = look(log, NETWORKS[point.at["network"]].down)
            names = tuple(seen)
            cell["seed"].append(seed)
            for name, value in seen.items():
                cell.setdefault(name, []).append(value)
        cells[(point.at["network"], point.at["scenario"])] = cell
    return Grid(("network", "scenario"), names, cells)
