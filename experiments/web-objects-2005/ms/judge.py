"""Judges of the claims about the times R1 and R2 of MS 1 to 8."""

import itertools
from collections.abc import Mapping

from anabranch_lab.judge.claims import Claim, ClaimBuilder
from anabranch_lab.judge.comparison import Measured
from anabranch_lab.run.grid import Grid, Sample

from ..common.pages import LEFT_OPEN, NETWORKS, OBJECTS, PROTOCOLS, idle, longer, share


def claims(builder: ClaimBuilder, runs: Grid, packets: Grid, left_open: tuple[Grid, Grid]) -> list[Claim]:
    """The claims of the catalogue that name this experiment. `left_open`: times and packets of the other reading."""
    derived, measured = fifty(runs, packets), fifty(*left_open)
    return [
        streams(builder, runs),
        few(builder, runs, packets),
        builder.claim(
            "A-MS5",
            {f"{network}, % longer": longer(runs, network, "MS 5") for network in NETWORKS},
        ),
        builder.claim("A-MS6", derived, readings={LEFT_OPEN: measured}),
        builder.claim("A-MS6-D", _never_idle(derived), readings={LEFT_OPEN: _never_idle(measured)}),
        first(builder, runs),
        builder.claim("A-F55", compared(runs, runs), readings={LEFT_OPEN: compared(runs, left_open[0])}),
    ]


def _r(runs: Grid, measure: str, network: str, scenario: str, protocol: str = "TCP") -> Sample:
    return runs.sample(measure, network=network, scenario=scenario, protocol=protocol)


def streams(builder: ClaimBuilder, runs: Grid) -> Claim:
    """A-MS-S."""
    found: dict[str, Measured] = {}
    for network in NETWORKS:
        times = [_r(runs, "R2", network, scenario, "SCTP") for scenario in OBJECTS]
        times.sort(key=lambda each: each.estimate.mean)
        found[f"{network}, longest / shortest"] = times[-1] / times[0]
    return builder.claim("A-MS-S", found)


def few(builder: ClaimBuilder, runs: Grid, packets: Grid) -> Claim:
    """A-MS1..4."""
    found: dict[str, Measured] = {}
    for network in NETWORKS:
        for scenario in ("MS 2", "MS 3", "MS 4"):
            found[f"{network}, {scenario}, % longer"] = longer(runs, network, scenario)
            if scenario != "MS 3":
                found[f"{network}, {scenario}, drops"] = _r(runs, "drops", network, scenario)
            if scenario != "MS 4":
                gaps = packets.sample("gaps", network=network, scenario=scenario)
                found[f"{network}, {scenario}, s idle once full"] = gaps
        found[f"{network}, MS 2, connections that lose packets"] = _r(runs, "losers", network, "MS 2")
        found[f"{network}, MS 2, fast retransmits"] = _r(runs, "fast_retransmits", network, "MS 2")
        found[f"{network}, MS 2, overflows"] = packets.sample("overflows", network=network, scenario="MS 2")
    drops = [_r(runs, "drops", network, "MS 3") for network in NETWORKS]
    found["MS 3, drops in one of the networks"] = max(drops, key=lambda each: each.estimate.mean)
    return builder.claim(
        "A-MS1..4",
        found,
        note="Two connections overflow the buffer once, for long, where the thesis sees two overflows. Over B3 one of them then waits for a timeout.",
    )


def fifty(runs: Grid, packets: Grid) -> dict[str, Measured]:
    """The values for claim A-MS6."""
    return {
        **{f"{network}, % longer": longer(runs, network, "MS 6") for network in NETWORKS},
        **{f"{network}, % idle": idle(runs, packets, network, "MS 6") for network in NETWORKS},
    }


def _never_idle(found: Mapping[str, Measured]) -> dict[str, Measured]:
    """The networks whose line always has something to send."""
    return {at: value for at, value in found.items() if at.endswith("longer") and not at.startswith("B1")}


def first(builder: ClaimBuilder, runs: Grid) -> Claim:
    """A-R1."""
    found: dict[str, Measured] = {}
    for network in NETWORKS:
        for scenario in OBJECTS:
            sctp, tcp = (_r(runs, "R1", network, scenario, protocol) for protocol in ("SCTP", "TCP"))
            found[f"{network}, {scenario}, SCTP's R1 / TCP's R1"] = sctp / tcp
        for protocol in PROTOCOLS:
            for before, after in itertools.pairwise(OBJECTS):
                fall = _r(runs, "R1", network, before, protocol) - _r(runs, "R1", network, after, protocol)
                found[f"{network}, {protocol}'s R1 falls from {before} to {after}, s"] = fall
                winner = _r(runs, "first", network, after, protocol)
                found[f"{network}, {after}, {protocol}: first object"] = winner
    return builder.claim(
        "A-R1",
        found,
        note="SCTP's first stream is done when all but the last packets of the others are: the more objects, the sooner, but also the more packets, "
        "where objects end with packets that are not full.",
    )


def compared(runs: Grid, tcp: Grid) -> dict[str, Measured]:
    """The values for claim A-F55."""
    many = [share(runs, network, "MS 6", tcp=tcp) for network in NETWORKS]
    return {
        **{f"{network}, MS 1, %": share(runs, network, "MS 1", tcp=tcp) for network in NETWORKS},
        "MS 6, least of the networks, %": min(many, key=lambda each: each.estimate.mean),
        "B1, MS 8, %": share(runs, "B1", "MS 8", tcp=tcp),
    }
