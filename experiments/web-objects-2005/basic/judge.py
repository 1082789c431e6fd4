"""Judges of the claims about Basic 1 to 3."""

from collections.abc import Mapping

from anabranch_lab.judge.claims import Claim, ClaimBuilder
from anabranch_lab.judge.comparison import Measured
from anabranch_lab.run.grid import Grid, Sample

from ..common.pages import NETWORKS, longer_than_tcp, share


def claims(builder: ClaimBuilder, runs: Grid, wire: Mapping[str, Mapping[str, int]]) -> list[Claim]:
    """The claims of the catalogue that name this experiment."""
    one, three = (
        {network: longer_than_tcp(runs, network, scenario) for network in NETWORKS}
        for scenario in ("Basic 1", "Basic 2")
    )
    data = wire["TCP"]["data"] - wire["SCTP"]["data"]
    opening = wire["SCTP"]["opening"] - wire["TCP"]["opening"]
    caught_up: dict[str, Measured] = {}
    for network in NETWORKS:
        sctp, tcp = (
            runs.sample("R2", network=network, scenario="Basic 3", protocol=each) for each in ("SCTP", "TCP")
        )
        caught_up[f"{network}, SCTP in % of TCP"] = share(runs, network, "Basic 3")
        caught_up[f"{network}, difference in s"] = sctp - tcp
    return [
        builder.claim("A-B1", {**_longer(one), "bytes of the handshake, SCTP less TCP": str(opening)}),
        builder.claim("A-B2", _longer(three)),
        builder.claim(
            "A-B-D",
            {
                **{f"{network}, Basic 1, % longer": found for network, found in one.items()},
                "GSM, Basic 2, % longer": three["GSM"],
            },
        ),
        builder.claim(
            "A-B3",
            {
                **caught_up,
                "bytes of data packets, TCP less SCTP": str(data),
                "bytes in all, TCP less SCTP": str(data - opening),
            },
            note="Bytes with the header of the capture, from one recorded run.",
        ),
    ]


def _longer(found: Mapping[str, Sample]) -> dict[str, Measured]:
    """The extra time of SCTP in each network, and in those with the least and the most."""
    ends = [pick(found.values(), key=lambda sample: sample.estimate.mean) for pick in (min, max)]
    return {
        **{f"{network}, % longer": sample for network, sample in found.items()},
        "least of the networks, % longer": ends[0],
        "most of the networks, % longer": ends[1],
    }
