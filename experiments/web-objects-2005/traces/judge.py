"""Judges of the claims about packets: idle times, overhead, SYN-ACKs, and the arithmetic of Tables 5.2 and 5.3."""

from collections.abc import Mapping

import numpy as np

from anabranch_lab import stats
from anabranch_lab.judge.claims import Claim, ClaimBuilder
from anabranch_lab.judge.comparison import Measured
from anabranch_lab.run.grid import Grid

from ..common.packets import CAPTURE_HEADER, SYN, Log, sheet
from ..common.pages import LEFT_OPEN, NETWORKS, OBJECTS, idle, longer

DATA, ACK = 1452 + CAPTURE_HEADER, 52 + CAPTURE_HEADER
"""Bytes of a data packet of the thesis and of one that only acknowledges."""
MODEM_UP = 33_000
"""Bits per second of the Modem's uplink in Table 5.2; the runs have 33.6 kbit/s as in Table 4.4."""
ANOTHER = "a FIN that rides with data counts as a packet of its own (Fig. 5.3)"
Times = tuple[Grid, Grid]
"""R1 and R2 of runs, and measures of their packets."""
Logs = Mapping[int, Log]


def claims(builder: ClaimBuilder, seen: Times, left_open: Times, logs: tuple[Logs, Logs]) -> list[Claim]:
    """The claims of the catalogue that name this experiment; the second of two is the other reading."""
    _, packets = seen
    mine, other = logs
    return [
        builder.claim("A-MS7", hundred(*seen), readings={LEFT_OPEN: hundred(*left_open)}),
        builder.claim("A-MS8", three_hundred(*seen), readings={LEFT_OPEN: three_hundred(*left_open)}),
        builder.claim(
            "A-OV",
            overhead(packets, "overhead"),
            readings={ANOTHER: overhead(packets, "counted")},
            note="Every packet without user data that the line carries. In Table 5.1 the FIN rides with the last data. With 5 and 10 "
            "connections SYN-ACKs wait more than 3 s on Modem and B1 and are sent again.",
        ),
        builder.claim(
            "A-SA",
            {
                f"{scenario}, copies for a connection": packets.sample(
                    "synacks", network="GSM", scenario=scenario
                )
                for scenario in ("MS 3", "MS 5", "MS 6", "MS 8")
            },
        ),
        builder.claim("A-T51", table_5_1(mine), readings={LEFT_OPEN: table_5_1(other)}),
        builder.claim("A-T52", table_5_2()),
        builder.claim("A-T53", table_5_3()),
    ]


def hundred(runs: Grid, packets: Grid) -> dict[str, Measured]:
    """The values for claim A-MS7."""
    return {f"{network}, % idle": idle(runs, packets, network, "MS 7") for network in NETWORKS}


def three_hundred(runs: Grid, packets: Grid) -> dict[str, Measured]:
    """The values for claim A-MS8."""
    return {
        **{f"{network}, R2, % longer": longer(runs, network, "MS 8") for network in NETWORKS},
        **{f"{network}, % idle": idle(runs, packets, network, "MS 8") for network in NETWORKS},
    }


def overhead(packets: Grid, measure: str) -> dict[str, Measured]:
    """The values for claim A-OV."""
    return {
        f"{network}, {scenario}, B": packets.sample(measure, network=network, scenario=scenario)
        for network in NETWORKS
        for scenario in list(OBJECTS)[2:]
    }


def rows_5_1(log: Log) -> dict[str, float]:
    """The values of Table 5.1: MS 6 over B1."""
    rows = sheet(log, NETWORKS["B1"].down)
    gaps = rows.idle[rows.idle > 0.005]
    opened = rows.end[(log.kind[~log.dropped] & SYN) != 0]
    return {
        "first gap": float(gaps[0]),
        "second gap": float(gaps[1]),
        "third gap": float(gaps[2]),
        "period of a connection": float(np.median(np.diff(opened[1:]))),
    }


def table_5_1(logs: Logs) -> dict[str, Measured]:
    """The values for claim A-T51."""
    seen = [rows_5_1(log) for log in logs.values()]
    return {f"{name}, s": stats.estimate([row[name] for row in seen]) for name in seen[0]}


def table_5_2() -> dict[str, Measured]:
    """Every row again."""
    found: dict[str, Measured] = {}
    for name, network in NETWORKS.items():
        up = MODEM_UP if name == "Modem" else network.up
        # A round trip at the mean rate of both directions.
        found[f"{name}, product, B"] = (network.down + up) * network.delay / 8
        for packets in (1, 2, 3):
            wrong = name == "Modem" and packets == 3
            at = f"{name}, {packets} data packets" + (" at the rate of the uplink" if wrong else "")
            found[f"{at}, s"] = packets * DATA * 8 / (up if wrong else network.down)
        found[f"{name}, data and ACK, s"] = DATA * 8 / network.down + ACK * 8 / up + 2 * network.delay
    return found


def table_5_3() -> dict[str, Measured]:
    """TCP: 20 bytes of header and 12 of timestamps each; SCTP: 12 of common header, 16 for each chunk."""
    found: dict[str, Measured] = {}
    for chunks in range(1, 6):
        tcp, sctp = 32 * chunks, 12 + 16 * chunks
        found[f"{chunks} chunks, B"] = f"{tcp} / {sctp}"
        found[f"{chunks} chunks, %"] = str(round(100 * (tcp - sctp) / sctp))
    return found
