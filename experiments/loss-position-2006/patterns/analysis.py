"""Damaged, late, slow: from runs to verdicts, figures and a finding."""

from matplotlib.figure import Figure

from anabranch_lab.judge.claims import Claim, ClaimBuilder, condition, exact
from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.run.results import Results
from anabranch_lab.show import plots

from ..common import flows, pictures
from ..common.flows import Table, text

PROTOCOLS = ("sctp", "tcp")
MEDIUM_PACKET = (1500 + 52) * 8 / 1000
"""Milliseconds of a full packet and its acknowledgement at 1000 kbit/s."""
CLEAN = {"sctp": "rfc9260", "tcp": "rfc"}
SHORT = {"sctp": "rfc9260, RTO.Min 200 ms", "tcp": "rfc, minimum RTO 200 ms"}


def analyse(results: Results) -> Analysis:
    """What the lab asks an experiment for."""
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
            "A delay that grows by 300 ms at a packet makes the server send "
            + " and ".join(
                f"{sum(runs[protocol, 'late'].at(flavour=SHORT[protocol])[k].again > 0 for k in range(1, 21))} of 20 "
                f"{protocol.upper()} flows"
                for protocol in PROTOCOLS
            )
            + " partly twice when the minimum RTO is 200 ms, none when it is one second. A tail loss probe is sent needlessly too: in "
            f"{sum(runs['tcp', 'late'].at(flavour='rack-cubic')[k].again > 0 for k in range(1, 21))} of 20 TCP flows with RACK-TLP, but it "
            "is one packet.",
        ],
    )


def damaged(made: ClaimBuilder, runs: dict[tuple[str, str], Table]) -> Claim:
    """H-X-3."""
    parts = []
    for protocol in PROTOCOLS:
        for place, row in runs[protocol, "damaged"].where(display="medium"):
            lost = runs[protocol, "lost"].at(**place)
            off = {k: abs(row[k].time - lost[k].time) for k in row}
            far = [k for k, difference in off.items() if difference > MEDIUM_PACKET]
            parts.append(
                exact(f"{protocol.upper()} {place['flavour']}: further off than a packet", "none", text(far))
            )
    return made.claim("H-X-3", parts, engines=("all",))


def late(made: ClaimBuilder, runs: dict[tuple[str, str], Table]) -> Claim:
    """H-X-4."""
    parts = []
    for protocol in PROTOCOLS:
        table = runs[protocol, "late"]
        long, short = table.at(flavour=CLEAN[protocol]), table.at(flavour=SHORT[protocol])
        again = [k for k in short.positions if short[k].again]
        parts += [
            exact(
                f"{CLEAN[protocol]}: sent again", "none", text([k for k in long.positions if long[k].again])
            ),
            condition(f"{SHORT[protocol]}: sent again", "some", text(again), bool(again)),
        ]
    return made.claim("H-X-4", parts, engines=("rfc9260", "rfc"))


def slow(made: ClaimBuilder, runs: dict[tuple[str, str], Table]) -> Claim:
    """H-X-5."""
    parts = []
    for protocol in PROTOCOLS:
        row = runs[protocol, "slow"].at(flavour=CLEAN[protocol])
        falls = all(row[k].time >= row[k + 1].time for k in range(4, 20))
        parts += [
            condition(f"{CLEAN[protocol]}: times from 4 to 20", "fall", "fall" if falls else "do not", falls),
            exact(f"{CLEAN[protocol]}: timeouts", "none", text(row.timed_out())),
        ]
    return made.claim("H-X-5", parts, engines=("rfc9260", "rfc"))


def panels(runs: dict[tuple[str, str], Table], protocol: str) -> Figure:
    """A panel for each thing that can happen to a packet."""
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
