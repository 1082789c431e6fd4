"""The claims about TCP."""

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

from anabranch_lab.judge.claims import Claim, ClaimBuilder
from anabranch_lab.judge.comparison import Measured

from ..common import printed
from ..common.flows import SETS, TIMER, Row, Table, text, trip
from ..common.pictures import Record

CASES = ("baseline", "inflight", "no limited transmit", "minimum RTO 1 s", "initial window 1")
ANSWER = 52
"""Bytes of an acknowledgement."""
PEAKS = 12, 17
"""The positions of the report's two peaks at low."""


def claims(
    builder: ClaimBuilder, runs: Table, ruled: Row, linux: Table, records: Mapping[str, Record]
) -> list[Claim]:
    """The claims of the catalogue that name this experiment. `ruled` are flows at medium without SACK and mistakes."""

    def claim(identifier: str, measured: Mapping[str, Measured], note: str = "") -> Claim:
        return builder.claim(identifier, measured, engine="freebsd-6.0", note=note)

    def was(case: str, display: str) -> Row:
        return runs.at(stack="as it was", case=case, display=display)

    rows = {case: [was(case, display) for display in SETS] for case in CASES}
    (low, medium, high), limited, raised = (
        rows[case] for case in ("baseline", "inflight", "minimum RTO 1 s")
    )
    clean = runs.at(stack="without mistakes", case="baseline", display="low")
    early, middle = ([high[k].time for k in positions] for positions in (range(2, 5), range(6, 15)))
    wait, by = lost_segment(records["low, 12 lost"])
    return [
        claim(
            "H-T-1",
            {f"{display}, ms": row.extra(1) for display, row in zip(SETS, rows["baseline"], strict=True)},
        ),
        claim(
            "H-T-2",
            {
                **{f"{k} lost: repaired by": medium.repair(k) for k in range(2, 21)},
                **{f"by the rules, {k} lost: repaired by": ruled.repair(k) for k in range(16, 20)},
            },
        ),
        claim(
            "H-T-3",
            {
                **at_peaks("", low),
                "other peaks": text([k for k in peaks(low) if k not in PEAKS]),
                # The first timeout of every flow is needless.
                **{f"{k} lost: repaired by": low.repair(k, needless=1) for k in (16, 18, 19)},
                "8 lost: time over that without a loss": low[8].time / low[0].time,
                "without the mistakes: peaks": text(peaks(clean)),
            },
            note="The report does not know the second mistake, and describes part of it (7.1.2): acknowledgements of new packets are taken for old, and "
            "answered. The model has another part, the timer that stays backed off, and strikes at 8, where a loss takes "
            f"{low[8].time / low[0].time:.2f} times as long as none; a stack that recovers has no peak at all.",
        ),
        claim("H-T-4", opening()),
        claim(
            "H-T-5",
            {
                "least of t(2..4) over the most of t(6..14)": min(early) / max(middle),
                "15 lost: repaired by": high.repair(15),
                "15 lost: extra time, round trips": high.extra(15) / trip("high", ANSWER),
            },
        ),
        claim(
            "H-T-6",
            {
                "medium, 6 to 15 lost: mean, ms slower": mean_slower(limited[1], medium, range(6, 16)),
                **{
                    f"{display}, none lost: time over that without limiting": slow[0].time / plain[0].time
                    for display, slow, plain in zip(SETS, limited, rows["baseline"], strict=True)
                },
            },
        ),
        claim("H-T-7", limited_transmit(was)),
        claim(
            "H-T-8",
            {
                **vanished(low, raised[0]),
                "low, 16 lost: repaired by": raised[0].repair(16),
                **grown(raised[1], medium, records),
            },
        ),
        claim("H-T-9", initial_window(was)),
        claim("H-F17", order(records["low, none lost"])),
        claim(
            "H-F19",
            {"12 lost: wait over the first timeout": wait, "12 lost: sent again by": by},
            note="The mistake as it is modelled strikes at 8, the first segment behind the spurious ones: there a loss waits "
            f"{lost_segment(records['low, 8 lost'])[0]:.1f} first timeouts.",
        ),
        *(
            builder.claim(
                identifier, {at: str(printed.RUNS[at.partition(", each")[0]]) for at in parts}, note=note
            )
            for identifier, parts, note in (
                ("H-TAB1", ["2 x 2 x 21 x 3"], "Not run: here every flow has a stack of its own."),
                ("H-TAB2", ["10 x 11 x 21 x 3", "2 x 2 x 21 x 3", "7 x 8 x 101 x 3"], "Not run."),
                ("H-TAB3", ["7 x 8 x 21 x 3, each of five"], "An erratum of the table: one too few."),
                ("H-TAB4", ["10 x 11 x 21 x 3, each of three"], ""),
            )
        ),
        builder.claim(
            "H-LX",
            {
                at: value
                for display in SETS
                for at, value in alike(
                    display, linux.at(case="baseline", display=display), was("baseline", display)
                ).items()
            },
            engine="linux-2.6.15",
        ),
    ]


def peaks(row: Row) -> list[int]:
    """Positions that are half again as slow as a flow without a loss, and a tenth slower than both neighbours (20 has one)."""
    return [
        k
        for k in range(2, 21)
        if row[k].time > 1.5 * row[0].time
        and all(row[k].time > 1.1 * row[near].time for near in (k - 1, k + 1) if near in row.flows)
    ]


def at_peaks(told: str, row: Row) -> dict[str, Measured]:
    """Whether the report's two peaks are there."""
    return {f"{told}{k} lost: a peak": "yes" if k in peaks(row) else "no" for k in PEAKS}


def vanished(plain: Row, changed: Row) -> dict[str, Measured]:
    """The peaks of the baseline, which must be there, and the same places in a changed stack."""
    return at_peaks("low, baseline, ", plain) | at_peaks("low, ", changed)


def opening() -> dict[str, Measured]:
    """The arithmetic of section 7.1.1."""
    frames = printed.OPENING
    handshake, segment = (printed.wire(each, frames.ack) for each in (frames.syn_ack, frames.segment))
    timeout = printed.first_timeout(handshake)
    return {
        "round trip of SYN-ACK and ACK, ms": handshake,
        "first timeout, ms": timeout,
        "round trip of a full segment, ms": segment,
        "first timeout over the round trip of a segment": timeout / segment,
    }


def mean_slower(changed: Row, plain: Row, positions: range) -> float:
    """The mean extra time over these positions, ms."""
    return sum(changed[k].time - plain[k].time for k in positions) / len(positions)


def limited_transmit(was: Any) -> dict[str, Measured]:
    """H-T-7: the cost of switching off limited transmit."""
    found: dict[str, Measured] = {}
    early = range(2, 5)
    means = []
    for display in ("medium", "high"):
        plain, off = was("baseline", display), was("no limited transmit", display)
        found |= {f"{display}, early loss at {k}: ms slower": off[k].time - plain[k].time for k in early}
        found |= {
            f"{display}, late loss at {k}: relative change": off[k].time / plain[k].time - 1
            for k in range(9, 21)
        }
        means.append(mean_slower(off, plain, early))
    return {**found, "early losses, mean: ms slower at high than at medium": means[1] - means[0]}


def grown(raised: Row, plain: Row, records: Mapping[str, Record]) -> dict[str, Measured]:
    """The delay of flows at medium by a minimum timeout of 1 s, over the growth of their timeout (1 s less the old one)."""
    found: dict[str, Measured] = {}
    for k in range(16, 20):
        record = records[f"medium, {k} lost"]
        fired = record.of("sender", "timeout")[0]["time"]
        old = [event["c"] / 1e6 for event in record.of("sender", "rtt") if event["time"] < fired][-1]
        found[f"medium, {k} lost: growth over 1 s less the old timeout"] = (
            raised[k].time - plain[k].time
        ) / (1000 - old)
    return found


def initial_window(was: Any) -> dict[str, Measured]:
    """H-T-9."""
    found: dict[str, Measured] = {}
    for display in ("medium", "high"):
        plain, small = was("baseline", display), was("initial window 1", display)
        slower = sum(small[k].time > plain[k].time for k in plain)
        found[f"{display}, none lost: time over that of the baseline"] = small[0].time / plain[0].time
        found[f"{display}: share of the positions that are slower"] = slower / len(plain.flows)
    plain, small = was("baseline", "low"), was("initial window 1", "low")
    mean = sum(small[k].time for k in small) / sum(plain[k].time for k in plain)
    return {**found, "low: mean time over that of the baseline": mean, **vanished(plain, small)}


def order(record: Record) -> dict[str, Measured]:
    """H-F17: whether the first timeout comes before the first acknowledgement, and the order of the segments."""
    first = record.sent[0]["time"]
    fired = record.of("sender", "timeout")[0]["time"]
    # The first acknowledgement of data.
    acknowledged = next(event["time"] for event in record.of("sender", "ack") if event["number"] > 1)
    again = [event for event in record.sent if event["reason"]]
    twice = [event for event in record.of("receiver", "received") if event["reason"] == "duplicate"]
    once = [event for event in record.sent if not event["reason"]][:3]

    def numbers(events: list[dict[str, Any]]) -> str:
        return " ".join(str(event["number"]) for event in events)

    return {
        "first timeout over the wait for the first acknowledgement": (fired - first) / (acknowledged - first),
        "sent first": numbers(once),
        "sent again": numbers(again),
        "arrived twice at the client": numbers(twice),
        "the first again by": again[0]["reason"],
    }


def lost_segment(record: Record) -> tuple[float, str]:
    """Returns the wait of the lost segment, in first timeouts, and the reason for which it was sent again."""
    base = record.of("sender", "timeout")[0]["time"] - record.sent[0]["time"]
    arrived = Counter(event["number"] for event in record.of("receiver", "received"))
    sent: dict[int, list[dict[str, Any]]] = {}
    for event in record.sent:
        sent.setdefault(event["number"], []).append(event)
    # Every copy of all other segments arrives.
    first, second = next(
        copies[:2] for n, copies in sent.items() if len(copies) > 1 and arrived[n] < len(copies)
    )
    return (second["time"] - first["time"]) / base, second["reason"]


def alike(display: str, theirs: Row, ours: Row) -> dict[str, Measured]:
    """H-LX: one stack of ours against another."""
    waits = [
        {k for k in row.positions if row[k].timeouts and row.repair(k) == TIMER and not row[k].fast}
        for row in (theirs, ours)
    ]
    shares = [theirs[k].time / ours[k].time for k in ours.positions]
    return {
        f"{display}: positions of which only one of the two waits for a timer": len(waits[0] ^ waits[1]),
        f"{display}, none lost: Linux over FreeBSD, less 1": theirs[0].time / ours[0].time - 1,
        f"{display}, the position that differs most: Linux over FreeBSD, less 1": max(
            shares, key=lambda share: abs(math.log(abs(share)))
        )
        - 1,
    }
