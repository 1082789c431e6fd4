"""The claims of Basic 1 to 3."""

from collections.abc import Mapping

from anabranch_lab.judge.claims import Claim, ClaimBuilder, Part, exact, number, number_in, within
from anabranch_lab.run.grid import Grid

from ..common.pages import NETWORKS, PROTOCOLS, STACKS, share

BASIC_1 = {"GSM": 9.7, "Modem": 13.4, "B1": 3.6, "B2": 6.8, "B3": 6.5}
"""How much longer SCTP takes, percent: from the sizes of the packets that the thesis shows."""


def claims(builder: ClaimBuilder, runs: Grid, wire: Mapping[str, Mapping[str, int]]) -> list[Claim]:
    """The claims of the catalogue that name this experiment."""
    longer = {
        (network, scenario): (share(runs, network, scenario) - 100.0).estimate
        for network in NETWORKS
        for scenario in ("Basic 1", "Basic 2", "Basic 3")
    }
    one: list[Part] = [
        number(f"{network}, %", printed, longer[network, "Basic 1"], 1.5)
        for network, printed in BASIC_1.items()
    ]
    one += [
        number_in(f"{network}, % (4 to 13)", 4 - 1.5, 13 + 1.5, longer[network, "Basic 1"])
        for network in NETWORKS
    ]
    three: list[Part] = [
        number_in(f"{network}, % (3 to 6)", 3 - 1.5, 6 + 1.5, longer[network, "Basic 2"])
        for network in NETWORKS
    ]
    three.append(number("GSM, %", 5.2, longer["GSM", "Basic 2"], 1.5))
    all_of_it: list[Part] = []
    for network in NETWORKS:
        sctp, tcp = (
            runs.sample("R2", network=network, scenario="Basic 3", protocol=each)
            for each in reversed(PROTOCOLS)
        )
        all_of_it.append(
            within(f"{network}, SCTP in % of TCP", 99.0, 101.0, share(runs, network, "Basic 3").estimate)
        )
        all_of_it.append(within(f"{network}, difference in s", -1.0, 1.0, (sctp - tcp).estimate))
    data = wire["TCP"]["data"] - wire["SCTP"]["data"]
    opening = wire["SCTP"]["opening"] - wire["TCP"]["opening"]
    all_of_it += [
        exact("bytes of data packets, TCP - SCTP", 860, data),
        exact("bytes of the handshake, SCTP - TCP", 240, opening),
        exact("bytes in all, TCP - SCTP", 620, data - opening),
    ]
    return [
        builder.claim("A-B1", one, engines=STACKS),
        builder.claim("A-B2", three, engines=STACKS),
        builder.claim(
            "A-B3",
            all_of_it,
            engines=STACKS,
            note="Bytes with the header of the capture, from one recorded run.",
        ),
    ]
