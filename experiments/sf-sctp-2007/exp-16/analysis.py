"""Experiment XVI, and the claims about XVI and XVII: from runs to verdicts, figures and a finding."""

from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.run import series
from anabranch_lab.run.results import Results

from ..common import deterministic, deterministic_figures
from . import judge


def analyse(results: Results) -> Analysis:
    """What the lab asks an experiment for."""
    both = deterministic.every(results)
    runs = {told: deterministic.measured(each) for told, each in both.items()}
    single = {
        told: series.measure(each, "single", deterministic.single_look(told)) for told, each in both.items()
    }
    timeouts = results.grid("timeouts", deterministic.MEASURES)
    plain = {told: each.grid("no-slow-start", deterministic.MEASURES) for told, each in both.items()}
    cut, slow, late = (
        series.measure(results, name, deterministic.cut_look) for name in ("cuts", "cuts-slow", "cuts-late")
    )
    engine = results.plan.engines[0]
    length = single["XVI"].at("cycle", engine=engine, n=1)
    return Analysis(
        claims=judge.claims(
            claim_builder(results, both["XVII"]),
            runs,
            single,
            cut.joined(slow).joined(late),
            judge.Variants(timeouts, plain),
        ),
        figures=deterministic_figures.all_figures(both, runs),
        findings=[
            f"With one subflow a cycle lasts {length.text(2)} s ({engine}); the model says "
            f"{deterministic.network('XVI').low().length:.2f} s, ns-2.35 has 15.51 s.",
        ],
    )
