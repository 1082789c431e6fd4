"""MS 1 to 8: from runs to grades, figures and the table of all results."""

from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.run.results import Results

from ..common import packets, pages
from . import checklist, figures, judge


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    runs, basic, left_open = (results.grid(sweep, pages.MEASURES) for sweep in ("ms", "basic", "left-open"))
    seen, seen_open = (packets.measure(results, sweep) for sweep in ("packets", "left-open"))
    claims = judge.claims(claim_builder(results), runs, seen, (left_open, seen_open))
    fifty = {n: pages.longer(runs, n, "MS 6").estimate for n in pages.NETWORKS}
    many = {n: pages.share(runs, n, "MS 8").estimate for n in pages.NETWORKS}
    return Analysis(
        claims=claims,
        figures=figures.all_figures(runs, {claim.id: claim for claim in claims}),
        tables=[checklist.table(basic, runs)],
        findings=[
            "With 300 connections of one packet each, SCTP needs "
            + ", ".join(f"{found.text(0)} % ({network})" for network, found in many.items())
            + " of TCP's time; the number of streams hardly changes SCTP's own.",
            "Fifty connections take "
            + ", ".join(f"{found.text(1)} % ({network})" for network, found in fifty.items())
            + " longer than one.",
        ],
    )
