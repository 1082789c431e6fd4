"""Experiment IV: from runs to verdicts, figures and a finding."""

from anabranch_lab.experiment import Analysis, book
from anabranch_lab.sweep import Runner

from ..common import bottleneck
from . import figures, judge


def analyse(runner: Runner) -> Analysis:
    """What the lab asks an experiment for."""
    runs = runner.grid("subflows", bottleneck.MEASURES)
    recovery = runner.grid("recovery", bottleneck.MEASURES)
    claims = judge.claims(book(runner), runs, recovery)
    thesis, today = (runs.at("utilisation", engine=engine, n=1) for engine in runner.plan.engines)
    return Analysis(
        claims=claims,
        figures=figures.all_figures(runs, runner.plan.engines),
        findings=[
            f"One subflow uses {thesis.text()} % of the link with the rules of 2005 and {today.text()} % with RFC 9260; "
            "the thesis prints 92.0 %.",
        ],
    )
