"""The claims about what the packets say: idle times, overhead, SYN-ACKs, and the arithmetic of Tables 5.2 and 5.3."""

import numpy as np

from anabranch_lab import stats
from anabranch_lab.judge.claims import (
    Claim,
    ClaimBuilder,
    Explanation,
    Part,
    arithmetic,
    condition,
    exact,
    number,
)
from anabranch_lab.run.grid import Grid

from ..common.packets import SYN, Log, sheet
from ..common.pages import NETWORKS, OBJECTS, STACKS, longer
from . import printed


def claims(
    builder: ClaimBuilder,
    runs: Grid,
    packets: Grid,
    variants: dict[str, Grid],
    logs: dict[str, dict[int, Log]],
) -> list[Claim]:
    """The claims of the catalogue that name this experiment."""
    return [
        hundred(builder, runs, packets),
        three_hundred(builder, runs, packets),
        overhead(builder, packets, variants),
        synacks(builder, packets),
        table_5_1(builder, logs),
        table_5_2(builder),
        table_5_3(builder),
    ]


def idle(runs: Grid, packets: Grid, network: str, scenario: str) -> stats.Estimate:
    """Percent of R2 in which the line had nothing to send."""
    whole = runs.sample("R2", network=network, scenario=scenario, protocol="TCP")
    return (packets.sample("idle", network=network, scenario=scenario) / whole * 100.0).estimate


def hundred(builder: ClaimBuilder, runs: Grid, packets: Grid) -> Claim:
    """A-MS7."""
    parts: list[Part] = [
        number(f"{network}, % idle", value, idle(runs, packets, network, "MS 7"), 8.0)
        for network, value in printed.IDLE["MS 7"].items()
    ]
    return builder.claim("A-MS7", parts, engines=STACKS)


def three_hundred(builder: ClaimBuilder, runs: Grid, packets: Grid) -> Claim:
    """A-MS8."""
    parts: list[Part] = [
        number(f"{network}, R2, % longer", value, longer(runs, network, "MS 8").estimate, 4.0)
        for network, value in printed.LONGER_MS_8.items()
    ]
    parts += [
        number(f"{network}, % idle", value, idle(runs, packets, network, "MS 8"), 4.0)
        for network, value in printed.IDLE["MS 8"].items()
    ]
    return builder.claim("A-MS8", parts, engines=STACKS)


def overhead(builder: ClaimBuilder, packets: Grid, variants: dict[str, Grid]) -> Claim:
    """A-OV."""

    def part(source: Grid, network: str, scenario: str) -> Part:
        counted = source.sample("counted", network=network, scenario=scenario).estimate
        at = f"{network}, {scenario}, B"
        if network == "GSM":
            value = printed.OVERHEAD_GSM[scenario]
            return number(at, value, counted, 0.2 * value)
        return number(at, 212.0 * OBJECTS[scenario], counted, 0.0)

    patient = variants["patient"]
    return builder.claim(
        "A-OV",
        [
            part(packets, network, scenario)
            for network in NETWORKS
            for scenario, objects in OBJECTS.items()
            if objects >= 5
        ],
        engines=STACKS,
        note="Counted as in Fig. 5.3, where the FIN is a packet of 68 bytes; in Table 5.1 it rides with the last data.",
        explanation=Explanation(
            "With 5 and 10 connections the queue in front of the lines of Modem and B1 is longer than 3 s, and SYN-ACKs are sent "
            "again there too, unless they wait longer for an answer.",
            runs=("patient",),
            parts=tuple(
                part(patient, network, scenario)
                for network in ("Modem", "B1")
                for scenario in ("MS 3", "MS 4")
            ),
        ),
    )


def synacks(builder: ClaimBuilder, packets: Grid) -> Claim:
    """A-SA."""
    parts: list[Part] = [
        number(
            f"{scenario}, copies for a connection",
            value,
            packets.sample("synacks", network="GSM", scenario=scenario).estimate,
            1.0,
        )
        for scenario, value in printed.SYNACKS_GSM.items()
    ]
    return builder.claim("A-SA", parts, engines=STACKS)


def rows_5_1(log: Log) -> dict[str, float]:
    """What Table 5.1 shows of MS 6 over B1."""
    rows = sheet(log, NETWORKS["B1"].down)
    gaps = rows.idle[rows.idle > 0.005]
    opened = rows.end[(log.kind[~log.dropped] & SYN) != 0]
    return {
        "first": float(gaps[0]),
        "second": float(gaps[1]),
        "third": float(gaps[2]),
        "period": float(np.median(np.diff(opened[1:]))),
    }


def table_5_1(builder: ClaimBuilder, logs: dict[str, dict[int, Log]]) -> Claim:
    """A-T51."""
    seen = {name: [rows_5_1(log) for log in found.values()] for name, found in logs.items()}

    def measured(sweep: str, name: str) -> stats.Estimate:
        return stats.estimate([row[name] for row in seen[sweep]])

    values = {"first": 0.373, "second": 0.160, "third": 0.159, "period": 1.014}
    texts = {
        "first": "first gap",
        "second": "second gap",
        "third": "third gap",
        "period": "period of a connection",
    }

    def parts(sweep: str) -> list[Part]:
        return [
            number(f"{texts[name]}, s", value, measured(sweep, name), 0.002) for name, value in values.items()
        ]

    return builder.claim(
        "A-T51",
        parts("packets"),
        engines=STACKS,
        note="Both variants have values that were fitted to the printed ones: they say what it would take, not why it is so.",
        explanation=[
            Explanation(
                "The printed first connection is 8 ms later than its packets take on the line, the second 1 ms: the server's first process "
                "started slowly.",
                runs=("slow-server",),
                parts=tuple(parts("slow-server")),
            ),
            Explanation(
                "The printed period is 0.6 % longer than its bytes take on a line of 60 kbit/s.",
                runs=("slow-line",),
                parts=tuple(parts("slow-line")),
            ),
        ],
    )


def table_5_2(builder: ClaimBuilder) -> Claim:
    """A-T52: every row again, but the one that cannot be."""
    parts: list[Part] = []
    for name, (product, *data, both) in printed.TABLE_5_2.items():
        network = NETWORKS[name]
        up = printed.MODEM_UP if name == "Modem" else network.up
        # A round trip at the mean rate of both directions.
        parts.append(
            arithmetic(f"{name}, product, B", product, (network.down + up) * network.delay / 8, 0.05)
        )
        for packets, seconds in enumerate(data, start=1):
            lasts = packets * 1468 * 8 / network.down
            parts.append(arithmetic(f"{name}, {packets} data packets, s", seconds, lasts, 0.000501))
        answered = 1468 * 8 / network.down + 68 * 8 / up + 2 * network.delay
        parts.append(arithmetic(f"{name}, data and ACK, s", both, answered, 0.000501))
    wrong = "Modem, 3 data packets, s"
    missed = ", ".join(part.at for part in parts if not part.holds)
    kept = [part for part in parts if part.at != wrong]
    with_uplink = 3 * 1468 * 8 / printed.MODEM_UP
    printed_there = printed.TABLE_5_2["Modem"][3]
    kept.append(
        arithmetic("Modem, 3 data packets at the rate of the uplink, s", printed_there, with_uplink, 0.000501)
    )
    kept.append(condition("rows that cannot be computed", wrong, missed, missed == wrong))
    return builder.claim("A-T52", kept)


def table_5_3(builder: ClaimBuilder) -> Claim:
    """A-T53."""
    parts: list[Part] = []
    for chunks, (tcp, sctp, percent) in printed.TABLE_5_3.items():
        # TCP: 20 bytes of header and 12 of timestamps each; SCTP: 12 of common header, 16 for each chunk.
        mine = (32 * chunks, 12 + 16 * chunks)
        parts.append(exact(f"{chunks} chunks, B", (tcp, sctp), mine))
        parts.append(exact(f"{chunks} chunks, %", percent, round(100 * (mine[0] - mine[1]) / mine[1])))
    return builder.claim("A-T53", parts)
