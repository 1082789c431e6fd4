"""Analysis of packets: from recorded runs to Tables 5.1 to 5.4 and their claims."""

from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.run.results import Results

from ..common import packets, pages
from . import figures, judge, tables


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    runs, left_open = (results.grid(sweep, pages.MEASURES) for sweep in ("ms", "left-open"))
    seen, seen_open = (packets.measure(results, sweep) for sweep in ("packets", "left-open"))
    fifty = {"network": "B1", "scenario": "MS 6"}
    logs = tuple(packets.logs(results, sweep, fifty) for sweep in ("packets", "left-open"))
    claims = judge.claims(claim_builder(results), (runs, seen), (left_open, seen_open), logs)
    by_id = {claim.id: claim for claim in claims}
    printed = {part.at: part.value for part in by_id["A-MS8"].parts}
    idle = ", ".join(
        f"{pages.idle(runs, seen, network, 'MS 8').estimate.text(0)} % ({network}; printed {printed[f'{network}, % idle']:.0f})"
        for network in pages.NETWORKS
    )
    return Analysis(
        claims=claims,
        figures=figures.all_figures(results),
        tables=tables.all_tables(runs, seen, next(iter(logs[1].values())), by_id),
        findings=[
            f"Opening connections one after the other leaves the line without work: with 300 of them for {idle} of the time.",
            "The printed log (Table 5.1) shows two habits of its Linux 2.4 and its client: a last segment leaves with its FIN although the window is "
            "full, and the client left its side of finished connections open, where the text closes each at once.",
        ],
    )
