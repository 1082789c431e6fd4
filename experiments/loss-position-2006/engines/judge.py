"""The claims about the rules, about the report's own slips, and about RACK-TLP."""

from collections.abc import Mapping

from anabranch_lab.catalogue import Book
from anabranch_lab.claims import Claim, Explanation, Part, certain, condition, exact

from ..common.flows import Table, text

INITIAL = {"rfc2960": 3000.0, "rfc9260": 1000.0, "newreno": 1000.0}
"""Initial RTO, ms: RFC 2960, RFC 9260, RFC 6298."""


def claims(book: Book, runs: Mapping[str, Table], spreads: Mapping[str, float]) -> list[Claim]:
    """The claims of the catalogue that name this experiment."""
    return [*slips(book), inherent(book, runs), replications(book, spreads), probes(book, runs)]


def slips(book: Book) -> list[Claim]:
    """H-E-1 to H-E-5: what the report prints against itself and the rules."""
    mss, window = 1460, 20 * 1460
    printed, correct = min(window // 2, 2 * mss), max(window // 2, 2 * mss)
    # A round trip has window / mss acknowledgements.
    bytes_a_trip = window / mss * (1 / window)
    data = 20 - len(("INIT ACK", "COOKIE ACK", "SHUTDOWN", "SHUTDOWN COMPLETE"))
    first = 1 + len(("INIT ACK", "COOKIE ACK"))
    return [
        book.claim(
            "H-E-1",
            [
                exact("threshold after a window of 20 segments, segments", "10", f"{printed / mss:g}"),
                exact("with max, as the rules have it", "10", f"{correct / mss:g}"),
            ],
            note="The printed formula leaves 2 segments after every loss.",
        ),
        book.claim(
            "H-E-2",
            [
                condition(
                    "growth a round trip with 1/cwnd bytes an acknowledgement",
                    "1460 bytes",
                    f"{bytes_a_trip:.4f} bytes",
                    abs(bytes_a_trip - mss) < 1,
                ),
                certain("with MSS^2/cwnd bytes", mss, window / mss * (mss**2 / window), 1e-6),
            ],
            note="1/cwnd is right when cwnd is counted in segments.",
        ),
        book.claim(
            "H-E-3",
            [exact("DATA of 20 packets, modulo 2", 1, data % 2)],
            note=f"{data} is even. With the first DATA acknowledged at once, as both profiles do it, 15 are left to pair off, "
            "and the last SACK is delayed after all.",
        ),
        book.claim(
            "H-E-4",
            [
                exact(
                    "positions of the second to fifth DATA (first window of four, first by timeout)",
                    f"{first + 1}-{first + 4} and {first + 2}-{first + 5}",
                    f"{first + 1}-{first + 4}",
                )
            ],
            note="4-7 and 5-8 are given for the same peak.",
        ),
        book.claim(
            "H-E-5",
            [exact("minimum RTO, ms: text and tables", "200", "3")],
            note="Figures 15 and 16 follow the text; the tables' 3 ms was run as well.",
        ),
    ]


def inherent(book: Book, runs: Mapping[str, Table]) -> Claim:
    """H-G-1."""
    parts: list[Part] = []
    for protocol, flavour, timers in (
        ("sctp", "rfc2960", "1-2, 15-19"),
        ("sctp", "rfc9260", "1-2, 16-19"),
        ("tcp", "newreno", "1, 17-19"),
    ):
        row = runs[protocol].at(flavour=flavour, set="medium")
        # TCP begins with one segment when its SYN-ACK was lost (RFC 5681, section 3.1): a few round trips more.
        more = 4.5 * 93.6 if protocol == "tcp" else 0.0
        parts += [
            certain(f"{flavour}: 1 lost, ms", INITIAL[flavour], row.extra(1), 1.0, above=1.0 + more),
            exact(f"{flavour}: a timer needed", timers, text(row.waits())),
            exact(f"{flavour}: fast retransmit at 4 to 14", "4-14", text([k for k in row.fast() if 4 <= k <= 14])),
            condition(f"{flavour}: 20 lost", "free", f"{row.extra(20):+.2f} ms", 20 in row.free()),
        ]
    modern = runs["tcp"].at(flavour="rfc", set="medium")
    return book.claim(
        "H-G-1",
        parts,
        engines=("rfc2960", "rfc9260", "newreno"),
        note=f"TCP with RFC 6675 waits only at {text(modern.waits())}: the FIN counts as a byte above two segments.",
    )


def replications(book: Book, spreads: Mapping[str, float]) -> Claim:
    """H-X-1."""
    return book.claim(
        "H-X-1",
        [exact(f"{protocol.upper()}: largest difference of three seeds, ms", 0.0, spread) for protocol, spread in spreads.items()],
        engines=("all",),
        note="Seeds draw tags and sequence numbers, which change no time. Where hosts race (sweeps called `race`), their timing is "
        "drawn and 30 seeds are run.",
    )


def probes(book: Book, runs: Mapping[str, Table]) -> Claim:
    """X-2."""
    parts: list[Part] = []
    tails: dict[str, list[Part]] = {}
    for protocol, without, with_probes in (("sctp", "rfc9260", "rfc9260-rack"), ("tcp", "rfc", "rack-cubic")):
        plain, probed = (runs[protocol].at(flavour=f, set="medium") for f in (without, with_probes))
        costly = [k for k in range(15, 20) if plain.extra(k) > 500]
        tails[protocol] = [
            condition(
                f"{protocol.upper()}, {k}: extra time, ms",
                f"at most half of {plain.extra(k):.0f}",
                f"{probed.extra(k):.0f}",
                probed.extra(k) <= 0.5 * plain.extra(k),
            )
            for k in costly
        ]
        slower = [k for k in range(4, 15) if probed[k].time > 1.05 * plain[k].time]
        parts += [
            *tails[protocol],
            exact(f"{protocol.upper()}, 4 to 14: more than 5 % slower", "none", text(slower)),
        ]
    data = [part for part in parts if not part.at.startswith("SCTP, 19")]
    return book.claim(
        "X-2",
        parts,
        engines=("rfc9260-rack", "rack-cubic"),
        note="SCTP's 19 is SHUTDOWN: a packet without data has no SACK and no probe.",
        explanation=Explanation(
            "RACK-TLP looks at data. What it does not help is SHUTDOWN, which waits for its own timer; TCP's FIN rides on data.",
            runs=("sctp", "tcp"),
            parts=tuple(data),
        ),
    )
