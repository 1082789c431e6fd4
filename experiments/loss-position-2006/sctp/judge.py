"""The claims about SCTP: the losses for which the two stacks need a timer, its time, and their needless retransmissions."""

from collections.abc import Mapping
from typing import Any

from anabranch_lab.judge.claims import Claim, ClaimBuilder
from anabranch_lab.judge.comparison import Measured
from anabranch_lab.run.grid import Grid, Sample
from anabranch_lab.stats import unpaired

from ..common import printed
from ..common.flows import SETS, TIMER, Row, Table, text, trip
from ..common.pictures import Record
from .figures import BURST, FIGURES_22_23, surplus

CASES = ("baseline", "initial RTO 1 s", "minimum RTO 200 ms", "minimum RTO 3 ms")
ANSWER = 48
"""Bytes of a packet with a SACK."""
START = "KAME, high, none lost, minimum RTO 200 ms"
"""The recorded flow whose start section 6.4.1 describes."""


def claims(
    builder: ClaimBuilder,
    kame: Table,
    lksctp: Table,
    whole: Grid,
    race: Grid,
    records: Mapping[str, Record],
) -> list[Claim]:
    """The claims of the catalogue that name this experiment."""

    def was(table: Table, case: str, display: str) -> Row:
        """The rows of a stack with its mistakes."""
        return table.at(stack="as it was", case=case, display=display)

    rows, linux = (
        {case: {display: was(table, case, display) for display in SETS} for case in CASES}
        for table in (kame, lksctp)
    )
    no_start = {
        at: value for at, value in minimum(rows, CASES[3], records[START]).items() if "first" not in at
    }

    def claim(identifier: str, stack: str, measured: Mapping[str, Measured], **more: Any) -> Claim:
        return builder.claim(identifier, measured, engine=stack, **more)

    both = "kame-2006-bugs", "lksctp-2006-bugs"
    spurious_5, spurious_8 = (spurious(records[f"LKSCTP, low, {k} lost"]) for k in (5, 8))
    return [
        claim("H-S-1", " ".join(both), faster(whole)),
        claim("H-S-2", both[0], kame_baseline(rows["baseline"])),
        claim("H-S-3", both[0], dip(rows["baseline"]["high"])),
        claim("H-S-4", both[1], lksctp_baseline(linux["baseline"])),
        claim("H-S-5", both[0], initial(rows, others=True)),
        claim(
            "H-S-6",
            both[1],
            {
                **initial(linux, others=False),
                "medium, 3 lost: extra time, ms": linux["initial RTO 1 s"]["medium"].extra(3),
            },
        ),
        claim(
            "H-S-7",
            both[0],
            minimum(rows, CASES[2], records[START]),
            readings={"minimum RTO of 3 ms (Table 5)": no_start},
            note="The report did not find out why 5 is slow: its timer does not back off there, and nowhere else.",
        ),
        claim(
            "H-S-8",
            both[1],
            late(linux, race, CASES[2]),
            readings={"minimum RTO of 3 ms (Table 6)": late(linux, race, CASES[3])},
        ),
        claim(
            "H-F20",
            both[1],
            {
                "5 lost: sent again although it had arrived": len(spurious_5),
                # The first DATA is the third packet.
                "8 lost: packets sent again although they had arrived": text([n + 2 for n in spurious_8]),
            },
        ),
        claim(
            "H-F22",
            both[0],
            bursts(records),
            note=f"A SACK that waits 200 ms for a second packet cuts a burst in two. Packets of the bursts: {sizes(records)}.",
        ),
        *(
            builder.claim(each, {runs: str(printed.RUNS[runs])}, note="An erratum of the table: one too few.")
            for each, runs in (("H-TAB5", "7 x 8 x 21 x 3"), ("H-TAB6", "7 x 8 x 21 x 3"))
        ),
    ]


def yes(holds: bool) -> str:
    """`yes` or `no`."""
    return "yes" if holds else "no"


def faster(whole: Grid) -> dict[str, Measured]:
    """H-S-1."""
    cells = {(b, d): more for b, row in surplus(whole).items() for d, more in row.items()}
    most = max(cells, key=lambda cell: cells[cell])
    return {
        "10 Mbit/s, 5 ms: % more": cells[10000, 5],
        "where most: kbit/s, ms": f"{most[0]}, {most[1]}",
        "least of all cells: % more": min(cells.values()),
    }


def waiting(row: Row, positions: range) -> dict[str, Measured]:
    """Whether a loss waits for a timer at medium, by position."""
    return {f"medium, {k} lost: waits for a timer": yes(row.repair(k) == TIMER) for k in positions}


def kame_baseline(rows: Mapping[str, Row]) -> dict[str, Measured]:
    """H-S-2."""
    return {
        **{f"{display}, 3 lost: extra time, ms": row.extra(3) for display, row in rows.items()},
        **waiting(rows["medium"], range(4, 20)),
        "medium, 2 lost: extra time, ms": rows["medium"].extra(2),
    }


def dip(row: Row) -> dict[str, Measured]:
    """H-S-3."""
    return {
        f"t({k}) less t(10), round trips": (row[k].time - row[10].time) / trip("high", ANSWER)
        for k in (9, 11)
    }


def dips(row: Row, least: float) -> list[int]:
    """Positions whose flow is faster by `least` than those of both neighbours, or of a pair's two."""
    found = []
    for k in range(4, 15):
        for width in (1, 2):
            inside = range(k, k + width)
            sides = (row[k - 1].time, row[k + width].time)
            if all(row[each].time + least <= side for each in inside for side in sides):
                found += inside
    return sorted(set(found))


def lksctp_baseline(rows: Mapping[str, Row]) -> dict[str, Measured]:
    """H-S-4."""
    low, medium, high = (rows[display] for display in SETS)
    fast = dips(high, trip("high", ANSWER) / 2)
    return {
        **waiting(medium, range(1, 20)),
        "medium, 2 lost: extra time, ms": medium.extra(2),
        **{f"high, {k} lost: a dip": yes(k in fast) for k in range(4, 15)},
        **{f"low, {k} lost: more than 1 s slower": yes(low.extra(k) > 1000) for k in range(4, 15)},
    }


def initial(rows: Mapping[str, Mapping[str, Row]], *, others: bool) -> dict[str, Measured]:
    """The effect of an initial RTO of 1 s at position 1, and at the others."""
    found: dict[str, Measured] = {}
    for display in SETS:
        plain, short = rows["baseline"][display], rows["initial RTO 1 s"][display]
        found[f"{display}, 1 lost: ms less"] = plain[1].time - short[1].time
        if others:
            for k in range(2, 21):
                found[f"{display}, {k} lost: relative change"] = short[k].time / plain[k].time - 1
    return found


def minimum(rows: Mapping[str, Mapping[str, Row]], case: str, start: Record) -> dict[str, Measured]:
    """H-S-7."""
    low, medium, high = ((rows["baseline"][display], rows[case][display]) for display in SETS)
    others = max(low[1][k].time for k in range(2, 21) if k != 5)
    early = before_a_sack(start)
    return {
        **{f"medium, {k} lost: ms faster": medium[0][k].time - medium[1][k].time for k in (3, 16, 17, 18)},
        "medium, none lost: packets more": str(medium[1][0].packets - medium[0][0].packets),
        "low, none lost: time over that of the baseline": low[1][0].time / low[0][0].time,
        "low: share of the positions that are slower": sum(low[1][k].time > low[0][k].time for k in low[0])
        / len(low[0].flows),
        "low, none lost: packets more": str(low[1][0].packets - low[0][0].packets),
        "low, 5 lost: time over that of the slowest other behind the handshake": low[1][5].time / others,
        "high, none lost: ms faster": high[0][0].time - high[1][0].time,
        "high, none lost: packets more before the first SACK": str(len(early)),
        "high, none lost: when the first of them is sent, ms after the first data": early[0]
        if early
        else float("nan"),
    }


def before_a_sack(record: Record) -> list[float]:
    """Milliseconds after the first data at which further packets were sent, before any SACK had come."""
    first, *more = (event["time"] for event in record.sent)
    acknowledged = min(event["time"] for event in record.of("sender", "ack"))
    return [1000 * (time - first) for time in more if time < acknowledged]


def late(rows: Mapping[str, Mapping[str, Row]], race: Grid, case: str) -> dict[str, Measured]:
    """H-S-8: the gain of a lower minimum RTO for the last packets, and the race of the two timers for a lost COOKIE ACK."""
    plain, short = rows["baseline"]["medium"], rows[case]["medium"]
    gains = {f"medium, {k} lost: ms faster": plain[k].time - short[k].time for k in range(15, 20)}
    return {**gains, **timers(race, case)}


def timers(race: Grid, case: str) -> dict[str, Measured]:
    """The lost COOKIE ACK at low, seed by seed: the client's timer comes first, or the server's."""
    extra, again = (
        {
            each: race.sample(name, case=each, position=2) - race.sample(name, case=each, position=0)
            for each in ("baseline", case)
        }
        for name in ("time", "again")
    )
    copies, times = again["baseline"], extra["baseline"].values
    fewest, changed = min(copies.values), extra[case] - extra["baseline"]
    more = [each > fewest for each in copies.values]
    fast, slow = (
        [time for time, late in zip(times, more, strict=True) if late == of] for of in (False, True)
    )
    return {
        "low, 2 lost: ms that the order of the timers decides about": unpaired(slow, fast),
        "low, 2 lost: retransmissions that it decides about": f"{max(copies.values) - fewest:g}",
        "low, 2 lost: share of the runs that send more again": Sample(
            copies.seeds, tuple(map(float, more)), copies.least
        ),
        "low, 2 lost: what the minimum RTO changes where hosts take the same times, ms": Sample(
            changed.seeds, tuple(abs(value) for value in changed.values)
        ),
    }


def spurious(record: Record) -> list[int]:
    """Chunks that were sent again although an earlier copy arrived, by number, each as often as it was."""
    return sorted(
        event["number"] for event in record.of("receiver", "received") if event["reason"] == "duplicate"
    )


def bursts(records: Mapping[str, Record]) -> dict[str, Measured]:
    """H-F22."""
    return {
        f"{place.split(', ')[-1]}: bursts": str(len(records[place].bursts(BURST))) for place in FIGURES_22_23
    }


def sizes(records: Mapping[str, Record]) -> str:
    """Packets of each burst."""
    return "; ".join(
        f"{place.split(', ')[-1]}: {', '.join(str(len(burst)) for burst in records[place].bursts(BURST))}"
        for place in FIGURES_22_23
    )
