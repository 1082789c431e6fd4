"""The networks and scenarios of the thesis, and the measures of a page (Tables 4.2 to 4.4, section 4.2.2)."""

from dataclasses import dataclass

from anabranch_lab.run import grid
from anabranch_lab.run.grid import Grid, Sample

PAGE = "page"
"""The flow of every scenario."""
LINK = "down"
"""From the server to the client."""

BASIC = {"Basic 1": 1_000, "Basic 2": 3_000, "Basic 3": 300_000}
"""Bytes of the one object."""
OBJECTS = {"MS 1": 1, "MS 2": 2, "MS 3": 5, "MS 4": 10, "MS 5": 30, "MS 6": 50, "MS 7": 100, "MS 8": 300}
"""How many objects of the same size make 300 000 bytes."""
PROTOCOLS = ("TCP", "SCTP")


@dataclass(frozen=True)
class Network:
    """One line of Table 4.4."""

    down: int
    """Bits per second from the server to the client."""
    up: int
    """Bits per second from the client to the server."""
    delay: float
    """Seconds one way."""


NETWORKS = {
    "GSM": Network(7_680, 7_680, 0.310),
    "Modem": Network(48_000, 33_600, 0.035),
    "B1": Network(60_000, 60_000, 0.180),
    "B2": Network(150_000, 150_000, 0.030),
    "B3": Network(400_000, 400_000, 0.012),
}

MEASURES = {
    # Seconds from just before the first connect to the first and to the last object; the end of connections not included.
    "R1": grid.first_object(PAGE),
    "R2": grid.last_object(PAGE),
    # The object that is complete first, from 0.
    "first": f"arg_min(object, completion_s) FILTER (kind = 'object' AND name = '{PAGE}')",
    "drops": grid.of_link(LINK, "drops_queue"),
    "losers": "count(*) FILTER (kind = 'flow' AND packets_lost > 0)",
    "fast_retransmits": grid.of_flow("%", "fast_retransmits"),
    "timeouts": grid.of_flow("%", "timeouts"),
}
"""Columns of a grid of pages."""


def longer(runs: Grid, network: str, scenario: str, protocol: str = "TCP", than: str = "MS 1") -> Sample:
    """How much longer R2 is than in another scenario, in percent: the circles of Fig. 5.2."""
    mine = runs.sample("R2", network=network, scenario=scenario, protocol=protocol)
    base = runs.sample("R2", network=network, scenario=than, protocol=protocol)
    return ((mine - base) / base) * 100.0


def share(runs: Grid, network: str, scenario: str, measure: str = "R2", tcp: Grid | None = None) -> Sample:
    """SCTP's result as a percentage of TCP's: Figs. 5.1 and 5.5; `tcp`: the runs of TCP, where they are others."""
    at = {"network": network, "scenario": scenario}
    mine = runs.sample(measure, protocol="SCTP", **at)
    return (mine / (tcp or runs).sample(measure, protocol="TCP", **at)) * 100.0


def longer_than_tcp(runs: Grid, network: str, scenario: str) -> Sample:
    """By how many percent SCTP's R2 is longer."""
    return share(runs, network, scenario) - 100.0


def idle(runs: Grid, packets: Grid, network: str, scenario: str) -> Sample:
    """Percent of R2 in which the line had nothing to send, with TCP."""
    whole = runs.sample("R2", network=network, scenario=scenario, protocol="TCP")
    return packets.sample("idle", network=network, scenario=scenario) / whole * 100.0


LEFT_OPEN = "the client closes nothing before the last object (Table 5.1)"
"""The other reading of when connections are closed."""
