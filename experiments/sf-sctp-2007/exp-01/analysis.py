"""Experiment I: from runs to grades, figures and a finding."""

import dataclasses
import itertools
import math

import numpy as np
from matplotlib.figure import Figure

from anabranch_lab.judge.comparison import Measured
from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.run import grid
from anabranch_lab.run.grid import Curve, Grid, Sample
from anabranch_lab.run.results import Results
from anabranch_lab.show import plots
from anabranch_lab.stats import ratio

PACKET = 12_000.0
"""Bits of a packet of 1500 bytes."""

ROOT = f"{PACKET} * sqrt(1.5 / nullif({{p}}, 0)) / nullif({{rtt}}, 0)"
"""Eq. 4.18 with n = Phi = 1, the rate of loss indications of Eq. 5.1 and the mean round trip as measured."""


def _model(name: str, number: int | None = None) -> str:
    def column(which: str) -> str:
        return grid.of_flow(name, which) if number is None else grid.of_subflow(name, number, which)

    return ROOT.format(p=column("loss_indication_rate"), rtt=column("srtt_mean_s"))


def _lost(name: str) -> str:
    return f"{grid.of_flow(name, 'packets_lost')} / nullif({grid.of_flow(name, 'packets_sent')}, 0)"


RATE = "goodput_wire_run_bps"

MEASURES = {
    # Bits per second.
    "original": grid.of_flow("original", RATE),
    "shared": grid.of_flow("shared", RATE),
    "sf": grid.of_flow("sf", RATE),
    "sf_be": grid.of_subflow("sf", 0, RATE),
    "sf_non_be": grid.of_subflow("sf", 1, RATE),
    "shared_non_be": grid.of_subflow("shared", 1, RATE),
    "model_original": _model("original"),
    "model_shared": _model("shared"),
    "model_sf_be": _model("sf", 0),
    "model_sf_non_be": _model("sf", 1),
    # Losses for each packet of the background.
    "p_be": _lost("be-%"),
    "p_non_be": _lost("non-be-%"),
}
PRINTED = tuple(f"{tenths / 10:g}" for tenths in range(1, 10))
"""The shares that the figures have, 10 to 90 %; 5 % is drawn besides, and no claim judges it."""
HALF = "50 % of the queue"
"""The other reading of "the bandwidth share of non-BE is 50 %": that of the queue, and not equal losses."""


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    runs = results.grid("shares", MEASURES).only(engine=results.plan.engines[0])
    builder = claim_builder(results)
    times = _over(runs, "sf", "shared", "0.9")
    low, high = (_curve(runs, name).at(0.9) for name in ("p_be", "p_non_be"))
    found = _parity(runs)
    return Analysis(
        claims=[
            builder.claim(
                "Z-I-1",
                {
                    f"{name}, a = {a}: simulated / model": _over(runs, name, f"model_{name}", a)
                    for name in ("original", "shared", "sf_be", "sf_non_be")
                    for a in PRINTED
                },
                note="The model has no timeouts: it is for rates of loss well below those of short queues.",
            ),
            builder.claim(
                "Z-I-2",
                {f"shared / original, a = {a}": _over(runs, "shared", "original", a) for a in PRINTED},
                note="Half of the shared association's packets lose less where marked packets have more of the queue, and more where "
                "they have next to nothing: Eq. 4.27 has no one ratio either.",
            ),
            builder.claim(
                "Z-I-3",
                {"SF-SCTP / shared, a = 0.9": times},
                note="The rates of Fig. 5.1 are lost; the bottleneck was chosen so that both classes lose as unequally as the printed ratio needs.",
            ),
            builder.claim(
                "Z-I-4",
                {f"SF-SCTP / {name}": _between(runs, name, found) for name in ("shared", "original")},
                note="No parity was found."
                if math.isnan(found)
                else f"Both classes lose alike at a = {found:.2f}; between points.",
                readings={
                    HALF: {
                        f"SF-SCTP / {name}": _over(runs, "sf", name, "0.5") for name in ("shared", "original")
                    }
                },
            ),
            builder.claim("Z-I-5", classes(runs, found)),
        ],
        figures=[
            Entry(
                "figure-5-2",
                "Fig. 5.2: throughput of BE and non-BE flows",
                "Means and 95 % intervals; dotted lines are the models.",
                lambda: figure_5_2(runs),
            ),
            Entry(
                "figure-5-3",
                "Fig. 5.3: throughput of the associations",
                "Means and 95 % intervals.",
                lambda: figure_5_3(runs),
            ),
        ],
        findings=[
            f"With 90 % of the queue for marked packets SF-SCTP gets {times.text(1)} times what the shared association gets; best effort "
            f"then loses {100 * low.mean:.2g} %, marked packets {100 * high.mean:.2g} %.",
        ],
    )


def _over(runs: Grid, name: str, other: str, a: str):
    return runs.sample(name, marked=a).over(runs.sample(other, marked=a))


def _curve(runs: Grid, name: str) -> Curve:
    """A measure over a as a number: in the plan its values are names."""
    curve = runs.curve(name, over="marked")
    return dataclasses.replace(curve, x=tuple(float(x) for x in curve.x))


def _parity(runs: Grid) -> float:
    """The share at which both classes of the background have the same loss, by linear interpolation of the logarithms; NaN where there is none."""
    be, marked = (_curve(runs, name) for name in ("p_be", "p_non_be"))
    if be.means.min() > 0 and marked.means.min() > 0:
        gap = np.log(be.means / marked.means)
        for i in range(len(gap) - 1):
            if gap[i] <= 0 < gap[i + 1]:
                return float(be.x[i] + (be.x[i + 1] - be.x[i]) * -gap[i] / (gap[i + 1] - gap[i]))
    return math.nan


def _between(runs: Grid, name: str, a: float) -> Measured:
    """The rate of SF-SCTP over that of the other association, between two points."""
    if math.isnan(a):
        return math.nan
    sf, other = (_curve(runs, each) for each in ("sf", name))
    values = [[float(np.interp(a, c.x, row)) for row in c.values] for c in (sf, other)]
    return ratio(*values, max(sf.least, other.least))


def classes(runs: Grid, parity: float) -> dict[str, Measured]:
    """Z-I-5: the difference of both associations beyond parity, and the gain of both classes by the next share."""
    mine, yours = (_curve(runs, name) for name in ("sf_non_be", "shared_non_be"))
    more: dict[str, Measured] = {
        f"non-BE: SF-SCTP minus shared, a = {x:g}, Mbit/s": (mine.sample(x) - yours.sample(x)) * 1e-6
        for x in mine.x
        if x > parity
    }
    if not more:
        # Without a point of parity no share lies beyond it.
        more = {"non-BE: SF-SCTP minus shared, no a": math.nan}

    def next_one(name: str, a: str, b: str) -> Sample:
        return (runs.sample(name, marked=b) - runs.sample(name, marked=a)) * 1e-6

    return {
        **more,
        **{
            f"{told}, a = {b} minus a = {a}, Mbit/s": next_one(name, a, b)
            for name, told in (("sf_be", "BE"), ("sf_non_be", "non-BE"))
            for a, b in itertools.pairwise(PRINTED)
        },
    }


def _draw(runs: Grid, shown: dict[str, str], modelled: bool) -> Figure:
    figure, (axes,) = plots.panels(1)
    for (measure, name), colour in zip(shown.items(), plots.CYCLE, strict=False):
        curve = _curve(runs, measure)
        look = {"label": name, "color": colour, "marker": "o", "markersize": 4, "capsize": 2}
        axes.errorbar(curve.x, curve.means / 1e6, yerr=curve.halves / 1e6, **look)
        if modelled and f"model_{measure}" in MEASURES:
            means = _curve(runs, f"model_{measure}").means / 1e6
            if np.isfinite(means).all():
                plots.model(axes, curve.x, list(means), name=f"model of {name}", color=colour)
    plots.label(axes, "", "share of the queue for non-BE, a", "throughput, Mbit/s", log_y=True)
    plots.legend_below(axes)
    return figure


def figure_5_2(runs: Grid) -> Figure:
    """Flows by class."""
    shown = {
        "original": "original",
        "sf_be": "SF-SCTP, BE",
        "sf_non_be": "SF-SCTP, non-BE",
        "shared_non_be": "shared, non-BE",
    }
    return _draw(runs, shown, True)


def figure_5_3(runs: Grid) -> Figure:
    """Associations."""
    return _draw(runs, {"original": "original", "shared": "SF-SCTP-shared", "sf": "SF-SCTP"}, False)
