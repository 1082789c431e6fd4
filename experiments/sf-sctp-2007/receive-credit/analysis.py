"""X-9: from runs to a verdict, a figure and a finding."""

from matplotlib.figure import Figure

from anabranch_lab import grid, plots
from anabranch_lab.catalogue import ClaimBuilder
from anabranch_lab.claims import Claim, Part, above
from anabranch_lab.experiment import Analysis, claim_builder
from anabranch_lab.experiment import Figure as Entry
from anabranch_lab.grid import Grid
from anabranch_lab.results import Results

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

    def gain(grid: Grid, engine: str, memory: int):
        return (
            grid.sample("fast", engine=engine, level=1, memory=memory)
            - grid.sample("fast", engine=engine, level=0, memory=memory)
        ).estimate

    def judge(engine: str) -> list[Part]:
        return [
            above(
                f"fast subflow, own credit minus shared window, {memory} kB, Mbit/s",
                0.0,
                gain(runs, engine, memory),
            )
            for memory in runs.values("memory")
            if memory < 700
        ]

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
        plots.label(axes, title, "memory of the receiver, kB", "Mbit/s", log_x=True)
    panels[0].legend()
    return drawn
