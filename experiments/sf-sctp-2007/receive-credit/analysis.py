"""X-9: from runs to a verdict, a figure and a finding."""

import itertools

from matplotlib.figure import Figure

from anabranch_lab.judge.claims import Claim, ClaimBuilder, Part, above, below
from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.run import grid
from anabranch_lab.run.grid import Grid, Sample
from anabranch_lab.run.results import Results
from anabranch_lab.show import plots
from anabranch_lab.stats import Estimate

MEASURES = {
    # Mbit/s.
    "slow": f"{grid.of_subflow('sf', 0, 'goodput_wire_run_bps')} / 1e6",
    "fast": f"{grid.of_subflow('sf', 1, 'goodput_wire_run_bps')} / 1e6",
}

ENGINE = "rfc9260"


def analyse(results: Results) -> Analysis:
    """What the lab asks an experiment for."""
    runs = results.grid("memory", MEASURES)
    lossy = results.grid("lossy", MEASURES)
    told = "; ".join(
        f"{memory} kB: {runs.at('fast', engine=ENGINE, level=0, memory=memory).text(2)} and "
        f"{runs.at('fast', engine=ENGINE, level=1, memory=memory).text(2)}"
        for memory in runs.values("memory")
    )
    return Analysis(
        claims=[memory_cost(claim_builder(results), runs, lossy)],
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


def memory_cost(builder: ClaimBuilder, runs: Grid, lossy: Grid) -> Claim:
    """X-9, at the memories that are scarce: less than what both paths hold (about 0.7 MB)."""

    def got(grid: Grid, engine: str, level: int, memory: int, which: str = "fast") -> Sample:
        return grid.sample(which, engine=engine, level=level, memory=memory)

    def gain(grid: Grid, engine: str, memory: int) -> Estimate:
        return (got(grid, engine, 1, memory) - got(grid, engine, 0, memory)).estimate

    def judge(engine: str) -> list[Part]:
        scarce = [memory for memory in runs.values("memory") if memory < 700]
        parts: list[Part] = []
        for memory in scarce:
            slow = got(runs, engine, 1, memory, "slow") - got(runs, engine, 0, memory, "slow") * 0.95
            both = [
                got(runs, engine, level, memory) + got(runs, engine, level, memory, "slow")
                for level in (0, 1)
            ]
            parts += [
                above(
                    f"fast subflow, own credit minus shared window, {memory} kB, Mbit/s",
                    0.0,
                    gain(runs, engine, memory),
                ),
                above(
                    f"slow subflow, own credit minus 0.95 times shared window, {memory} kB, Mbit/s",
                    0.0,
                    slow.estimate,
                ),
                above(
                    f"both, own credit minus shared window, {memory} kB, Mbit/s",
                    0.0,
                    (both[1] - both[0]).estimate,
                ),
            ]
        # Twice the memory does not buy what a credit gives.
        for memory, twice in itertools.pairwise(scarce):
            more = got(runs, engine, 0, twice) - got(runs, engine, 1, memory)
            parts.append(
                below(
                    f"fast subflow, shared window of {twice} kB minus own credit in {memory} kB, Mbit/s",
                    0.0,
                    more.estimate,
                )
            )
        return parts

    note = "With ten times the losses on the slow path: " + ", ".join(
        f"{gain(lossy, ENGINE, memory).text(3)} Mbit/s at {memory} kB" for memory in lossy.values("memory")
    )
    return builder.claim("X-9", judge, engines=(ENGINE,), note=note + ".")


def figure(runs: Grid) -> Figure:
    """Both subflows, both levels."""
    drawn, panels = plots.panels(2)
    for axes, name, title in zip(
        panels, ("fast", "slow"), ("(a) fast subflow", "(b) slow subflow"), strict=True
    ):
        for level, colour in zip(runs.values("level"), plots.CYCLE, strict=False):
            curve = runs.curve(name, over="memory", engine=ENGINE, level=level)
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
