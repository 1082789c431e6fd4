"""Experiment XIII: from runs to verdicts, figures and a finding."""

import math

from matplotlib.figure import Figure

from anabranch_lab import stats
from anabranch_lab.judge.claims import Claim, ClaimBuilder, Part, number
from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.run import grid
from anabranch_lab.run.grid import Grid, Sample
from anabranch_lab.run.results import Results
from anabranch_lab.show import plots

LOSSES = (1e-5, 1e-4, 1e-3)
PHI = (1, 2, 4, 8)
RTT, PACKET = 0.5, 12_000.0
MEASURES = {"mbps": f"{grid.of_flow('sf', 'goodput_wire_run_bps')} / 1e6"}

Runs = dict[float, Grid]


def model(p: float, phi: float, n: int) -> float:
    """Mbit/s of n subflows with Phi: n sqrt(3 / (2 p Phi)) packets in a round trip (Eq. 4.14)."""
    return n * math.sqrt(1.5 / (p * phi)) * PACKET / RTT / 1e6


def analyse(results: Results) -> Analysis:
    """What the lab asks an experiment for."""
    runs = {
        p: results.grid(f"p-{name}", MEASURES)
        for p, name in zip(LOSSES, ("1e-5", "1e-4", "1e-3"), strict=True)
    }
    # A start near the model's mean window, and a few cycles, would make the model's answer of the model's start.
    judged = {
        p: results.grid(f"p-{name}-long", MEASURES)
        for p, name in zip(LOSSES, ("1e-5", "1e-4", "1e-3"), strict=True)
    }
    claims = claim_builder(results)
    engine = results.plan.engines[0]
    return Analysis(
        claims=[shares(claims, judged, runs), root(claims, judged)],
        figures=[
            Entry(
                "figure-5-26",
                "Fig. 5.26: throughput of two subflows and of a single SCTP over the loss rate",
                "Means and 95 % intervals; dotted lines are Eq. 4.14.",
                lambda: figure_5_26(judged, results.plan.engines),
            )
        ],
        findings=[
            f"At p = 1e-4 two subflows get {times(judged[1e-4], engine, 1).text(2)}, {times(judged[1e-4], engine, 2).text(2)}, "
            f"{times(judged[1e-4], engine, 4).text(2)} and {times(judged[1e-4], engine, 8).text(2)} times a single SCTP with "
            f"Phi = 1, 2, 4 and 8 ({engine}); n / sqrt(Phi) is 2, 1.41, 1 and 0.71.",
        ],
    )


def times(runs: Grid, engine: str, phi: int) -> stats.Estimate:
    """What two subflows get, as a multiple of a single SCTP."""
    both, single = (runs.sample("mbps", engine=engine, phi=name) for name in (str(phi), "single"))
    return both.over(single)


def shares(builder: ClaimBuilder, runs: Runs, short: Runs) -> Claim:
    """Z-XIII-1."""

    def judge(engine: str) -> list[Part]:
        parts = []
        for p in LOSSES:
            for phi in PHI:
                expected = 2 / math.sqrt(phi)
                tolerance = (0.12 if p == 1e-3 else 0.08) * expected
                parts.append(
                    number(f"p = {p:g}, Phi = {phi}", expected, times(runs[p], engine, phi), tolerance)
                )
        return parts

    engine = "ns2-2.28"
    started = ", ".join(f"{times(short[1e-5], engine, phi).text(2)} (Phi = {phi})" for phi in PHI)
    return builder.claim(
        "Z-XIII-1",
        judge,
        note="Every subflow has at least twenty cycles, and slow start ends at the same window whatever Phi is. Runs "
        f"of 480 s that start at the model's own mean window have, at 1e-5, {started}: that is what they were given.",
    )


def root(builder: ClaimBuilder, runs: Runs) -> Claim:
    """Z-XIII-2."""

    def judge(engine: str) -> list[Part]:
        parts = []
        for phi in (*map(str, PHI), "single"):
            samples: list[Sample] = [runs[p].sample("mbps", engine=engine, phi=phi) for p in LOSSES]
            # The sweeps may have stopped after different numbers of seeds.
            seeds = [seed for seed in samples[0].seeds if all(seed in sample.seeds for sample in samples)]
            slopes = [
                stats.exponent(LOSSES, [sample.values[sample.seeds.index(seed)] for sample in samples])
                for seed in seeds
            ]
            least = max(sample.least for sample in samples)
            parts.append(number(f"exponent, Phi = {phi}", -0.5, stats.estimate(slopes, least), 0.03))
        return parts

    return builder.claim("Z-XIII-2", judge)


def figure_5_26(runs: Runs, engines: tuple[str, ...]) -> Figure:
    """A panel for each engine."""
    figure, panels = plots.panels(len(engines))
    for axes, engine in zip(panels, engines, strict=True):
        for phi, colour in zip((*map(str, PHI), "single"), plots.CYCLE, strict=False):
            found = [runs[p].at("mbps", engine=engine, phi=phi) for p in LOSSES]
            name = "single SCTP" if phi == "single" else f"Φ = {phi}"
            axes.errorbar(
                LOSSES,
                [e.mean for e in found],
                yerr=[e.half for e in found],
                marker="o",
                color=colour,
                label=name,
                capsize=2,
            )
            n, value = (1, 1.0) if phi == "single" else (2, float(phi))
            # One entry of the legend for all of them: they have the colours of their curves.
            told = "model (Eq. 4.14)" if phi == "1" else ""
            plots.model(axes, LOSSES, [model(p, value, n) for p in LOSSES], name=told, color=colour)
        plots.label(axes, engine, "loss rate of the link", "throughput, Mbit/s", log_x=True, log_y=True)
    plots.legend_below(panels[0], 6)
    return figure
