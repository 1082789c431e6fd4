"""Clean engines: from runs to grades, figures and a finding."""

from anabranch_lab.judge.experiment import Analysis, Table, claim_builder
from anabranch_lab.run.results import Results

from ..common import flows, pictures
from . import figures, judge

NAMES = {
    "sctp": {
        "rfc2960": "SCTP, RFC 2960 (2000)",
        "rfc9260": "SCTP, RFC 9260 (2022)",
        "rfc9260-rack": "SCTP, RFC 9260 with RACK-TLP",
        "linux-6.1": "SCTP of Linux 6.1",
    },
    "tcp": {
        "newreno": "TCP, RFC 6582, no SACK",
        "rfc": "TCP, RFC 5681, 6675, 6298",
        "rack-cubic": "TCP, RFC 8985, 9438",
        "linux-6.1": "TCP of Linux 6.1",
    },
}
"""The flavours, the older first."""


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    runs = {protocol: flows.Table(results, protocol) for protocol in NAMES}
    runs["two-subflows"] = flows.Table(results, "two-subflows")
    spreads = {protocol: spread(results, f"{protocol}-again") for protocol in NAMES}
    events = results.rows(
        "window", "SELECT * FROM runs WHERE entity LIKE '%sender' ORDER BY time_ns", kind="trace"
    )
    return Analysis(
        claims=judge.claims(claim_builder(results), runs, spreads),
        figures=figures.all_figures(runs, NAMES, events),
        tables=[
            tail(runs),
            *(
                pictures.ours(
                    runs[protocol],
                    {name: {"flavour": flavour} for flavour, name in flavours.items()},
                    f"Our own transmission times: {protocol.upper()}",
                )
                for protocol, flavours in NAMES.items()
            ),
        ],
        headline=tail(runs),
        findings=findings(runs),
        sentence=sentence(runs),
    )


def spread(results: Results, sweep: str) -> float:
    """Largest difference between replications of a flow, ms."""
    runs = results.grid(sweep, {"time": flows.MEASURES["time"]})
    return max(max(cell["time"]) - min(cell["time"]) for cell in runs.cells.values())


def tail(runs: dict[str, flows.Table]) -> Table:
    """The cost of a loss near the end, flavour by flavour."""
    places = range(15, 21)
    rows = []
    for protocol, flavours in NAMES.items():
        for flavour, name in flavours.items():
            row = runs[protocol].at(flavour=flavour, display="medium")
            rows.append([name, f"{row[0].time:.0f}", *(f"{row.extra(k):.0f}" for k in (1, *places))])
    return Table(
        "Medium: what a lost packet costs at the end of a flow, ms",
        ["flavour", "no loss", "1 lost", *(f"{k} lost" for k in places)],
        rows,
        "SCTP: 15 to 18 are DATA, 19 is SHUTDOWN. TCP: 15 to 19 are data, the last with FIN. Position 20 is the last packet.",
    )


def tail_cost(runs: dict[str, flows.Table], protocol: str, flavour: str) -> str:
    """The mean cost of the loss of one of the last four data packets, ms."""
    row = runs[protocol].at(flavour=flavour, display="medium")
    last = range(15, 19) if protocol == "sctp" else range(16, 20)
    return f"{sum(row.extra(k) for k in last) / 4:.0f}"


def sentence(runs: dict[str, flows.Table]) -> str:
    """The main findings in words."""
    old, new, rack = (tail_cost(runs, "sctp", name) for name in ("rfc2960", "rfc9260", "rfc9260-rack"))
    return (
        f"In a short SCTP flow the loss of one of the last four data packets costs {old} ms by the rules of 2000, {new} ms by those of "
        f"2022, and {rack} ms once losses are found by time (RACK-TLP)."
    )


def findings(runs: dict[str, flows.Table]) -> list[str]:
    """Sentences on the effect of later RFCs on the cost of losses near the end."""

    def cost(protocol: str, flavour: str) -> str:
        return tail_cost(runs, protocol, flavour)

    def waits(protocol: str, flavour: str) -> str:
        return flows.text(runs[protocol].at(flavour=flavour, display="medium").waits())

    again = runs["sctp"].at(flavour="rfc9260", display="medium")
    return [
        "What twenty years of RFCs did to the tail: little in SCTP, until losses are found by time. At medium one of the last four DATA "
        f"packets lost costs {cost('sctp', 'rfc2960')} ms on average by the rules of 2000, {cost('sctp', 'rfc9260')} ms by those of 2022, "
        f"{cost('sctp', 'linux-6.1')} ms in Linux 6.1 and {cost('sctp', 'rfc9260-rack')} ms with RACK-TLP. One of TCP's last four costs "
        f"{cost('tcp', 'newreno')} ms without SACK, {cost('tcp', 'rfc')} ms by RFC 6675 and {cost('tcp', 'rack-cubic')} ms with RACK-TLP.",
        f"Positions that need a timer at medium: {waits('sctp', 'rfc2960')} (RFC 2960), {waits('sctp', 'rfc9260')} (RFC 9260), "
        f"{waits('sctp', 'rfc9260-rack')} (with RACK-TLP); TCP: {waits('tcp', 'newreno')} (three duplicates), "
        f"{waits('tcp', 'rfc')} (RFC 6675), {waits('tcp', 'rack-cubic')} (RACK-TLP).",
        "What did change in SCTP is the head: a lost INIT ACK costs one second, not three, because RTO.Initial is one second, and "
        f"a lost COOKIE ACK {again.extra(2) / 1000:.1f} s. A lost SHUTDOWN still costs a whole RTO: it is not DATA, and no probe stands for it.",
    ]
