"""The table of all results: five networks, eleven scenarios, two protocols, R1 and R2."""

from anabranch_lab.judge.experiment import Table
from anabranch_lab.run.grid import Grid

from ..common.pages import BASIC, NETWORKS, OBJECTS, PROTOCOLS


def table(basic: Grid, ms: Grid) -> Table:
    """220 values, each a mean with its 95 % interval. The thesis prints few of them; these are ours."""
    rows = []
    for network in NETWORKS:
        for scenario in (*BASIC, *OBJECTS):
            runs = basic if scenario in BASIC else ms
            cells = [
                runs.at(measure, network=network, scenario=scenario, protocol=protocol).text(3)
                for protocol in PROTOCOLS
                for measure in ("R1", "R2")
            ]
            rows.append((network, scenario, *cells))
    return Table(
        "R1 and R2 of every network, scenario and protocol, seconds",
        ("network", "scenario", "TCP R1", "TCP R2", "SCTP R1", "SCTP R2"),
        rows,
        note="Our own times, with their 95 % intervals: the thesis shows its own in figures without numbers.",
        open=False,
    )
