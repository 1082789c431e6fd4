"""Experiment VII: from runs to verdicts, figures and a finding."""

from anabranch_lab.judge.claims import Claim, ClaimBuilder, Explanation, Part, above, number, rank
from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.run import series
from anabranch_lab.run.grid import Grid
from anabranch_lab.run.results import Results

from ..common import bottleneck, pictures


def analyse(results: Results) -> Analysis:
    """What the lab asks an experiment for."""
    runs = results.grid("delays", bottleneck.MEASURES)
    spread = results.grid("spread", bottleneck.MEASURES)
    seen, disturbed = (
        series.measure(results, name, bottleneck.look) for name in ("sampled", "sampled-spread")
    )
    trips = results.grid(
        "sampled",
        {
            "least": "min(a) FILTER (kind = 'rtt') / 1e9",
            "most": "max(a) FILTER (kind = 'rtt') / 1e9",
        },
        kind="trace",
    )
    engine = results.plan.engines[0]
    used = runs.curve("utilisation", over="delay", engine=engine, n=1)
    return Analysis(
        claims=[
            share(claim_builder(results), trips),
            delays(claim_builder(results), (runs, seen), (spread, disturbed)),
        ],
        figures=[
            pictures.over_time(results, "figure-5-12", "Fig. 5.12: a bottleneck of 70 ms", 1140.0, 1200.0),
            pictures.over_axis(
                results,
                runs,
                "delay",
                "delay of the bottleneck, ms",
                "figure-5-17",
                "Fig. 5.17: utilisation and drop rate over the delay",
            ),
        ],
        findings=[
            f"With one subflow the utilisation falls from {used.at(10).text()} % at 10 ms to "
            f"{used.at(70).text()} % at 70 ms ({engine}).",
        ],
    )


def share(builder: ClaimBuilder, trips: Grid) -> Claim:
    """Z-VII-1: what a full queue makes of the longest round trip."""

    def judge(engine: str) -> list[Part]:
        def at(delay: int):
            least, most = (trips.sample(name, engine=engine, delay=delay) for name in ("least", "most"))
            return ((most - least) / most * 100.0).estimate

        return [number("20 ms, %", 44.4, at(20), 0.5), number("70 ms, %", 28.6, at(70), 0.5)]

    return builder.claim(
        "Z-VII-1", judge, note="From the shortest and the longest measured round trip of each run."
    )


def delays(builder: ClaimBuilder, grids: tuple[Grid, Grid], variant: tuple[Grid, Grid]) -> Claim:
    """Z-VII-2; summed up and sampled runs, as they are and with a spread."""

    def judge(engine: str, grids: tuple[Grid, Grid] = grids) -> list[Part]:
        runs, seen = grids
        parts = []
        for n in (1, 4):
            for name in ("utilisation", "drop_rate"):
                curve = runs.curve(name, over="delay", engine=engine, n=n)
                parts.append(rank(f"{name} over the delay, n = {n}", curve, -0.95))
        for name in ("QBU", "QSD"):
            longer = seen.sample(name, engine=engine, delay=70) - seen.sample(name, engine=engine, delay=20)
            parts.append(above(f"{name}: 70 minus 20 ms, s", 0.0, longer.estimate))
        return parts

    return builder.claim(
        "Z-VII-2",
        judge,
        explanation=Explanation(
            "The receiving host takes no time for a packet, as hosts in ns-2 do by themselves: nothing is random then, and flows fall into step with the queue.",
            runs=("spread", "sampled-spread"),
            parts=tuple(judge("ns2-2.28", variant)),
        ),
    )
