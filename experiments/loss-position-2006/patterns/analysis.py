"""Damaged, delayed and slow packets: from runs to grades, figures and a finding."""

from matplotlib.figure import Figure

from anabranch_lab.judge.claims import Claim, ClaimBuilder
from anabranch_lab.judge.comparison import Measured
from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.run.results import Results
from anabranch_lab.show import plots

from ..common import flows, pictures
from ..common.flows import Table

PROTOCOLS = ("sctp", "tcp")
MEDIUM_PACKET = (1500 + 52) * 8 / 1000
"""Milliseconds of a full packet and its acknowledgement at 1000 kbit/s."""
CLEAN = {"sctp": "rfc9260", "tcp": "rfc"}
SHORT = {"sctp": "rfc9260, RTO.Min 200 ms", "tcp": "rfc, minimum RTO 200 ms"}


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    runs = {
        (protocol, kind): flows.Table(results, f"{protocol}-{kind}")
        for protocol in PROTOCOLS
        for kind in ("damaged", "lost", "late", "slow")
    }
    made = claim_builder(results)
    return Analysis(
        claims=[damaged(made, runs), late(made, runs), slow(made, runs)],
        figures=[
            Entry(
                f"{protocol}-patterns",
                f"Beyond the report: damaged, late and slow, {protocol.upper()}, medium",
                "Circles: a fast retransmit. Triangles: a timeout. At position 0 nothing happens.",
                lambda protocol=protocol: panels(runs, protocol),
            )
            for protocol in PROTOCOLS
        ],
        findings=[
            f"A delay that grows by 300 ms at a packet makes the server send {again(runs, 'sctp', SHORT['sctp'])} of 20 SCTP flows and "
            f"{again(runs, 'tcp', SHORT['tcp'])} of 20 TCP flows partly twice when the minimum RTO is 200 ms, none when it is one second. "
            f"A tail loss probe is sent needlessly too: in {again(runs, 'tcp', 'rack-cubic')} of 20 TCP flows with RACK-TLP, but it is one packet.",
        ],
    )


def again(runs: dict[tuple[str, str], Table], protocol: str, flavour: str) -> int:
    """The number of flows with a longer delay that send data again."""
    row = runs[protocol, "late"].at(flavour=flavour)
    return sum(row[k].again > 0 for k in row.positions)


def damaged(made: ClaimBuilder, runs: dict[tuple[str, str], Table]) -> Claim:
    """H-X-3."""
    found: dict[str, Measured] = {}
    for protocol in PROTOCOLS:
        for place, row in runs[protocol, "damaged"].where(display="medium"):
            lost = runs[protocol, "lost"].at(**place)
            most = max(abs(row[k].time - lost[k].time) for k in row)
            at = f"{protocol.upper()} {place['flavour']}: largest difference, times of a packet and its SACK"
            found[at] = most / MEDIUM_PACKET
    return made.claim("H-X-3", found)


def late(made: ClaimBuilder, runs: dict[tuple[str, str], Table]) -> Claim:
    """H-X-4."""
    found: dict[str, Measured] = {}
    for protocol in PROTOCOLS:
        for timeout, flavours in (("1 s", CLEAN), ("200 ms", SHORT)):
            at = f"{protocol.upper()}, minimum RTO {timeout}: flows that send something again"
            found[at] = again(runs, protocol, flavours[protocol])
    return made.claim("H-X-4", found)


def slow(made: ClaimBuilder, runs: dict[tuple[str, str], Table]) -> Claim:
    """H-X-5."""
    found: dict[str, Measured] = {}
    for protocol in PROTOCOLS:
        row = runs[protocol, "slow"].at(flavour=CLEAN[protocol])
        told = protocol.upper()
        falls = [row[k].time - row[k + 1].time for k in range(4, 20)]
        found[f"{told}: ms faster with each position from 4 on, at least"] = min(falls)
        found[f"{told}: flows with a timeout"] = len(row.timed_out())
    return made.claim("H-X-5", found)


def panels(runs: dict[tuple[str, str], Table], protocol: str) -> Figure:
    """A panel for each fault of a packet."""
    figure, axes = plots.panels(3, height=3.4)
    titles = {
        "damaged": "(a) a flipped bit",
        "late": "(b) delay 340 ms from here on",
        "slow": "(c) 125 kbit/s from here on",
    }
    for panel, (kind, title) in zip(axes, titles.items(), strict=True):
        at = {"display": "medium"} if kind == "damaged" else {}
        for index, (place, row) in enumerate(runs[protocol, kind].where(**at)):
            look = {"linestyle": "-" if index == 0 else "--"}
            pictures.times(panel, row, place["flavour"], plots.CYCLE[index], **look)
        plots.label(panel, title, "position", "transmission time, ms")
        panel.set_ylim(bottom=0)
        panel.set_xticks(range(0, 21, 5))
    axes[2].legend()
    return figure
