"""The claims of MS 1 to 8 about the times R1 and R2."""

import itertools
from collections.abc import Mapping, Sequence

from anabranch_lab.judge.claims import (
    Claim,
    ClaimBuilder,
    Explanation,
    Part,
    above,
    below,
    number,
    within,
)
from anabranch_lab.run.grid import Grid, Sample
from anabranch_lab.stats import Estimate

from ..common.pages import NETWORKS, OBJECTS, STACKS, longer, share

MS_6 = {"GSM": 4.0, "Modem": 4.0, "B1": 21.0, "B2": 4.0, "B3": 4.0}
"""R2 with 50 connections, percent longer than with one: from the sizes of the packets; B1 is printed."""


def claims(builder: ClaimBuilder, runs: Grid, packets: Grid, variants: dict[str, Grid]) -> list[Claim]:
    """The claims of the catalogue that name this experiment. `variants` by the name of their sweep."""
    return [
        streams(builder, runs),
        few(builder, runs, packets, variants),
        thirty(builder, runs),
        fifty(builder, runs, packets),
        first(builder, runs, variants),
        compared(builder, runs, variants["fifty"]),
    ]


def _r(runs: Grid, measure: str, network: str, scenario: str, protocol: str) -> Sample:
    return runs.sample(measure, network=network, scenario=scenario, protocol=protocol)


def streams(builder: ClaimBuilder, runs: Grid) -> Claim:
    """A-MS-S."""
    parts: list[Part] = []
    told: list[str] = []
    for network in NETWORKS:
        means = [_r(runs, "R2", network, scenario, "SCTP").estimate for scenario in OBJECTS]
        low, high = min(means, key=lambda each: each.mean), max(means, key=lambda each: each.mean)
        names = [list(OBJECTS)[means.index(each)] for each in (high, low)]
        ratio = _r(runs, "R2", network, names[0], "SCTP") / _r(runs, "R2", network, names[1], "SCTP")
        parts.append(below(f"{network}, longest / shortest", 1.02, ratio.estimate))
        told.append(f"{network} {names[0]} and {names[1]}")
    return builder.claim(
        "A-MS-S", parts, engines=STACKS, note=f"The longest and the shortest: {'; '.join(told)}."
    )


def few(builder: ClaimBuilder, runs: Grid, packets: Grid, variants: dict[str, Grid]) -> Claim:
    """A-MS1..4."""

    def judge(runs: Grid) -> list[Part]:
        parts: list[Part] = []
        for network in NETWORKS:
            for scenario in ("MS 2", "MS 3", "MS 4"):
                parts.append(
                    below(f"{network}, {scenario}, % longer", 1.0, longer(runs, network, scenario).estimate)
                )
                drops = _r(runs, "drops", network, scenario, "TCP").estimate
                if scenario == "MS 4":
                    parts.append(within(f"{network}, {scenario}, drops", 0.0, 0.0, drops))
                else:
                    parts.append(above(f"{network}, {scenario}, drops", 0.0, drops))
            for measure, text in (
                ("losers", "connections that lose packets"),
                ("fast_retransmits", "fast retransmits"),
            ):
                found = _r(runs, measure, network, "MS 2", "TCP").estimate
                parts.append(number(f"{network}, MS 2, {text}", 2.0, found, 0.0))
        return parts

    idle: list[Part] = [
        within(
            f"{network}, {scenario}, s idle once full",
            0.0,
            0.0,
            packets.sample("gaps", network=network, scenario=scenario).estimate,
        )
        for network in NETWORKS
        for scenario in ("MS 2", "MS 3", "MS 4")
    ]
    overflows = [
        number(
            f"{network}, MS 2, overflows",
            2.0,
            packets.sample("overflows", network=network, scenario="MS 2").estimate,
            0.0,
        )
        for network in NETWORKS
    ]
    # The thesis counts 6.8 KB for opening and closing in MS 4; one connection takes 212 bytes.
    base = _r(runs, "R2", "GSM", "MS 1", "TCP").estimate.mean
    alone = 100 * (6800 - 212) * 8 / NETWORKS["GSM"].down / base
    return builder.claim(
        "A-MS1..4",
        [*judge(runs), *idle, *overflows],
        engines=STACKS,
        note="Each of the two connections loses several packets in the one overflow, where the thesis speaks of one. In the GSM network the 6.8 "
        f"KB that it counts for MS 4 take {alone:.2f} % of R2 by themselves.",
        explanation=[
            Explanation(
                "The client acknowledges every packet at once, and not every second one behind the beginning of a connection.",
                runs=("no-delay",),
                parts=tuple(judge(variants["no-delay"])),
            ),
            Explanation(
                "Five connections come to within a few packets of the 50 of the buffer and would overflow one of 40, where ten still do not.",
                runs=("buffer-40",),
                parts=tuple(judge(variants["buffer-40"])),
            ),
        ],
    )


def thirty(builder: ClaimBuilder, runs: Grid) -> Claim:
    """A-MS5."""
    parts: list[Part] = [
        within("GSM, % longer", 2.0, 5.0, longer(runs, "GSM", "MS 5").estimate),
        *(
            below(f"{network}, % longer", 2.5, longer(runs, network, "MS 5").estimate)
            for network in NETWORKS
            if network != "GSM"
        ),
    ]
    return builder.claim("A-MS5", parts, engines=STACKS)


def fifty(builder: ClaimBuilder, runs: Grid, packets: Grid) -> Claim:
    """A-MS6."""
    parts: list[Part] = [
        number(f"{network}, % longer", printed, longer(runs, network, "MS 6").estimate, 3.0)
        for network, printed in MS_6.items()
    ]
    for network in NETWORKS:
        idle = packets.sample("idle", network=network, scenario="MS 6") / _r(
            runs, "R2", network, "MS 6", "TCP"
        )
        printed = 16.0 if network == "B1" else 0.0
        parts.append(number(f"{network}, % idle", printed, (idle * 100.0).estimate, 3.0))
    return builder.claim("A-MS6", parts, engines=STACKS)


def cookie(network: str) -> float:
    """Seconds that the cookie takes on the links: the thesis counts 240 bytes more than TCP opens with, half of them each way."""
    links = NETWORKS[network]
    return 120 * 8 / links.down + 120 * 8 / links.up


def first(builder: ClaimBuilder, runs: Grid, variants: dict[str, Grid]) -> Claim:
    """A-R1."""

    def shared(tcp: Grid, network: str, scenario: str, more: float = 0.0) -> Estimate:
        """TCP's R1, and so many seconds, over SCTP's."""
        mine = _r(tcp, "R1", network, scenario, "TCP") + more
        return (mine / _r(runs, "R1", network, scenario, "SCTP")).estimate

    def judge(tcp: Grid, scenarios: Sequence[str] = tuple(OBJECTS)) -> list[Part]:
        parts: list[Part] = []
        for network in NETWORKS:
            r1 = {
                (scenario, protocol): _r(grid, "R1", network, scenario, protocol)
                for scenario in scenarios
                for protocol, grid in (("TCP", tcp), ("SCTP", runs))
            }
            for scenario in scenarios:
                ratio = shared(tcp, network, scenario)
                at = f"{network}, {scenario}, TCP's R1 / SCTP's R1"
                if scenario in ("MS 1", "MS 8"):
                    parts.append(within(at, 0.98, 1.02, ratio))
                else:
                    parts.append(below(at, 0.9, ratio))
            for before, after in itertools.pairwise(scenarios):
                fall = (r1[before, "TCP"] - r1[after, "TCP"]).estimate
                parts.append(above(f"{network}, R1 falls from {before} to {after}, s", 0.0, fall))
            for scenario in scenarios[1:]:
                for protocol, grid in (("TCP", tcp), ("SCTP", runs)):
                    winner = _r(grid, "first", network, scenario, protocol).estimate
                    parts.append(within(f"{network}, {scenario}, {protocol}: first object", 0.0, 0.0, winner))
        return parts

    even = [
        shared(runs, network, scenario, cookie(network)).mean
        for network in NETWORKS
        for scenario in ("MS 1", "MS 8")
    ]
    return builder.claim(
        "A-R1",
        judge(runs),
        engines=STACKS,
        note="Equal is what differs by no more than 2 %, far earlier what is earlier by more than 10 %: no ratio is both. SCTP's handshake has "
        "240 bytes more for its cookie, which are part of its R1: the thesis's own Fig. 5.1 has SCTP 4 to 13 % behind for an object of 1 KB "
        "(A-B1), so that its two curves can be equal on paper only. With the time that they take on the links added to TCP's, by arithmetic, the "
        f"ratios of MS 1 and MS 8 would be {min(even):.3f} to {max(even):.3f}.",
        explanation=Explanation(
            "The client acknowledges every packet at once, and not every second one behind the beginning of a connection.",
            runs=("no-delay",),
            parts=tuple(judge(variants["no-delay"], tuple(OBJECTS)[:4])),
        ),
    )


ANSWERS = (
    "a FIN waits for the window",
    "every connection is closed at once",
    "16 packets acknowledged at once",
    "hosts take up to 5 ms",
)
"""What the thesis leaves open of TCP: sweep fifty."""


def compared(builder: ClaimBuilder, runs: Grid, fifty: Grid) -> Claim:
    """A-F55."""
    shares = {
        (network, scenario): share(runs, network, scenario).estimate
        for network in NETWORKS
        for scenario in OBJECTS
    }

    def worst_of(shares: Mapping[str, Estimate]) -> tuple[str, Part]:
        worst = min(shares, key=lambda network: shares[network].mean)
        return worst, number("the worst network, MS 6, %", 90.0, shares[worst], 3.0)

    worst, at_fifty = worst_of({network: shares[network, "MS 6"] for network in NETWORKS})
    parts: list[Part] = [
        *(above(f"{network}, MS 1, %", 99.0, shares[network, "MS 1"], ">= 99") for network in NETWORKS),
        at_fifty,
        number("B1, MS 8, %", 27.0, shares["B1", "MS 8"], 3.0),
    ]

    def otherwise(answer: str) -> tuple[str, Part]:
        found = {}
        for network in NETWORKS:
            at = {"network": network, "scenario": "MS 6"}
            tcp = fifty.sample("R2", answer=answer, protocol="TCP", **at)
            found[network] = (runs.sample("R2", protocol="SCTP", **at) / tcp * 100.0).estimate
        return worst_of(found)

    tried = {answer: otherwise(answer) for answer in ANSWERS}
    moved = max(abs(float(part.measured) - float(at_fifty.measured)) for _, part in tried.values())
    rest = [shares[network, "MS 6"].mean for network in NETWORKS if network != worst]
    return builder.claim(
        "A-F55",
        parts,
        engines=STACKS,
        explanation=[
            Explanation(
                f"TCP otherwise where the thesis leaves it open: {answer}. The worst network is {where}.",
                runs=("fifty",),
                parts=(part,),
            )
            for answer, (where, part) in tried.items()
        ],
        note=f"The worst network is {worst}; in the others SCTP takes {min(rest):.0f} to {max(rest):.0f} % of TCP's time with 50 connections. Two "
        "printed numbers do not agree: where TCP takes 21 % longer with 50 connections than with one "
        f"(section 5.2.3), and SCTP as long as TCP with one, SCTP takes {100 / 1.21:.0f} % of TCP's time, not 90 %. What the thesis leaves "
        f"open of TCP moves the share by {moved:.1f} points at most.",
    )
