"""Experiment XVI, and the claims about XVI and XVII: from runs to grades, figures and a finding."""

from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.run import series
from anabranch_lab.run.results import Results

from ..common import deterministic, deterministic_figures
from . import judge


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    both = deterministic.every(results)
    runs = {told: deterministic.measured(each) for told, each in both.items()}
    single, by_window = (
        {told: deterministic.single(each, told, sweep) for told, each in both.items()}
        for sweep in ("single", "single-window")
    )
    rates = {
        told: each.grid("single-window", deterministic.MEASURES).only(engine=results.plan.engines[0])
        for told, each in both.items()
    }
    cut, slow, late = (
        series.measure(results, name, deterministic.cut_look) for name in ("cuts", "cuts-slow", "cuts-late")
    )
    length = single["XVI"].at("cycle", n=1)
    return Analysis(
        claims=judge.claims(
            claim_builder(results),
            runs,
            single,
            cut.joined(slow).joined(late).only(engine=results.plan.engines[0]),
            by_window,
            rates,
        ),
        figures=deterministic_figures.all_figures(both, runs),
        findings=[
            f"With one subflow a cycle lasts {length.text(2)} s, {by_window['XVI'].at('cycle', n=1).text(2)} s with one cut each window; the model says "
            f"{deterministic.network('XVI').low().length:.2f} s.",
        ],
    )
