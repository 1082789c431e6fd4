"""Experiment XIV: from runs to verdicts, figures and a finding."""

import math

from matplotlib.figure import Figure

from anabranch_lab.judge.claims import Claim, ClaimBuilder, Explanation, Part, number, within
from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.run import grid
from anabranch_lab.run.grid import Grid
from anabranch_lab.run.results import Results
from anabranch_lab.show import plots

from ..common import phi

P, RTT, PACKET = 1e-4, 0.5, 12_000.0
MEASURES = {
    "mbps": f"{grid.of_flow('sf', 'goodput_wire_run_bps')} / 1e6",
    "timeouts": grid.of_flow("sf", "timeouts"),
}


def analyse(results: Results) -> Analysis:
    """What the lab asks an experiment for."""
    one, root, plain, flat, floor = (
        results.grid(name, MEASURES) for name in ("one", "root", "no-slow-start", "flat", "floor")
    )
    flat = flat.joined(results.grid("flat-many", MEASURES))
    level_plain = results.grid("flat-no-slow-start", MEASURES).joined(
        results.grid("flat-many-no-slow-start", MEASURES)
    )
    growing = one.joined(root)
    grown = (
        results.grid("one-long", MEASURES)
        .joined(results.grid("one-long-many", MEASURES))
        .joined(results.grid("root-long", MEASURES))
        .joined(results.grid("root-long-many", MEASURES))
    )
    claims = claim_builder(results)
    engine = results.plan.engines[0]
    level_1, level_n = (grown.curve("mbps", over="n", engine=engine, phi=name) for name in ("1", "n"))
    square = flat.curve("mbps", over="n", engine=engine, phi="n^2")
    return Analysis(
        claims=[
            exponents(claims, grown, growing, plain),
            level(claims, flat, level_plain, floor, results.grid("flat-many-starts", MEASURES)),
        ],
        figures=[
            Entry(
                "figure-5-27",
                "Fig. 5.27: throughput over the number of subflows",
                "Means and 95 % intervals; dotted lines are Eqs. 4.14 to 4.18.",
                lambda: figure_5_27(growing, flat, results.plan.engines),
            )
        ],
        findings=[
            f"Throughput grows as n to the power of {level_1.exponent().text(3)} with Phi = 1 and of {level_n.exponent().text(3)} with "
            f"Phi = n ({engine}). With Phi = n² it goes from {square.at(1).text(2)} to {square.at(27).text(2)} Mbit/s.",
        ],
    )


def exponents(builder: ClaimBuilder, long: Grid, short: Grid, plain: Grid) -> Claim:
    """Z-XIV-1; the engine that only stands beside has the shorter runs."""

    def of_root(engine: str, runs: Grid) -> Part:
        return number("Phi = n", 0.5, runs.curve("mbps", over="n", engine=engine, phi="n").exponent(), 0.05)

    def judge(engine: str) -> list[Part]:
        runs = long if engine == "ns2-2.28" else short
        one = runs.curve("mbps", over="n", engine=engine, phi="1")
        return [number("Phi = 1", 1.0, one.exponent(), 0.03), of_root(engine, runs)]

    started = [
        short.curve("mbps", over="n", engine="ns2-2.28", phi=name).exponent().text(3) for name in ("1", "n")
    ]

    without = plain.curve("mbps", over="n", engine="ns2-2.28", phi="n").exponent()
    return builder.claim(
        "Z-XIV-1",
        judge,
        note="With Phi = 1 and no bottleneck n subflows are n copies that know nothing of each other: throughput grows as n by "
        f"construction, and the part is a check of the runs. Shorter ones that start at the model's mean window have {started[0]} and "
        f"{started[1]}. Without what slow start adds after a fast retransmit the exponent with Phi = n is {without.text(3)} in those.",
        explanation=Explanation(
            "After a fast retransmit cwnd equals ssthresh, which is slow start: the next SACK adds a whole packet, as much as Phi round trips "
            "do, and Phi is n.",
            runs=("no-slow-start",),
            parts=(of_root("ns2-2.28", plain),),
        ),
    )


def level(builder: ClaimBuilder, runs: Grid, plain: Grid, floor: Grid, starts: Grid) -> Claim:
    """Z-XIV-2."""

    def times(source: Grid, engine: str, name: str, n: int):
        one = source.sample("mbps", engine=engine, phi=name, n=1)
        return source.sample("mbps", engine=engine, phi=name, n=n).over(one)

    def measured(engine: str, runs: Grid = runs) -> list[Part]:
        return [
            within(f"Phi = {name}: n = {n} / n = 1", 0.75, 1.25, times(runs, engine, name, n))
            for name in ("n^2", "2n^2")
            for n in (3, 9, 27)
        ]

    def judge(engine: str) -> list[Part]:
        return measured(engine) + [
            from_start(engine, name, start)
            for name in begun.get(engine, ())
            for start in starts.values("start")
        ]

    def from_start(engine: str, name: str, start: float) -> Part:
        """The 27 subflows again: a window lasts minutes, so the one that they begin with must not be what is measured."""
        many = starts.sample("mbps", engine=engine, phi=name, n=27, start=start)
        one = runs.sample("mbps", engine=engine, phi=name, n=1)
        return within(
            f"Phi = {name}: n = 27 / n = 1, first windows of {start / 1500:g} packets",
            0.75,
            1.25,
            many.over(one),
        )

    # What stands beside was run from one start.
    begun = {"ns2-2.28": ("n^2", "2n^2")}
    engine = "ns2-2.28"
    lifted = (
        floor.sample("mbps", engine=engine, phi="n^2", n=27)
        - runs.sample("mbps", engine=engine, phi="n^2", n=27)
    ).estimate
    return builder.claim(
        "Z-XIV-2",
        judge,
        note=f"A floor of 4 packets instead of 2 lifts n = 27 with Phi = n^2 by {lifted.text(2)} Mbit/s.",
        explanation=Explanation(
            "After a fast retransmit cwnd equals ssthresh, which is slow start: the next SACK adds a whole packet, as much as Phi round trips "
            "do. Windows of five packets cannot be halved below the floor of ssthresh either, which this variant leaves as it is.",
            runs=("flat-no-slow-start", "flat-many-no-slow-start"),
            parts=tuple(measured(engine, plain)),
        ),
        evidence=("floor",),
    )


def model(n: int, name: str) -> float:
    """Mbit/s (Eq. 4.14)."""
    return n * math.sqrt(1.5 / (P * phi.value(name, n))) * PACKET / RTT / 1e6


def figure_5_27(growing: Grid, flat: Grid, engines: tuple[str, ...]) -> Figure:
    """(a) Phi = 1 and n, (b) Phi = n^2 and 2 n^2."""
    figure, (a, b) = plots.panels(2)
    for axes, runs, names in ((a, growing, ("1", "n")), (b, flat, ("n^2", "2n^2"))):
        for name in names:
            for engine, line in zip(engines, ("-", "--"), strict=False):
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
