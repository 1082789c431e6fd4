"""Experiment VIII: from runs to verdicts, figures and a finding."""

from collections.abc import Mapping

from matplotlib.figure import Figure

from anabranch_lab.judge.claims import (
    Claim,
    ClaimBuilder,
    Explanation,
    Part,
    above,
    condition,
    number,
    number_in,
)
from anabranch_lab.judge.experiment import Analysis, claim_builder, results_of
from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.run import cycles, series
from anabranch_lab.run.grid import Grid
from anabranch_lab.run.results import Results
from anabranch_lab.show import plots

from ..common import bottleneck, pictures

MODEL_CYCLES = {"IV": 10.17, "V": 6.50, "VI": 13.0, "VII": 26.0}
"""Seconds of a cycle of one subflow under Drop-Tail (Eq. 4.53 with K = 1000 and M = 1500 bytes): 100 packets, 10 Mbit/s, 20 ms; a queue of
50; 20 Mbit/s; 70 ms."""
PLACES = {"V": ("exp-05", {"queue": 50}), "VI": ("exp-06", {"rate": 20}), "VII": ("exp-07", {"delay": 70})}
"""The experiments whose sampled runs are looked at besides those of IV, and at which point."""


def analyse(results: Results) -> Analysis:
    """What the lab asks an experiment for."""
    runs = results.grid("subflows", bottleneck.MEASURES)
    droptail = results.grid("droptail", bottleneck.MEASURES)
    varied = {name: results.grid(name, bottleneck.MEASURES) for name in ("sensitivity", "counting")}
    seen = series.measure(results, "sampled", look)
    seen_varied = {
        name: series.measure(results, name, look) for name in ("sampled-sensitivity", "sampled-counting")
    }
    seen_droptail = series.measure(results, "sampled-droptail", look)
    elsewhere = {
        place: series.measure(results_of(results, folder), "sampled", look)
        for place, (folder, _) in PLACES.items()
    }
    watched = {name: series.measure(results, name, closely) for name in ("closely", "closely-droptail")}
    claims = claim_builder(results)
    engine = results.plan.engines[0]
    used = runs.curve("utilisation", over="n", engine=engine)
    changes = "; ".join(
        f"{name}: {grid.at('utilisation', engine=engine, red=name, n=1).text()} and "
        f"{grid.at('utilisation', engine=engine, red=name, n=12).text()} %"
        for grid in varied.values()
        for name in grid.values("red")
    )
    return Analysis(
        claims=[
            utilisation(claims, runs, varied),
            drops(claims, runs, droptail, varied),
            queue(claims, runs, watched["closely"], watched["closely-droptail"]),
            gain(claims, runs, droptail),
            periodic(claims, seen, (seen_droptail, elsewhere), seen_varied),
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
            f"What it does not say of its queue, and how ns-2 counts, change that (n = 1 and n = 12): {changes}.",
        ],
    )


def look(samples: series.Samples) -> dict[str, float]:
    """Besides what every such experiment looks at: how periodic window, rate and queue are, and what a fall leaves of the aggregate."""
    sender, link = samples.sender("sf"), samples.link(bottleneck.LINK)
    found: dict[str, float] = {}
    for name, values in (("", sender.cwnd), ("rate ", sender.rate), ("queue ", link.queue)):
        period, height = cycles.period([float(v) for v in values], sender.interval, 5.0, 40.0)
        found |= {f"{name}period": period, f"{name}height": height}
    return {**bottleneck.look(samples), **found}


def closely(samples: series.Samples) -> dict[str, float]:
    """Queue and window of four subflows every 20 ms, as experiment IV has them; beside it drains by twenty packets, a fifth of the room."""
    return {
        **bottleneck.closely(samples),
        "regrown by 20": bottleneck.closely(samples, drain=2 * bottleneck.DRAIN)["regrown"],
    }


def utilisation(builder: ClaimBuilder, runs: Grid, varied: Mapping[str, Grid]) -> Claim:
    """Z-VIII-1."""

    def judge(engine: str, runs: Grid = runs, **at: str) -> list[Part]:
        used = runs.curve("utilisation", over="n", engine=engine, **at)
        return [
            number("n = 1, %", 73.3, used.at(1), 4.0),
            number("n = 12, %", 95.1, used.at(12), 4.0),
            number("rise, pp", 22.0, used.rise(1, 12), 5.0),
        ]

    engine = "ns2-2.28"
    told = runs.curve("user_data", over="n", engine=engine)
    return builder.claim(
        "Z-VIII-1",
        judge,
        note="User data (948 of 1000 bytes) take "
        + " and ".join(f"{told.at(n).text(2)} % with n = {n}" for n in (1, 12))
        + ".",
        explanation=[
            Explanation(f"RED with {red}.", runs=(sweep,), parts=tuple(judge(engine, grid, red=red)))
            for sweep, grid in varied.items()
            for red in grid.values("red")
        ],
    )


def drops(builder: ClaimBuilder, runs: Grid, droptail: Grid, varied: Mapping[str, Grid]) -> Claim:
    """Z-VIII-2."""

    def judge(engine: str, runs: Grid = runs, **at: str) -> list[Part]:
        less = droptail.sample("drop_rate", engine=engine, n=12).over(
            runs.sample("drop_rate", engine=engine, n=12, **at)
        )
        return [number_in("Drop-Tail / RED, n = 12", 5.0, 20.0, less)]

    return builder.claim(
        "Z-VIII-2",
        judge,
        note="It can hardly be the loss rate of packets: windows grow as 1 / sqrt(p) (Eq. 4.18), and at a tenth of Drop-Tail's rate twelve "
        "subflows need room for several times the packets that link and queue hold.",
        explanation=[
            Explanation(f"RED with {red}.", runs=(sweep,), parts=tuple(judge("ns2-2.28", grid, red=red)))
            for sweep, grid in varied.items()
            for red in grid.values("red")
        ],
    )


def queue(builder: ClaimBuilder, runs: Grid, red: Grid, droptail: Grid) -> Claim:
    """Z-VIII-3: RED, and Drop-Tail by the same measure, where claim Z-IV-5 says that there is no such thing."""
    told = {
        "regrown": "queues that grow before they were empty, in 30 s",
        "partial": "falls of the aggregate to about three quarters (0.65 to 0.85), in 30 s",
    }

    def judge(engine: str) -> list[Part]:
        longest = runs.sample("queue_max", engine=engine, n=4)
        parts = [
            condition(
                "longest queue of any run, n = 4",
                "below 100 packets",
                f"{max(longest.values):g} packets",
                max(longest.values) < 100,
                seeds=len(longest.seeds),
            )
        ]
        for measure, text in told.items():
            mine, other = (grid.sample(measure, engine=engine) for grid in (red, droptail))
            parts += [
                above(f"{text}, n = 4", 1.0, mine.estimate),
                above(f"{text}, n = 4: RED minus Drop-Tail", 0.0, (mine - other).estimate),
            ]
        return parts

    return builder.claim(
        "Z-VIII-3",
        judge,
        note="Under Drop-Tail there are "
        + ", and ".join(
            f"{droptail.at(measure, engine='ns2-2.28').text(2)} {text}" for measure, text in told.items()
        )
        + ". A queue drains when it gets shorter by ten packets, here and in Z-IV-5, which is a fifth of what RED's ever holds; of drains by "
        f"twenty, a fifth of its room, {red.at('regrown by 20', engine='ns2-2.28').text(2)} end before the queue was empty under RED.",
    )


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


def periodic(
    builder: ClaimBuilder, seen: Grid, droptail: tuple[Grid, dict[str, Grid]], varied: Mapping[str, Grid]
) -> Claim:
    """Z-5x-1."""
    fourth, elsewhere = droptail

    def judge(engine: str, under_red: Grid = seen, **at: str) -> list[Part]:
        grids = {"IV": (fourth, {"n": 1})} | {
            place: (grid, PLACES[place][1]) for place, grid in elsewhere.items()
        }
        parts = [
            number(
                f"{place}, Drop-Tail: period of the {what}, s",
                MODEL_CYCLES[place],
                grid.at(measure, engine=engine, **where),
                0.1 * MODEL_CYCLES[place],
            )
            for place, (grid, where) in grids.items()
            for what, measure in (("window", "period"), ("rate", "rate period"), ("queue", "queue period"))
        ]
        for what, measure in (("window", "height"), ("rate", "rate height"), ("queue", "queue height")):
            red = under_red.sample(measure, engine=engine, n=1, **at)
            less = fourth.sample(measure, engine=engine, n=1) - red
            # "Periodic" as a number is ours: more than half of the variance comes back a cycle later.
            parts.append(above(f"autocorrelation of the {what} under RED", 0.5, red.estimate))
            parts.append(above(f"autocorrelation of the {what}: Drop-Tail minus RED", 0.0, less.estimate))
        return parts

    return builder.claim(
        "Z-5x-1",
        judge,
        explanation=[
            Explanation(
                f"RED with {red}.",
                runs=(sweep,),
                parts=tuple(judge("ns2-2.28", grid, red=red)),
                unchanged=tuple(part.at for part in judge("ns2-2.28") if "Drop-Tail:" in part.at),
            )
            for sweep, grid in varied.items()
            for red in grid.values("red")
        ],
    )


def figure_5_18(runs: Grid, engines: tuple[str, ...]) -> Figure:
    """Utilisation (a) and drop rate (b)."""
    figure, (a, b) = plots.panels(2)
    for engine in engines:
        plots.curve(a, runs.curve("utilisation", over="n", engine=engine), engine)
        plots.curve(b, runs.curve("drop_rate", over="n", engine=engine), engine)
    plots.printed(a, [1, 12], [73.3, 95.1])
    plots.label(a, "(a) network utilisation", "number of subflows", "utilisation, %")
    plots.label(b, "(b) network drop rate", "number of subflows", "drops per packet")
    a.legend()
    return figure
