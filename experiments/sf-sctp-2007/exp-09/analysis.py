"""Experiment IX: from runs to grades, figures and a finding."""

from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.run.grid import Grid
from anabranch_lab.run.results import Results
from anabranch_lab.stats import Estimate

from ..common import background


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    runs, spread = (background.judged(results, name) for name in ("runs", "spread"))
    claim = claim_builder(results).claim("Z-IX-1", shares(runs), readings={background.SPREAD: shares(spread)})
    taken = runs.curve("share", over="n", background="cbr")
    return Analysis(
        claims=[claim],
        figures=[
            background.over_time(
                results, "cbr", "figure-5-20", "Fig. 5.20: beside constant traffic of 5 Mbit/s"
            )
        ],
        findings=[
            f"One subflow takes {taken.at(1).text()} % of the bottleneck, four take {taken.at(4).text()} %."
        ],
    )


def shares(runs: Grid) -> dict[str, Estimate]:
    """Percent of the packets of the bottleneck, on the wire."""
    taken = runs.curve("share", over="n", background="cbr")
    return {f"n = {n}, %": taken.at(n) for n in (1, 4)}
