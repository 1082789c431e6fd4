"""Experiment XIII: from runs to grades, a figure and a finding."""

import math

from matplotlib.figure import Figure

from anabranch_lab import stats
from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.run import grid
from anabranch_lab.run.grid import Grid, Sample
from anabranch_lab.run.results import Results
from anabranch_lab.show import plots

from ..common.estimates import without_luck

LOSSES = {1e-5: "p-1e-5", 1e-4: "p-1e-4", 1e-3: "p-1e-3"}
"""Sweeps by the loss of the link."""
PHI = (1, 2, 4, 8)
EVERY = (*map(str, PHI), "single")
RTT, PACKET = 0.5, 12_000.0

Runs = dict[float, Grid]


def model(p: float, phi: float, n: int) -> float:
    """Mbit/s of n subflows with Phi: n sqrt(3 / (2 p Phi)) packets in a round trip (Eq. 4.14)."""
    return n * math.sqrt(1.5 / (p * phi)) * PACKET / RTT / 1e6


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    mbps = f"{grid.of_flow('sf', 'goodput_wire_run_bps')} / 1e6"
    runs = {
        p: results.grid(sweep, {"mbps": mbps, "luck": grid.luck("lossy", p)}).only(
            engine=results.plan.engines[0]
        )
        for p, sweep in LOSSES.items()
    }
    shares = {
        f"p = {p:g}, Phi = {phi}": without_luck([pair(runs[p], str(phi)), pair(runs[p], "single")], over)
        for p in LOSSES
        for phi in PHI
    }
    roots = {
        f"exponent, Phi = {phi}": without_luck(
            [pair(runs[p], phi) for p in LOSSES], lambda means: stats.exponent(tuple(LOSSES), means)
        )
        for phi in EVERY
    }
    builder = claim_builder(results)
    told = ", ".join(shares[f"p = {1e-4:g}, Phi = {phi}"].text(2) for phi in PHI)
    return Analysis(
        claims=[
            builder.claim(
                "Z-XIII-1",
                shares,
                note="Every subflow has at least twenty cycles, and slow start ends at the same window whatever Phi is.",
            ),
            builder.claim("Z-XIII-2", roots),
        ],
        figures=[
            Entry(
                "figure-5-26",
                "Fig. 5.26: throughput of two subflows and of a single SCTP over the loss rate",
                "Means and 95 % intervals; dotted lines are Eq. 4.14.",
                lambda: figure_5_26(runs),
            )
        ],
        findings=[
            f"At p = 1e-4 two subflows get {told} times a single SCTP with Phi = 1, 2, 4 and 8; n / sqrt(Phi) is "
            f"{', '.join(f'{2 / math.sqrt(phi):.2f}' for phi in PHI)}."
        ],
    )


def pair(runs: Grid, phi: str) -> tuple[Sample, Sample]:
    """Throughput, and the luck of the losses."""
    return runs.sample("mbps", phi=phi), runs.sample("luck", phi=phi)


def over(means: list[float]) -> float:
    """The ratio of the first throughput to the second."""
    return means[0] / means[1]


def figure_5_26(runs: Runs) -> Figure:
    """Every Phi over the losses."""
    figure, (axes,) = plots.panels(1)
    for phi, colour in zip(EVERY, plots.CYCLE, strict=False):
        found = [pair(runs[p], phi)[0].controlled(pair(runs[p], phi)[1]) for p in LOSSES]
        name = "single SCTP" if phi == "single" else f"Φ = {phi}"
        look = {"marker": "o", "color": colour, "label": name, "capsize": 2}
        axes.errorbar(tuple(LOSSES), [e.mean for e in found], yerr=[e.half for e in found], **look)
        n, value = (1, 1.0) if phi == "single" else (2, float(phi))
        # One entry of the legend for all of them: they have the colours of their curves.
        told = "model (Eq. 4.14)" if phi == "1" else ""
        plots.model(axes, tuple(LOSSES), [model(p, value, n) for p in LOSSES], name=told, color=colour)
    plots.label(axes, "", "loss rate of the link", "throughput, Mbit/s", log_x=True, log_y=True)
    plots.legend_below(axes, 6)
    return figure
