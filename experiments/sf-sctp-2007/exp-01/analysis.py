"""Experiment I: from runs to verdicts, figures and a finding."""

import dataclasses
import math

import numpy as np
from matplotlib.figure import Figure

from anabranch_lab.judge.claims import (
    Claim,
    ClaimBuilder,
    Explanation,
    Part,
    above,
    condition,
    number,
    ordered,
    within,
)
from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.run import grid
from anabranch_lab.run.grid import Curve, Grid, Sample
from anabranch_lab.run.results import Results
from anabranch_lab.show import plots
from anabranch_lab.stats import Estimate, ratio

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
    # Timeouts of the association in best effort, for each of its fast retransmits.
    "late": f"{grid.of_flow('original', 'timeouts')} / nullif({grid.of_flow('original', 'fast_retransmits')}, 0)",
    # Of every packet of the background.
    "p_be": _lost("be-%"),
    "p_non_be": _lost("non-be-%"),
}


def analyse(results: Results) -> Analysis:
    """What the lab asks an experiment for."""
    runs = results.grid("shares", MEASURES)
    rates = results.grid("rates", MEASURES)
    claims = claim_builder(results)
    engine = results.plan.engines[0]
    times = _at(runs, "sf", engine, "0.9").over(_at(runs, "shared", engine, "0.9"))
    low, high = (_curve(runs, name, engine).at(0.9) for name in ("p_be", "p_non_be"))
    return Analysis(
        claims=[
            models(claims, runs),
            false_sharing(claims, runs),
            eight(claims, runs, rates),
            parity(claims, runs),
            classes(claims, runs),
        ],
        figures=[
            Entry(
                "figure-5-2",
                "Fig. 5.2: throughput of BE and non-BE flows",
                "Means and 95 % intervals; dotted lines are the models.",
                lambda: figure_5_2(runs, results.plan.engines),
            ),
            Entry(
                "figure-5-3",
                "Fig. 5.3: throughput of the associations",
                "Means and 95 % intervals.",
                lambda: figure_5_3(runs, results.plan.engines),
            ),
        ],
        findings=[
            f"With 90 % of the queue for marked packets SF-SCTP gets {times.text(1)} times what the shared association gets "
            f"({engine}; the thesis prints almost 8); best effort then loses {100 * low.mean:.2g} %, "
            f"marked packets {100 * high.mean:.2g} %.",
        ],
    )


PRINTED = tuple(f"{tenths / 10:g}" for tenths in range(1, 10))
"""The shares that the figures have, 10 to 90 %; 5 % is drawn besides, and judged by nothing."""


def _at(runs: Grid, name: str, engine: str, a: str) -> Sample:
    return runs.sample(name, engine=engine, marked=a)


def _curve(runs: Grid, name: str, engine: str) -> Curve:
    """Over a as a number: the plan names its values."""
    curve = runs.curve(name, over="marked", engine=engine)
    return dataclasses.replace(curve, x=tuple(float(x) for x in curve.x))


def _parity(runs: Grid, engine: str) -> float | None:
    """The share at which both classes of the background lose alike, by linear interpolation of the logarithms."""
    be, marked = (_curve(runs, name, engine) for name in ("p_be", "p_non_be"))
    if not (be.means.min() > 0 and marked.means.min() > 0):
        return None
    gap = np.log(be.means / marked.means)
    for i in range(len(gap) - 1):
        if gap[i] <= 0 < gap[i + 1]:
            return float(be.x[i] + (be.x[i + 1] - be.x[i]) * -gap[i] / (gap[i + 1] - gap[i]))
    return None


def models(builder: ClaimBuilder, runs: Grid) -> Claim:
    """Z-I-1."""

    def judge(engine: str) -> list[Part]:
        return [
            within(
                f"{name}, a = {a}: simulated / model",
                0.85,
                1.15,
                _at(runs, name, engine, a).over(_at(runs, f"model_{name}", engine, a)),
            )
            for name in ("original", "shared", "sf_be", "sf_non_be")
            for a in PRINTED
        ]

    return builder.claim(
        "Z-I-1",
        judge,
        note="The model has no timeouts: it is for rates of loss well below those of short queues.",
    )


def false_sharing(builder: ClaimBuilder, runs: Grid) -> Claim:
    """Z-I-2."""

    def judge(engine: str) -> list[Part]:
        return [
            within(
                f"shared / original, a = {a}",
                0.9,
                1.5,
                _at(runs, "shared", engine, a).over(_at(runs, "original", engine, a)),
            )
            for a in PRINTED
        ]

    def late(a: str) -> Sample:
        return runs.sample("late", engine="ns2-2.28", marked=a)

    def fit(a: str) -> Estimate:
        """Measured over modelled: what the two associations should have, by the losses that each of them saw."""
        measured, model = (
            runs.sample(f"{kind}shared", engine="ns2-2.28", marked=a)
            / runs.sample(f"{kind}original", engine="ns2-2.28", marked=a)
            for kind in ("", "model_")
        )
        return (measured / model).estimate

    return builder.claim(
        "Z-I-2",
        judge,
        explanation=Explanation(
            "The ratio is not the same for every share a: half of the shared association's packets lose less where marked packets have more of "
            "the queue, and more where they have next to nothing. It is what the model gives for the losses measured, but for a = 0.9: there the "
            "original, which is all best effort, has timeouts, which the model does not know.",
            runs=("shares",),
            parts=(
                *(
                    number(f"shared / original over its model, a = {a}", 1.0, fit(a), 0.15)
                    for a in PRINTED
                    if a != "0.9"
                ),
                above(
                    "timeouts of the original for each fast retransmit, a = 0.9 minus a = 0.5",
                    0.0,
                    (late("0.9") - late("0.5")).estimate,
                ),
            ),
        ),
    )


def eight(builder: ClaimBuilder, runs: Grid, rates: Grid) -> Claim:
    """Z-I-3."""

    def judge(engine: str) -> list[Part]:
        return [
            number(
                "SF-SCTP / shared, a = 0.9",
                8.0,
                _at(runs, "sf", engine, "0.9").over(_at(runs, "shared", engine, "0.9")),
                2.0,
            )
        ]

    others = [
        Explanation(
            f"The same with {rate} Mbit/s.",
            runs=("rates",),
            parts=(
                number(
                    "SF-SCTP / shared, a = 0.9",
                    8.0,
                    ratio(
                        *(
                            rates.sample(name, engine="ns2-2.28", marked="0.9", rate=rate).values
                            for name in ("sf", "shared")
                        )
                    ),
                    2.0,
                ),
            ),
        )
        for rate in rates.values("rate")
    ]
    return builder.claim(
        "Z-I-3",
        judge,
        note="The rates of Fig. 5.1 are lost; the bottleneck has 130 Mbit/s here, which was chosen so that both classes lose as unequally as "
        "the printed ratio needs.",
        explanation=others,
    )


def parity(builder: ClaimBuilder, runs: Grid) -> Claim:
    """Z-I-4."""

    def judge(engine: str) -> list[Part]:
        a = _parity(runs, engine)
        if a is None:
            return [condition("share at which both classes lose alike", "one", "none found", False)]
        parts: list[Part] = []
        for name in ("shared", "original"):
            sf, other = (_curve(runs, each, engine) for each in ("sf", name))
            values = [[float(np.interp(a, c.x, row)) for row in c.values] for c in (sf, other)]
            least = max(sf.least, other.least)
            parts.append(number(f"SF-SCTP / {name} at parity", 2.0, ratio(*values, least), 0.25))
        return parts

    found = _parity(runs, "ns2-2.28")
    return builder.claim(
        "Z-I-4",
        judge,
        note="No parity was found."
        if found is None
        else f"Both classes lose alike at a = {found:.2f}; between points.",
    )


def classes(builder: ClaimBuilder, runs: Grid) -> Claim:
    """Z-I-5."""

    def judge(engine: str) -> list[Part]:
        a = _parity(runs, engine)
        mine, yours = (_curve(runs, name, engine) for name in ("sf_non_be", "shared_non_be"))
        beyond = [x for x in mine.x if a is not None and x > a]
        names = [f"a = {each}" for each in PRINTED]
        return [
            condition("points beyond parity", "at least 3", str(len(beyond)), len(beyond) >= 3),
            *(
                above(
                    f"non-BE: SF-SCTP minus shared, a = {x:g}, Mbit/s",
                    0.0,
                    ((mine.sample(x) - yours.sample(x)) * 1e-6).estimate,
                )
                for x in beyond
            ),
            *ordered("BE throughput", names, [_at(runs, "sf_be", engine, each) * 1e-6 for each in PRINTED]),
            *ordered(
                "non-BE throughput",
                names[::-1],
                [_at(runs, "sf_non_be", engine, each) * 1e-6 for each in PRINTED[::-1]],
            ),
        ]

    close = [part.at for part in judge("ns2-2.28") if part.judged and not part.holds]
    return builder.claim(
        "Z-I-5",
        judge,
        note=f"Closer than these seeds can tell, or in another order: {'; '.join(close)}." if close else "",
    )


def _draw(runs: Grid, engines: tuple[str, ...], shown: dict[str, str], modelled: bool) -> Figure:
    figure, panels = plots.panels(len(engines))
    for axes, engine in zip(panels, engines, strict=True):
        for (measure, name), colour in zip(shown.items(), plots.CYCLE, strict=False):
            curve = _curve(runs, measure, engine)
            axes.errorbar(
                curve.x,
                curve.means / 1e6,
                yerr=curve.halves / 1e6,
                label=name,
                color=colour,
                marker="o",
                markersize=4,
                capsize=2,
            )
            if modelled and f"model_{measure}" in MEASURES:
                means = _curve(runs, f"model_{measure}", engine).means / 1e6
                if all(math.isfinite(v) for v in means):
                    plots.model(axes, curve.x, list(means), name=f"model of {name}", color=colour)
        plots.label(axes, engine, "share of the queue for non-BE, a", "throughput, Mbit/s", log_y=True)
    plots.legend_below(panels[0])
    return figure


def figure_5_2(runs: Grid, engines: tuple[str, ...]) -> Figure:
    """Flows by class."""
    shown = {
        "original": "original",
        "sf_be": "SF-SCTP, BE",
        "sf_non_be": "SF-SCTP, non-BE",
        "shared_non_be": "shared, non-BE",
    }
    return _draw(runs, engines, shown, True)


def figure_5_3(runs: Grid, engines: tuple[str, ...]) -> Figure:
    """Associations."""
    return _draw(runs, engines, {"original": "original", "shared": "SF-SCTP-shared", "sf": "SF-SCTP"}, False)
