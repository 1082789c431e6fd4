"""Experiment XVII: figures and a finding; its claims are judged with those of experiment XVI."""

from anabranch_lab.judge.experiment import Analysis
from anabranch_lab.run.results import Results

from ..common import deterministic, deterministic_figures, phi


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    length, by_window = (
        deterministic.single(results, "XVII", sweep).at("cycle", n=1) for sweep in ("single", "single-window")
    )
    runs = deterministic.measured(results)
    used = runs.at("utilisation", n=1, phi="1")
    model = deterministic.network("XVII").low()
    rises = "; ".join(
        f"{runs.at('goodput', n=1, phi=name).text(2)} and {runs.at('goodput', n=25, phi=name).text(2)} ({phi.LABELS[name]})"
        for name in phi.NAMES
    )
    return Analysis(
        claims=[],
        figures=deterministic_figures.all_figures({"XVII": results}, {"XVII": runs}),
        findings=[
            f"With one subflow a cycle lasts {length.text(2)} s, {by_window.text(2)} s with one cut each window; the model says {model.length:.2f} s. "
            f"The link is busy for {used.text()} % of the time, in the model for {100 * model.utilisation:.1f} %.",
            f"Goodput of one subflow and of 25, Mbit/s: {rises}.",
        ],
    )
