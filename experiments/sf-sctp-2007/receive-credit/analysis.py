"""X-9: from runs to a verdict, a figure and a finding."""

import itertools

from matplotlib.figure import Figure

from anabranch_lab.judge.comparison import Measured
from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.run import grid
from anabranch_lab.run.grid import Grid, Sample
from anabranch_lab.run.results import Results
from anabranch_lab.show import plots

MEASURES = {
    # Mbit/s.
    "slow": f"{grid.of_subflow('sf', 0, 'goodput_wire_run_bps')} / 1e6",
    "fast": f"{grid.of_subflow('sf', 1, 'goodput_wire_run_bps')} / 1e6",
}


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    runs, lossy = (results.grid(name, MEASURES).only(engine="rfc9260") for name in ("memory", "lossy"))
    told = "; ".join(
        f"{memory} kB: {runs.at('fast', level=0, memory=memory).text(2)} and "
        f"{runs.at('fast', level=1, memory=memory).text(2)}"
        for memory in runs.values("memory")
    )
    more = ", ".join(
        f"{gain(lossy, memory).estimate.text(3)} Mbit/s at {memory} kB" for memory in lossy.values("memory")
    )
    claim = claim_builder(results).claim(
        "X-9", cost(runs), engine="rfc9260", note=f"With ten times the losses on the slow path: {more}."
    )
    return Analysis(
        claims=[claim],
        figures=[
            Entry(
                "figure-receive-credit",
                "X-9: throughput over the memory of the receiver",
                "Means and 95 % intervals; (a) the fast subflow, (b) the slow one.",
                lambda: figure(runs),
            )
        ],
        findings=[
            f"Mbit/s of the fast subflow with one window for all and with a credit of its own, at equal memory: {told}."
        ],
    )


def gain(runs: Grid, memory: int) -> Sample:
    """The gain of the fast subflow by a credit of its own."""
    return runs.sample("fast", level=1, memory=memory) - runs.sample("fast", level=0, memory=memory)


def cost(runs: Grid) -> dict[str, Measured]:
    """At the scarce memories: less than the capacity of both paths (about 0.7 MB)."""
    scarce = [memory for memory in runs.values("memory") if memory < 700]
    parts: dict[str, Measured] = {}
    for memory in scarce:
        slow = [runs.sample("slow", level=level, memory=memory) for level in (0, 1)]
        parts[f"fast subflow, own credit minus shared window, {memory} kB, Mbit/s"] = gain(runs, memory)
        kept = slow[1] - slow[0] * 0.95
        parts[f"slow subflow, own credit minus 0.95 times shared window, {memory} kB, Mbit/s"] = kept
        both = gain(runs, memory) + (slow[1] - slow[0])
        parts[f"both, own credit minus shared window, {memory} kB, Mbit/s"] = both
    # Twice the memory with a shared window gives less than a credit of its own.
    for memory, twice in itertools.pairwise(scarce):
        more = runs.sample("fast", level=0, memory=twice) - runs.sample("fast", level=1, memory=memory)
        parts[f"fast subflow, shared window of {twice} kB minus own credit in {memory} kB, Mbit/s"] = more
    return parts


def figure(runs: Grid) -> Figure:
    """Both subflows, both levels."""
    drawn, panels = plots.panels(2)
    for axes, name, title in zip(
        panels, ("fast", "slow"), ("(a) fast subflow", "(b) slow subflow"), strict=True
    ):
        for level, colour in zip(runs.values("level"), plots.CYCLE, strict=False):
            curve = runs.curve(name, over="memory", level=level)
            axes.errorbar(
                curve.x,
                curve.means,
                yerr=curve.halves,
                label=f"level {level}",
                color=colour,
                marker="o",
                markersize=4,
                capsize=2,
            )
        plots.label(axes, title, "memory of the receiver, kB", "goodput, Mbit/s", log_x=True)
    panels[0].legend()
    return drawn
