"""Experiment XVII: figures and a finding; its claims are judged with those of experiment XVI."""

from anabranch_lab.judge.experiment import Analysis
from anabranch_lab.run import series
from anabranch_lab.run.results import Results

from ..common import deterministic, deterministic_figures, phi


def analyse(results: Results) -> Analysis:
    """What the lab asks an experiment for."""
    single = series.measure(results, "single", deterministic.single_look("XVII"))
    runs = deterministic.measured(results)
    engine = results.plan.engines[0]
    length = single.at("cycle", engine=engine, n=1)
    rises = "; ".join(
        f"{runs.at('goodput', engine=engine, n=1, phi=name).text(2)} and {runs.at('goodput', engine=engine, n=25, phi=name).text(2)} "
        f"({phi.LABELS[name]})"
        for name in phi.NAMES
    )
    return Analysis(
        claims=[],
        figures=deterministic_figures.all_figures({"XVII": results}, {"XVII": runs}),
        findings=[
            f"With one subflow a cycle lasts {length.text(2)} s ({engine}); the model says "
            f"{deterministic.network('XVII').low().length:.2f} s, ns-2.35 has 9.65 s.",
            f"Goodput of one subflow and of 25, Mbit/s: {rises}.",
        ],
    )
