"""Experiment X: from runs to grades, figures and a finding."""

from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.run.grid import Grid, Sample
from anabranch_lab.run.results import Results

from ..common import background, readings


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    runs, spread = (background.judged(results, name) for name in ("runs", "spread"))
    claim = claim_builder(results).claim("Z-X-1", order(runs), readings={readings.SPREAD: order(spread)})
    taken = runs.curve("share", over="n", background="square")
    return Analysis(
        claims=[claim],
        figures=[
            background.over_time(
                results, "square", "figure-5-21", "Fig. 5.21: beside a square wave of 8 Mbit/s"
            )
        ],
        findings=[
            "Beside the square wave SCTP takes "
            + ", ".join(f"{taken.at(n).text()} % with n = {n}" for n in (1, 2, 4))
            + ".",
        ],
    )


def order(runs: Grid) -> dict[str, Sample]:
    """The order of the shares beside the square wave, and the shares beside constant traffic minus those."""
    square, cbr = (
        {n: runs.sample("share", n=n, background=kind) for n in (1, 2, 4)} for kind in ("square", "cbr")
    )
    return {
        **background.ordered(square, "share"),
        **{f"beside CBR minus beside the square wave, n = {n}, pp": cbr[n] - square[n] for n in (1, 2, 4)},
    }
