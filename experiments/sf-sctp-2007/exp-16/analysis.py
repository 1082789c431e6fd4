"""Experiment XVI, and the claims about XVI and XVII: from runs to grades, figures and a finding."""

from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.run import series
from anabranch_lab.run.results import Results

from ..common import deterministic, deterministic_figures
from . import judge


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    both = deterministic.every(results)
    engine = results.plan.engines[0]
    runs, runs_window = (
        {told: deterministic.measured(each, sweeps) for told, each in both.items()}
        for sweeps in (deterministic.SWEEPS, deterministic.WINDOW_SWEEPS)
    )
    single, by_window = (
        {told: deterministic.single(each, told, sweep) for told, each in both.items()}
        for sweep in ("single", "single-window")
    )
    rates = {
        told: each.grid("single-window", deterministic.MEASURES).only(engine=engine)
        for told, each in both.items()
    }
    cut, slow, late, cut_window = (
        series.measure(results, name, deterministic.cut_look).only(engine=engine)
        for name in ("cuts", "cuts-slow", "cuts-late", "cuts-window")
    )
    alone = {told: each.only(phi="1") for told, each in runs.items()}
    length = single["XVI"].at("cycle", n=1)
    return Analysis(
        claims=judge.claims(
            claim_builder(results),
            judge.Seen(single, alone, runs, cut.joined(slow).joined(late)),
            judge.Seen(by_window, rates, runs_window, cut_window),
        ),
        figures=deterministic_figures.all_figures(both, runs),
        findings=[
            f"With one subflow a cycle lasts {length.text(2)} s, {by_window['XVI'].at('cycle', n=1).text(2)} s with one cut each window; the model says "
            f"{deterministic.network('XVI').low().length:.2f} s.",
        ],
    )
