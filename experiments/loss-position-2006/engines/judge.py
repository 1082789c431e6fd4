"""The claims about the rules, about the report's own slips, and about RACK-TLP."""

from collections.abc import Mapping

from anabranch_lab.judge.claims import Claim, ClaimBuilder
from anabranch_lab.judge.comparison import Measured

from ..common import printed
from ..common.flows import SETS, Row, Table, text

INITIAL = {"rfc2960": 3000.0, "rfc9260": 1000.0}
"""Initial RTO, ms."""


def claims(builder: ClaimBuilder, runs: Mapping[str, Table], spreads: Mapping[str, float]) -> list[Claim]:
    """The claims of the catalogue that name this experiment."""
    return [
        *slips(builder),
        builder.claim(
            "H-G-1",
            inherent(runs["sctp"]),
            engine=" ".join(INITIAL),
            note="TCP is not asked: where its SYN-ACK was lost it begins with one segment (RFC 5681, 3.1), and without SACK that costs "
            f"{runs['tcp'].at(flavour='newreno', display='medium').extra(1):.0f} ms at a timer of 1 s.",
        ),
        builder.claim(
            "H-X-1",
            {
                f"{protocol.upper()}: largest difference of three seeds, ms": spread
                for protocol, spread in spreads.items()
            },
            note="Seeds draw tags and sequence numbers, which change no time. Where hosts race (sweep `race`), their timing is drawn.",
        ),
        builder.claim(
            "X-2",
            probes(runs),
            engine="rfc9260-rack rack-cubic",
            note="SCTP's 19 is SHUTDOWN: a packet without data has no SACK and no probe. TCP's probe for a single segment waits 200 ms more, for "
            "the peer's delayed acknowledgement.",
        ),
    ]


def slips(builder: ClaimBuilder) -> list[Claim]:
    """H-E-1 to H-E-6: the printed values of the report against each other and against the rules."""
    # A round trip has window / mss acknowledgements.
    mss, window, trip = 1460, 20 * 1460, 20
    data = 20 - len(("INIT ACK", "COOKIE ACK", "SHUTDOWN", "SHUTDOWN COMPLETE"))
    return [
        builder.claim(
            "H-E-1",
            {
                "as printed, after a window of 20 segments: segments": str(min(window // 2, 2 * mss) // mss),
                "by the rule: segments": str(max(window // 2, 2 * mss) // mss),
            },
        ),
        builder.claim(
            "H-E-2",
            {
                "as printed, a round trip: segments": trip / window / mss,
                "in segments, a round trip: segments": trip * mss / window,
            },
        ),
        builder.claim(
            "H-E-3",
            {"DATA": str(data), "of these beyond pairs": str(data % 2)},
            note="With the first DATA acknowledged at once 15 are left to pair off, and the last SACK is delayed after all.",
        ),
        builder.claim("H-E-4", {"difference of the two": str(printed.PEAKS[0][0] - printed.PEAKS[1][0])}),
        builder.claim("H-E-5", {"text over tables": printed.MINIMUM[0] / printed.MINIMUM[1]}),
        builder.claim(
            "H-E-6",
            {
                "positions of three segments and their copies": text(range(2, 2 + 2 * printed.SEGMENTS)),
                "positions named over segments that are sent twice": len(printed.TWICE) / printed.SEGMENTS,
            },
        ),
    ]


def inherent(runs: Table) -> dict[str, Measured]:
    """H-G-1: the mechanism that repairs a loss at medium, by position."""
    found: dict[str, Measured] = {}
    for flavour, timeout in INITIAL.items():
        row = runs.at(flavour=flavour, display="medium")
        found[f"{flavour}, 1 lost: extra time over the initial timeout"] = row.extra(1) / timeout
        found |= {f"{flavour}, {k} lost: repaired by": row.repair(k) for k in range(4, 21)}
    return found


def probes(runs: Mapping[str, Table]) -> dict[str, Measured]:
    """X-2: at low, medium and high, for one subflow and for two, and for TCP."""
    found: dict[str, Measured] = {}
    for display in SETS:
        for told, sweep, without, probed in (
            ("SCTP", "sctp", "rfc9260", "rfc9260-rack"),
            ("TCP", "tcp", "rfc", "rack-cubic"),
            ("SCTP with two subflows", "two-subflows", "rfc9260", "rfc9260-rack"),
        ):
            plain, fast = (runs[sweep].at(flavour=name, display=display) for name in (without, probed))
            found |= tail(f"{display}, {told}", plain, fast)
    return found


def tail(told: str, plain: Row, probed: Row) -> dict[str, Measured]:
    """The rest of the penalty near the end, where there is one, and the slowdown elsewhere."""
    slower = max(probed[k].time / plain[k].time - 1 for k in range(4, 15))
    return {
        f"{told}, 4 to 14 lost: the most that one is slower, share": slower,
        **{
            f"{told}, {k} lost: extra time over that without RACK-TLP": probed.extra(k) / plain.extra(k)
            for k in range(15, 20)
            if plain.extra(k) > 500
        },
    }
