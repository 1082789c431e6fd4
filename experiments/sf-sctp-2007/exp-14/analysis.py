"""Experiment XIV: from runs to grades, a figure and a finding."""

import math

from matplotlib.figure import Figure

from anabranch_lab import stats
from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.run import grid
from anabranch_lab.run.grid import Grid
from anabranch_lab.run.results import Results
from anabranch_lab.show import plots
from anabranch_lab.stats import Estimate

from ..common import phi
from ..common.estimates import without_luck

P, RTT, PACKET = 1e-4, 0.5, 12_000.0
MEASURES = {
    "mbps": f"{grid.of_flow('sf', 'goodput_wire_run_bps')} / 1e6",
    "luck": grid.luck("lossy", P),
}


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    engine = results.plan.engines[0]
    one, root, flat = (
        results.grid(name, MEASURES).joined(results.grid(f"{name}-many", MEASURES))
        for name in ("one", "root", "flat")
    )
    growing = one.joined(root).only(engine=engine)
    growth = {f"Phi = {name}": exponent(growing, name) for name in ("1", "n")}
    level = {
        f"Phi = {name}: n = {n} / n = 1, minus 1": more(flat.only(engine=engine), name, n)
        for name in ("n^2", "2n^2")
        for n in (3, 9, 27)
    }
    builder = claim_builder(results)
    square = flat.curve("mbps", over="n", engine=engine, phi="n^2")
    return Analysis(
        claims=[
            builder.claim(
                "Z-XIV-1",
                growth,
                note="With Phi = 1 and no bottleneck n subflows are n copies that know nothing of each other: throughput grows as n "
                "by construction, and the part is a check of the runs.",
            ),
            builder.claim("Z-XIV-2", level),
        ],
        figures=[
            Entry(
                "figure-5-27",
                "Fig. 5.27: throughput over the number of subflows",
                "Means and 95 % intervals; dotted lines are Eqs. 4.14 to 4.18.",
                lambda: figure_5_27(one.joined(root), flat),
            )
        ],
        findings=[
            f"Throughput grows as n to the power of {growth['Phi = 1'].text(3)} with Phi = 1 and of {growth['Phi = n'].text(3)} with "
            f"Phi = n. With Phi = n² it goes from {square.at(1).text(2)} to {square.at(27).text(2)} Mbit/s.",
        ],
    )


def exponent(runs: Grid, name: str) -> Estimate:
    """The power of n with which throughput grows."""
    x = runs.values("n")
    pairs = [tuple(runs.sample(each, phi=name, n=n) for each in ("mbps", "luck")) for n in x]
    return without_luck(pairs, lambda means: stats.exponent(x, means))


def more(runs: Grid, name: str, n: int) -> Estimate:
    """The relative gain of n subflows over one."""
    pairs = [tuple(runs.sample(each, phi=name, n=at) for each in ("mbps", "luck")) for at in (n, 1)]
    return without_luck(pairs, lambda means: means[0] / means[1] - 1)


def model(n: int, name: str) -> float:
    """Mbit/s (Eq. 4.14)."""
    return n * math.sqrt(1.5 / (P * phi.value(name, n))) * PACKET / RTT / 1e6


def figure_5_27(growing: Grid, flat: Grid) -> Figure:
    """(a) Phi = 1 and n, (b) Phi = n^2 and 2 n^2."""
    figure, (a, b) = plots.panels(2)
    for axes, runs, names in ((a, growing, ("1", "n")), (b, flat, ("n^2", "2n^2"))):
        for name in names:
            for engine, line in zip(runs.values("engine"), ("-", "--"), strict=False):
                curve = runs.curve("mbps", over="n", engine=engine, phi=name)
                plots.curve(axes, curve, f"{phi.LABELS[name]}, {engine}", linestyle=line, **phi.LOOK[name])
            x = [int(n) for n in runs.values("n")]
            # One entry of the legend for both: they have the colours of their curves.
            told = "model (Eqs. 4.14 to 4.18)" if name == names[0] else ""
            plots.model(axes, x, [model(n, name) for n in x], name=told, color=phi.LOOK[name]["color"])
        axes.legend(fontsize=8)
    plots.label(a, "(a) Φ = 1 and n", "number of subflows", "throughput, Mbit/s", log_x=True, log_y=True)
    plots.label(b, "(b) Φ = n² and 2n²", "number of subflows", "throughput, Mbit/s")
    b.set_ylim(bottom=0)
    return figure
