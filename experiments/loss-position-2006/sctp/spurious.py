"""The claims about retransmissions of what had arrived, and about bursts."""

import math
from collections.abc import Mapping, Sequence

from anabranch_lab.judge.claims import Claim, ClaimBuilder, Explanation, Part, certain, condition, exact

from ..common.flows import SETS, Row, Table, text
from ..common.pictures import Record
from .figures import BURST, PRINTED_BURSTS
from .judge import KAME, LKSCTP, OPEN, VALUES, was

HOSTS = 2 * 21 * 10.0
"""What the two hosts of sweep race can take at most by themselves, ms: 10 ms for each of 21 packets. More than that is a timer's."""

START = "KAME, high, none lost, minimum RTO 200 ms"
"""The recorded flow of which section 6.4.1 tells how it starts."""


def claims(
    builder: ClaimBuilder,
    stacks: Mapping[str, Table],
    mistakes: Mapping[str, Table],
    records: Mapping[str, Record],
    late: Mapping[str, Sequence[float]],
    tried: Mapping[str, Table],
    tried_records: Mapping[tuple[str, str], Record],
) -> list[Claim]:
    """The claims of the catalogue that name this experiment. `tried` are the variants, recorded ones by rule and place."""
    return [
        kame_minimum(builder, stacks["KAME"], mistakes["KAME"], tried["kame-rules"], records[START]),
        lksctp_minimum(builder, stacks["LKSCTP"], late),
        whole_flight(builder, records, tried_records),
        bursts(builder, records, tried_records),
    ]


def before_a_sack(record: Record) -> list[float]:
    """Milliseconds after the first data at which more was sent, before any SACK had come."""
    first, *more = (event["time"] for event in record.sent)
    acknowledged = min(event["time"] for event in record.of("sender", "ack"))
    return [1000 * (time - first) for time in more if time < acknowledged]


def kame_minimum(builder: ClaimBuilder, kame: Table, one: Table, rules: Table, start: Record) -> Claim:
    """H-S-7."""
    case = "minimum RTO 200 ms"

    def at_low(plain: Row, short: Row) -> list[Part]:
        # A flow that is not over when the run ends is slower than any that is.
        times = {k: math.inf if math.isnan(short[k].time) else short[k].time for k in short}
        return [
            condition(
                "low: slower",
                "everywhere",
                text([k for k in plain if times[k] > plain[k].time]),
                all(times[k] > plain[k].time for k in plain),
            ),
            exact("low, none lost: packets more", 3, short[0].packets - plain[0].packets),
            exact(
                "low: the slowest position behind the handshake",
                5,
                max(range(2, 21), key=lambda k: times[k]),
            ),
        ]

    low, medium, high = ((was(kame, "baseline", display), was(kame, case, display)) for display in SETS)
    early = before_a_sack(start)
    parts: list[Part] = [
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
        *at_low(*low),
        condition(
            "high, none lost",
            "faster",
            f"{high[1][0].time - high[0][0].time:+.0f} ms",
            high[1][0].time < high[0][0].time,
        ),
        exact("high, none lost: packets more before the first SACK", 3, len(early)),
        certain(
            "high, none lost: when the first of them is sent, ms after the first data",
            400.0,
            (early or [math.inf])[0],
            100.0,
        ),
    ]
    dearest = max(range(2, 21), key=lambda k: low[1][k].time)
    slower = sum(low[1][k].time > low[0][k].time for k in low[0])

    def rule(name: str) -> Explanation:
        return Explanation(
            f"KAME, {name}.",
            runs=("kame-rules",),
            parts=tuple(
                at_low(*(rules.at(rule=name, case=each, display="low") for each in ("baseline", case)))
            ),
        )

    stays = [one.at(stack="no backing off", case=each, display="low") for each in ("baseline", case)]
    endless = sum(math.isnan(stays[1][k].time) for k in stays[1])
    return builder.claim(
        "H-S-7",
        parts,
        engines=KAME,
        note=f"At low {slower} of {len(low[0].flows)} flows are slower, where the report says that they generally are. The slowest position behind the "
        f"handshake is {dearest}, with {low[1][dearest].time / 1000:.1f} s; the report has 5, and did not find the reason itself.",
        explanation=[
            rule(OPEN[2]),
            Explanation(
                "At 5, says the report, the timer does not back off. A timer that backs off nowhere makes every packet leave again and again: "
                f"{endless} of {len(stays[1].flows)} flows are not over after 300 s.",
                runs=("kame-mistakes",),
                parts=tuple(at_low(*stays)),
            ),
            Explanation(
                "The minimum of 3 ms that Table 5 prints for this test case, where the text has 200 ms.",
                runs=("kame",),
                parts=tuple(at_low(low[0], was(kame, "minimum RTO 3 ms", "low"))),
            ),
            rule(OPEN[1]),
            rule(OPEN[0]),
        ],
        evidence=("kame-mistakes",),
    )


def lksctp_minimum(builder: ClaimBuilder, lksctp: Table, late: Mapping[str, Sequence[float]]) -> Claim:
    """H-S-8."""
    plain, short = (was(lksctp, case, "medium") for case in ("baseline", "minimum RTO 200 ms"))
    faster = [k for k in range(15, 20) if short[k].time < plain[k].time]
    spread = {case: max(values) - min(values) for case, values in late.items()}
    runs = len(late["baseline"])
    # Another seed for the other case: the report's two measurements had nothing in common but the settings.
    apart = [late["minimum RTO 200 ms"][(seed + 1) % runs] - late["baseline"][seed] for seed in range(runs)]
    gains = sum(difference < 0 for difference in apart)
    same = max(abs(a - b) for a, b in zip(*late.values(), strict=True))
    return builder.claim(
        "H-S-8",
        [
            exact("medium: faster", "15-19", text(faster)),
            *(
                condition(
                    f"low, 2, {case}, hosts that take up to 10 ms: spread of all runs",
                    f"more than the hosts take themselves, {HOSTS:.0f} ms",
                    f"{width:.0f} ms",
                    width > HOSTS,
                    seeds=runs,
                )
                for case, width in spread.items()
            ),
            condition(
                "low, 2: faster with a minimum RTO of 200 ms than a run of the baseline with another seed",
                "some runs, not all",
                f"{gains} of {runs}",
                0 < gains < runs,
                seeds=runs,
            ),
            condition(
                "low, 2: what the minimum RTO changes when the hosts take the same times",
                "less than 1 ms",
                f"{same:.1f} ms",
                same < 1,
                seeds=runs,
            ),
        ],
        note="The report sees a small gain at 2 and says that it is not due to the minimum RTO: two timers expire at the same time. Here the "
        "order of the two decides about three seconds, in both cases alike.",
        engines=LKSCTP,
        evidence=("race",),
    )


def spurious(record: Record) -> list[int]:
    """Chunks that were sent again although an earlier copy arrived, by number, each as often as it was."""
    arrived = [
        event["number"] for event in record.of("receiver", "received") if event["reason"] == "duplicate"
    ]
    return sorted(arrived)


def whole_flight(
    builder: ClaimBuilder, records: Mapping[str, Record], tried: Mapping[tuple[str, str], Record]
) -> Claim:
    """H-F20."""
    places = ("LKSCTP, low, 5 lost", "LKSCTP, low, 8 lost")

    def parts(fifth: Record, eighth: Record) -> list[Part]:
        found = spurious(fifth)
        again = [event["number"] for event in eighth.sent if event["reason"]]
        return [
            condition(
                "5 lost: sent again although it had arrived", ">= 10", str(len(found)), len(found) >= 10
            ),
            exact("8 lost: sent again although it had arrived", 2, len(spurious(eighth))),
            exact("8 lost: sent again in all", 3, len(again)),
        ]

    twice = spurious(records[places[1]])
    # The first DATA is the third packet.
    packets = [number + 2 for number in twice]
    rules = dict.fromkeys(rule for rule, place in tried if place in places)
    return builder.claim(
        "H-F20",
        parts(*(records[place] for place in places)),
        engines=LKSCTP,
        explanation=[
            Explanation(
                f"LKSCTP, but for one rule: {rule}.",
                runs=("lksctp-rules-recorded",),
                parts=tuple(parts(*(tried[rule, place] for place in places))),
            )
            for rule in rules
        ],
        evidence=("lksctp-mistakes",),
        note=f"With 8 lost the packets {text(packets)} arrive twice: packet 8, whose retransmission is repeated, and the last two with data. The "
        'report says "only for the last two packets (and the retransmission)". The claim takes the retransmission for the one that is needed; '
        "if it means one more that is not, these are the same.",
    )


def bursts(
    builder: ClaimBuilder, records: Mapping[str, Record], tried: Mapping[tuple[str, str], Record]
) -> Claim:
    """H-F22."""

    def parts(record: Mapping[str, Record]) -> list[Part]:
        return [
            exact(f"{place.split(', ')[-1]}: bursts", wanted, len(record[place].bursts(BURST)))
            for place, wanted in PRINTED_BURSTS.items()
        ]

    def sizes(record: Mapping[str, Record]) -> str:
        found = {place: record[place].bursts(BURST) for place in PRINTED_BURSTS}
        return "; ".join(
            f"{place.split(', ')[-1]}: {', '.join(str(len(burst)) for burst in each)}"
            for place, each in found.items()
        )

    def more(name: str) -> int:
        tenth, ninth = (len(tried[name, place].bursts(BURST)) for place in PRINTED_BURSTS)
        return ninth - tenth

    def rule(name: str, sweep: str) -> Explanation:
        record = {place: tried[name, place] for place in PRINTED_BURSTS}
        return Explanation(
            f"KAME, {name}. Packets of the bursts: {sizes(record)}.",
            runs=(sweep, f"{sweep}-recorded"),
            parts=tuple(parts(record)),
        )

    return builder.claim(
        "H-F22",
        parts(records),
        engines=KAME,
        note="A SACK that waits 200 ms for a second packet cuts a burst in two; the report counts bursts by eye. Packets of the bursts here: "
        f"{sizes(records)}. In the report a loss of 9 takes one more than a loss of 10; where any new "
        f"acknowledgement opens the window it takes {more(OPEN[0])} more, if the single packet of the first window counts as a burst.",
        explanation=[
            rule(OPEN[0], "kame-rules"),
            rule(OPEN[1], "kame-rules"),
            rule(VALUES[0], "kame-values"),
        ],
        evidence=("kame-mistakes",),
    )
