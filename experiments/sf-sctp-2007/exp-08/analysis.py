"""Experiment VIII: from runs to verdicts, figures and a finding."""

import math

from matplotlib.figure import Figure

from anabranch_lab import cycles, plots, series
from anabranch_lab.catalogue import ClaimBuilder
from anabranch_lab.claims import Claim, Explanation, Part, above, below, number, number_in
from anabranch_lab.experiment import Analysis, claim_builder
from anabranch_lab.experiment import Figure as Entry
from anabranch_lab.grid import Grid, Sample
from anabranch_lab.results import Results
from anabranch_lab.stats import Estimate

from ..common import bottleneck, pictures

DEFAULTS = "ns-2's defaults"
"""The variant of the sweep `sensitivity` in which RED is as ns-2 has it."""

PIPE = 125
"""Packets of 1000 bytes on the way in the 100 ms of an empty round trip at 10 Mbit/s: at least so many are in flight."""

FULL = PIPE + 100
"""Those, and a full queue."""

MODEL_CYCLE = 10.17
"""Seconds of a cycle of one subflow under Drop-Tail (Eq. 4.53 with K = 1000 and M = 1500 bytes)."""


def analyse(results: Results) -> Analysis:
    """What the lab asks an experiment for."""
    runs = results.grid("subflows", bottleneck.MEASURES)
    droptail = results.grid("droptail", bottleneck.MEASURES)
    recovery = results.grid("recovery", bottleneck.MEASURES)
    varied = results.grid("sensitivity", bottleneck.MEASURES)
    seen = series.measure(results, "sampled", look)
    seen_varied = series.measure(results, "sampled-sensitivity", look)
    seen_droptail = series.measure(results, "sampled-droptail", look)
    claims = claim_builder(results)
    engine = results.plan.engines[0]
    used = runs.curve("utilisation", over="n", engine=engine)
    changes = "; ".join(
        f"{name}: {varied.at('utilisation', engine=engine, red=name, n=1).text()} and "
        f"{varied.at('utilisation', engine=engine, red=name, n=12).text()} %"
        for name in varied.values("red")
    )
    return Analysis(
        claims=[
            utilisation(claims, runs, recovery, varied),
            drops(claims, runs, droptail, varied),
            queue(claims, runs, seen),
            gain(claims, runs, droptail),
            periodic(claims, seen, seen_droptail, seen_varied),
        ],
        figures=[
            pictures.over_time(results, "figure-5-13", "Fig. 5.13: RED instead of Drop-Tail", 1170.0, 1200.0),
            Entry(
                "figure-5-18",
                "Fig. 5.18: utilisation and drop rate over the number of subflows under RED",
                "Means and 95 % intervals for both engines; crosses are printed values.",
                lambda: figure_5_18(runs, results.plan.engines),
            ),
        ],
        findings=[
            f"Under RED {engine} uses {used.at(1).text()} % with one subflow and {used.at(12).text()} % with 12; "
            "the thesis prints 73.3 and 95.1 %.",
            f"What the thesis does not say of its queue changes that (n = 1 and n = 12): {changes}.",
        ],
    )


def look(samples: series.Samples) -> dict[str, float]:
    """Besides what every such experiment looks at: how periodic the window is."""
    sender = samples.sender("sf")
    values = [float(v) for v in sender.cwnd]
    period, height = cycles.period(values, sender.interval, 5.0, 30.0)
    return {**bottleneck.look(samples), "period": period, "height": height}


def utilisation(builder: ClaimBuilder, runs: Grid, recovery: Grid, varied: Grid) -> Claim:
    """Z-VIII-1."""

    def judge(engine: str) -> list[Part]:
        used = runs.curve("utilisation", over="n", engine=engine)
        return [
            number("n = 1, %", 73.3, used.at(1), 4.0),
            number("n = 12, %", 95.1, used.at(12), 4.0),
            number("rise, pp", 22.0, used.rise(1, 12), 5.0),
        ]

    engine = "ns2-2.28"
    gained = (
        recovery.sample("utilisation", engine=engine, n=1) - runs.sample("utilisation", engine=engine, n=1)
    ).estimate
    one, twelve = (varied.sample("user_data", engine=engine, red=DEFAULTS, n=n) for n in (1, 12))
    return builder.claim(
        "Z-VIII-1",
        judge,
        note=f"A recovery point changes the utilisation of one subflow by {gained.text(2)} points.",
        explanation=Explanation(
            "The thesis prints thresholds and max_p of its RED queue and nothing else. With ns-2's own defaults for the rest (bytes count, "
            "packets of 500 bytes are typical, larger ones are dropped more often), and with utilisation as user data (952 of 1000 "
            "bytes), as in experiment IV, its numbers come out.",
            runs=("sensitivity",),
            parts=(
                number("user data, n = 1, %", 73.3, one.estimate, 4.0),
                number("user data, n = 12, %", 95.1, twelve.estimate, 4.0),
                number("user data, rise, pp", 22.0, (twelve - one).estimate, 5.0),
            ),
        ),
    )


def drops(builder: ClaimBuilder, runs: Grid, droptail: Grid, varied: Grid) -> Claim:
    """Z-VIII-2."""

    def judge(engine: str) -> list[Part]:
        less = droptail.sample("drop_rate", engine=engine, n=12).over(
            runs.sample("drop_rate", engine=engine, n=12)
        )
        return [number_in("Drop-Tail / RED, n = 12", 5.0, 20.0, less)]

    def held(red: str) -> Sample:
        """Packets of all 12 windows together at a tenth of Drop-Tail's drop rate, by Eq. 4.18 through what RED shows."""
        drop_rate = varied.sample("drop_rate", engine="ns2-2.28", red=red, n=12)
        lower = droptail.sample("drop_rate", engine="ns2-2.28", n=12) / 10.0
        more = drop_rate / lower
        return Sample(more.seeds, tuple(PIPE * math.sqrt(value) for value in more.values), more.least)

    return builder.claim(
        "Z-VIII-2",
        judge,
        explanation=Explanation(
            "It cannot be the loss rate of packets. Windows grow as 1 / sqrt(p) (Eq. 4.18). Here 12 subflows fill the link and the queue "
            "that RED allows with the drop rate measured; at a tenth of Drop-Tail's rate they would need room for several times the "
            "packets that link and the whole queue hold, whatever the parameters of RED.",
            runs=("sensitivity",),
            parts=tuple(
                above(f"packets in flight that it takes, {red}", float(FULL), held(red).estimate)
                for red in varied.values("red")
            ),
        ),
    )


def queue(builder: ClaimBuilder, runs: Grid, seen: Grid) -> Claim:
    """Z-VIII-3. A run of 160 s has room for five spans of 30 s."""

    def judge(engine: str) -> list[Part]:
        return [
            below("longest queue, n = 4, packets", 100.0, runs.at("queue_max", engine=engine, n=4)),
            above(
                "regrowths in 30 s, n = 4",
                1.0,
                (seen.sample("regrowths", engine=engine, n=4) / (160 / 30)).estimate,
            ),
        ]

    return builder.claim("Z-VIII-3", judge)


def gain(builder: ClaimBuilder, runs: Grid, droptail: Grid) -> Claim:
    """Z-VIII-4."""

    def judge(engine: str) -> list[Part]:
        def rise(grid: Grid):
            last, first = (grid.sample("utilisation", engine=engine, n=n) for n in (12, 1))
            return last - first

        return [
            above(
                "rise under RED minus rise under Drop-Tail, pp", 0.0, (rise(runs) - rise(droptail)).estimate
            )
        ]

    return builder.claim("Z-VIII-4", judge)


def periodic(builder: ClaimBuilder, seen: Grid, droptail: Grid, varied: Grid) -> Claim:
    """Z-5x-1."""

    def judge(engine: str) -> list[Part]:
        regular, other = (
            droptail.sample("height", engine=engine, n=1),
            seen.sample("height", engine=engine, n=1),
        )
        return [
            number(
                "Drop-Tail: period of the window, s",
                MODEL_CYCLE,
                droptail.at("period", engine=engine, n=1),
                0.1 * MODEL_CYCLE,
            ),
            above("autocorrelation at the period: Drop-Tail minus RED", 0.0, (regular - other).estimate),
        ]

    def less(name: str) -> Estimate:
        under_red = varied.sample("height", engine="ns2-2.28", n=1, red=name)
        return (droptail.sample("height", engine="ns2-2.28", n=1) - under_red).estimate

    return builder.claim(
        "Z-5x-1",
        judge,
        note="Drop-Tail minus RED with other parameters: "
        + ", ".join(f"{less(name).text(2)} ({name})" for name in varied.values("red"))
        + ".",
        explanation=Explanation(
            "The thesis does not print which RED it had. With ns-2's own defaults, which also give its utilisation (Z-VIII-1), the window is "
            "less periodic than under Drop-Tail.",
            runs=("sampled-sensitivity",),
            parts=(
                above(
                    f"autocorrelation at the period: Drop-Tail minus RED, {DEFAULTS}",
                    0.0,
                    less(DEFAULTS),
                ),
            ),
        ),
    )


def figure_5_18(runs: Grid, engines: tuple[str, ...]) -> Figure:
    """Utilisation (a) and drop rate (b)."""
    figure, (a, b) = plots.panels(2)
    for engine in engines:
        plots.curve(a, runs.curve("utilisation", over="n", engine=engine), engine)
        plots.curve(b, runs.curve("drop_rate", over="n", engine=engine), engine)
    plots.printed(a, [1, 12], [73.3, 95.1])
    plots.label(a, "(a) utilisation", "number of subflows", "%")
    plots.label(b, "(b) drop rate", "number of subflows", "drops per packet")
    a.legend()
    return figure
