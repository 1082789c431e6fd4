"""The claims about the rules, about the report's own slips, and about RACK-TLP."""

from collections.abc import Mapping

from anabranch_lab.judge.claims import Claim, ClaimBuilder, Explanation, Part, certain, condition, exact

from ..common.flows import SETS, Row, Table, text

INITIAL = {"rfc2960": 3000.0, "rfc9260": 1000.0, "newreno": 1000.0}
"""Initial RTO, ms: RFC 2960, RFC 9260, RFC 6298."""


def claims(builder: ClaimBuilder, runs: Mapping[str, Table], spreads: Mapping[str, float]) -> list[Claim]:
    """The claims of the catalogue that name this experiment."""
    return [*slips(builder), inherent(builder, runs), replications(builder, spreads), probes(builder, runs)]


def slips(builder: ClaimBuilder) -> list[Claim]:
    """H-E-1 to H-E-5: what the report prints against itself and the rules."""
    mss, window = 1460, 20 * 1460
    # A round trip has window / mss acknowledgements.
    trip = window / mss
    handshake = ("INIT ACK", "COOKIE ACK")
    data = 20 - len(handshake) - len(("SHUTDOWN", "SHUTDOWN COMPLETE"))
    peaks = (range(5, 9), range(4, 8))
    return [
        builder.claim(
            "H-E-1",
            [
                exact(
                    "as printed, after a window of 20 segments: segments", 2, min(window // 2, 2 * mss) // mss
                ),
                exact("by the rule: segments", 10, max(window // 2, 2 * mss) // mss),
            ],
        ),
        builder.claim(
            "H-E-2",
            [
                certain("as printed, a round trip: bytes", 0.0, trip * (1 / window), 0.01),
                certain("in segments, a round trip: bytes", mss, trip * (mss / window) * mss, 1e-6),
            ],
        ),
        builder.claim(
            "H-E-3",
            [exact("DATA", 16, data), exact("of these beyond pairs", 0, data % 2)],
            note="With the first DATA acknowledged at once 15 are left to pair off, and the last SACK is delayed after all.",
        ),
        builder.claim(
            "H-E-4",
            [
                exact(
                    "places named twice for one peak: difference",
                    [1, 1, 1, 1],
                    [a - b for a, b in zip(*peaks, strict=True)],
                ),
                exact("the first of four DATA behind the first one", 4, len(handshake) + 2),
            ],
            note="The sections are 6.2.2 and 7.2.1.",
        ),
        builder.claim(
            "H-E-5",
            [condition("text, tables", "differ", "200 ms, 3 ms", 200 != 3)],
            note="Figures 15 and 16 follow the text; the 3 ms of the tables were run as well.",
        ),
    ]


def inherent(builder: ClaimBuilder, runs: Mapping[str, Table]) -> Claim:
    """H-G-1."""

    def judge(flavour: str, timers: str, row: Row) -> list[Part]:
        return [
            certain(f"{flavour}: 1 lost, ms", INITIAL[flavour], row.extra(1), 1.0),
            exact(f"{flavour}: a timer needed", timers, text(row.waits())),
            exact(
                f"{flavour}: fast retransmit at 4 to 14",
                "4-14",
                text([k for k in row.fast() if 4 <= k <= 14]),
            ),
            condition(f"{flavour}: 20 lost", "free", f"{row.extra(20):+.2f} ms", 20 in row.free()),
        ]

    sctp = [
        part
        for flavour, timers in (("rfc2960", "1-2, 15-19"), ("rfc9260", "1-2, 16-19"))
        for part in judge(flavour, timers, runs["sctp"].at(flavour=flavour, set="medium"))
    ]
    tcp = runs["tcp"].at(flavour="newreno", set="medium")
    modern = runs["tcp"].at(flavour="rfc", set="medium")
    return builder.claim(
        "H-G-1",
        [*sctp, *judge("newreno", "1, 17-19", tcp)],
        engines=("rfc2960", "rfc9260", "newreno"),
        note=f"TCP with RFC 6675 waits only at {text(modern.waits())}: the FIN counts as a byte above two segments.",
        explanation=Explanation(
            "TCP begins with one segment when its SYN-ACK was lost (RFC 5681, section 3.1), which costs "
            f"{tcp.extra(1) - INITIAL['newreno']:.0f} ms more than the timer. Without that rule, which is a MUST, the timer is all.",
            runs=("whole-window",),
            parts=(*sctp, *judge("newreno", "1, 17-19", runs["tcp-window"].at(display="medium"))),
            unchanged=tuple(part.at for part in sctp),
        ),
    )


def replications(builder: ClaimBuilder, spreads: Mapping[str, float]) -> Claim:
    """H-X-1."""
    return builder.claim(
        "H-X-1",
        [
            exact(f"{protocol.upper()}: largest difference of three seeds, ms", 0.0, spread)
            for protocol, spread in spreads.items()
        ],
        engines=("all",),
        note="Seeds draw tags and sequence numbers, which change no time. Where hosts race (sweeps called `race`), their timing is "
        "drawn and 30 seeds are run.",
    )


def probes(builder: ClaimBuilder, runs: Mapping[str, Table]) -> Claim:
    """X-2: at low, medium and high, for one subflow and for two, and for TCP."""

    def tail(told: str, plain: Row, probed: Row, last: int = 20) -> list[Part]:
        parts: list[Part] = [
            condition(
                f"{told}, {k}: extra time, ms",
                f"at most half of {plain.extra(k):.0f}",
                f"{probed.extra(k):.0f}",
                probed.extra(k) <= 0.5 * plain.extra(k),
            )
            for k in range(15, last)
            if plain.extra(k) > 500
        ]
        slower = [k for k in range(4, 15) if probed[k].time > 1.05 * plain[k].time]
        # Without a penalty there is nothing to take away.
        costly = condition(
            f"{told}: positions of the tail that cost more than 500 ms", "some", str(len(parts)), bool(parts)
        )
        return [costly, *parts, exact(f"{told}, 4 to 14: more than 5 % slower", "none", text(slower))]

    parts: list[Part] = []
    for display in SETS:
        for protocol, without, probed in (
            ("sctp", "rfc9260", "rfc9260-rack"),
            ("tcp", "rfc", "rack-cubic"),
        ):
            rows = (runs[protocol].at(flavour=name, set=display) for name in (without, probed))
            parts += tail(f"{display}, {protocol.upper()}", *rows)
        two = (runs["two-subflows"].at(flavour=name, display=display) for name in ("rfc9260", "rfc9260-rack"))
        parts += tail(f"{display}, SCTP with two subflows", *two)
    eager = runs["tcp-eager"].at(display="medium")
    return builder.claim(
        "X-2",
        parts,
        engines=("rfc9260-rack", "rack-cubic"),
        note="SCTP's 19 is SHUTDOWN: a packet without data has no SACK and no probe. TCP's probe for a single segment waits 200 ms more, for "
        f"the peer's delayed acknowledgement; without that allowance a loss of 19 costs {eager.extra(19):.0f} ms at medium, not "
        f"{runs['tcp'].at(flavour='rack-cubic', set='medium').extra(19):.0f}.",
        evidence=("eager-probe",),
    )
