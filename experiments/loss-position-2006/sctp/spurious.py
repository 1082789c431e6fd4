"""The claims about retransmissions of what had arrived, and about bursts."""

from collections.abc import Mapping, Sequence

from anabranch_lab.catalogue import ClaimBuilder
from anabranch_lab.claims import Claim, condition, exact

from ..common.flows import Table, text
from ..common.pictures import Record
from .figures import BURST, PRINTED_BURSTS
from .judge import KAME, LKSCTP, was


def claims(
    builder: ClaimBuilder,
    stacks: Mapping[str, Table],
    mistakes: Mapping[str, Table],
    records: Mapping[str, Record],
    late: Mapping[str, Sequence[float]],
) -> list[Claim]:
    """The claims of the catalogue that name this experiment."""
    return [
        kame_minimum(builder, stacks["KAME"]),
        lksctp_minimum(builder, stacks["LKSCTP"], late),
        whole_flight(builder, records),
        bursts(builder, records),
    ]


def kame_minimum(builder: ClaimBuilder, kame: Table) -> Claim:
    """H-S-7."""
    case = "minimum RTO 200 ms"
    low, medium, high = (
        (was(kame, "baseline", display), was(kame, case, display)) for display in ("low", "medium", "high")
    )
    parts = [
        condition(
            f"medium, {k}",
            "faster",
            f"{medium[1][k].time - medium[0][k].time:+.0f} ms",
            medium[1][k].time < medium[0][k].time,
        )
        for k in (3, 16, 17, 18)
    ]
    parts += [
        exact("medium, none lost: packets more", 1, medium[1][0].packets - medium[0][0].packets),
        condition(
            "low: slower",
            "everywhere",
            text([k for k in low[0] if low[1][k].time > low[0][k].time]),
            all(low[1][k].time > low[0][k].time for k in low[0]),
        ),
        exact("low, none lost: packets more", 3, low[1][0].packets - low[0][0].packets),
        exact(
            "low: the slowest position behind the handshake",
            5,
            max(range(2, 21), key=lambda k: low[1][k].time),
        ),
        condition(
            "high, none lost",
            "faster",
            f"{high[1][0].time - high[0][0].time:+.0f} ms",
            high[1][0].time < high[0][0].time,
        ),
    ]
    dearest = max(low[1], key=lambda k: low[1][k].time)
    return builder.claim(
        "H-S-7",
        parts,
        engines=KAME,
        note=f"At low the slowest position is {dearest}, with {low[1][dearest].time / 1000:.1f} s; the report has 5.",
        evidence=("kame-mistakes",),
    )


def lksctp_minimum(builder: ClaimBuilder, lksctp: Table, late: Mapping[str, Sequence[float]]) -> Claim:
    """H-S-8."""
    plain, short = (was(lksctp, case, "medium") for case in ("baseline", "minimum RTO 200 ms"))
    faster = [k for k in range(15, 20) if short[k].time < plain[k].time]
    spread = {case: max(values) - min(values) for case, values in late.items()}
    return builder.claim(
        "H-S-8",
        [
            exact("medium: faster", "15-19", text(faster)),
            *(
                condition(
                    f"low, 2, {case}, hosts that take up to 10 ms: spread of 30 runs",
                    "at least a packet's time, 300 ms",
                    f"{width:.0f} ms",
                    width >= 300,
                )
                for case, width in spread.items()
            ),
        ],
        engines=LKSCTP,
        evidence=("race",),
    )


def spurious(record: Record) -> list[int]:
    """Chunks that were sent again although an earlier copy arrived, by number, each as often as it was."""
    arrived = [
        event["number"] for event in record.of("receiver", "received") if event["reason"] == "duplicate"
    ]
    return sorted(arrived)


def whole_flight(builder: ClaimBuilder, records: Mapping[str, Record]) -> Claim:
    """H-F20."""
    fifth, eighth = (records[f"LKSCTP, low, {k} lost"] for k in (5, 8))
    found = spurious(fifth)
    again = [event["number"] for event in eighth.sent if event["reason"]]
    return builder.claim(
        "H-F20",
        [
            condition(
                "5 lost: sent again although it had arrived", ">= 10", str(len(found)), len(found) >= 10
            ),
            exact("8 lost: sent again although it had arrived", 2, len(spurious(eighth))),
            exact("8 lost: sent again in all", 3, len(again)),
        ],
        engines=LKSCTP,
        evidence=("lksctp-mistakes",),
    )


def bursts(builder: ClaimBuilder, records: Mapping[str, Record]) -> Claim:
    """H-F22."""
    return builder.claim(
        "H-F22",
        [
            exact(f"{place.split(', ')[-1]}: bursts", wanted, len(records[place].bursts(BURST)))
            for place, wanted in PRINTED_BURSTS.items()
        ],
        engines=KAME,
        note="A SACK that waits 200 ms for a second packet cuts a burst in two; the report counts bursts by eye.",
        evidence=("kame-mistakes",),
    )
