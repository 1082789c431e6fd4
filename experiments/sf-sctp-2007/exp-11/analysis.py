"""Experiment XI: from runs to grades, figures and a finding."""

from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.run import cycles, series
from anabranch_lab.run.grid import Grid, Sample
from anabranch_lab.run.results import Results

from ..common import background, readings


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    engine = results.plan.engines[0]
    runs, spread = (background.judged(results, name) for name in ("runs", "spread"))
    seen = {
        name: series.measure(results, name, look).only(engine=engine)
        for name in ("sampled", "sampled-spread")
    }
    taken = runs.curve("share", over="n", background="exponential")
    heights = {kind: seen["sampled"].at("height", background=kind, n=1) for kind in ("cbr", "exponential")}
    return Analysis(
        claims=[
            claim_builder(results).claim(
                "Z-XI-1",
                order(runs, seen["sampled"]),
                readings={readings.SPREAD: order(spread, seen["sampled-spread"])},
            )
        ],
        figures=[
            background.over_time(
                results, "exponential", "figure-5-22", "Fig. 5.22: beside exponential on/off traffic"
            )
        ],
        findings=[
            "Beside exponential on/off traffic SCTP takes "
            + ", ".join(f"{taken.at(n).text()} % with n = {n}" for n in (1, 2, 4))
            + ".",
            f"The highest autocorrelation of the window is {heights['cbr'].text(2)} beside constant traffic and "
            f"{heights['exponential'].text(2)} here.",
        ],
    )


def look(samples: series.Samples) -> dict[str, float]:
    """Measures how periodic the window of a run is."""
    sender = samples.sender("sf")
    return {"height": cycles.period([float(v) for v in sender.cwnd], sender.interval, 3.0, 30.0)[1]}


def order(runs: Grid, seen: Grid) -> dict[str, Sample]:
    """Shares, and how periodic the window is beside constant traffic and here."""
    taken = {n: runs.sample("share", n=n, background="exponential") for n in (1, 2, 4)}
    steady, random = (seen.sample("height", n=1, background=kind) for kind in ("cbr", "exponential"))
    return {**background.ordered(taken, "share"), "autocorrelation: beside CBR minus here": steady - random}
