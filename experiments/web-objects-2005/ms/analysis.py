"""MS 1 to 8: from runs to verdicts, figures and the table of all results."""

from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.run.results import Results

from ..common import packets, pages
from . import checklist, figures, judge


def analyse(results: Results) -> Analysis:
    """What the lab asks an experiment for."""
    runs = results.grid("ms", pages.MEASURES)
    basic = results.grid("basic", pages.MEASURES)
    variants = {sweep: results.grid(sweep, pages.MEASURES) for sweep in ("no-delay", "buffer-40", "fifty")}
    claims = judge.claims(claim_builder(results), runs, packets.measure(results, "packets"), variants)
    fifty = {n: pages.longer(runs, n, "MS 6").estimate for n in pages.NETWORKS}
    many = {n: pages.share(runs, n, "MS 8").estimate for n in pages.NETWORKS}
    return Analysis(
        claims=claims,
        figures=figures.all_figures(runs),
        tables=[checklist.table(basic, runs)],
        findings=[
            "With 300 connections of one packet each, SCTP needs "
            + ", ".join(f"{found.text(0)} % ({network})" for network, found in many.items())
            + " of TCP's time; the number of streams hardly changes SCTP's own.",
            "Fifty connections take "
            + ", ".join(f"{found.text(1)} % ({network})" for network, found in fifty.items())
            + " longer than one; the thesis prints 2 to 21 %.",
        ],
    )
