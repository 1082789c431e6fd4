"""Experiment VI: from runs to verdicts, figures and a finding."""

from anabranch_lab.judge.claims import Claim, ClaimBuilder, Explanation, Part, above, rank
from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.run import series
from anabranch_lab.run.grid import Grid
from anabranch_lab.run.results import Results

from ..common import bottleneck, pictures


def analyse(results: Results) -> Analysis:
    """What the lab asks an experiment for."""
    runs = results.grid("rates", bottleneck.MEASURES)
    spread = results.grid("spread", bottleneck.MEASURES).joined(
        results.grid("spread-four", bottleneck.MEASURES)
    )
    seen, disturbed = (
        series.measure(results, name, bottleneck.look) for name in ("sampled", "sampled-spread")
    )
    engine = results.plan.engines[0]
    used = runs.curve("utilisation", over="rate", engine=engine, n=1)
    return Analysis(
        claims=[rates(claim_builder(results), (runs, seen), (spread, disturbed))],
        figures=[
            pictures.over_time(
                results, "figure-5-11", "Fig. 5.11: a bottleneck of 20 Mbit/s", 1170.0, 1200.0
            ),
            pictures.over_axis(
                results,
                runs,
                "rate",
                "bottleneck, Mbit/s",
                "figure-5-16",
                "Fig. 5.16: utilisation and drop rate over the rate",
            ),
        ],
        findings=[
            f"With one subflow the utilisation falls from {used.at(1).text()} % at 1 Mbit/s to "
            f"{used.at(30).text()} % at 30 Mbit/s ({engine}). At 1 and 5 Mbit/s a full queue is longer than the round trip: "
            "there is little left to lose.",
        ],
    )


def rates(builder: ClaimBuilder, grids: tuple[Grid, Grid], variant: tuple[Grid, Grid]) -> Claim:
    """Z-VI-1; summed up and sampled runs, as they are and with a spread."""

    def judge(engine: str, grids: tuple[Grid, Grid] = grids) -> list[Part]:
        runs, seen = grids
        parts = []
        for n in (1, 4):
            for name in ("utilisation", "drop_rate"):
                curve = runs.curve(name, over="rate", engine=engine, n=n)
                parts.append(rank(f"{name} over the rate, n = {n}", curve, -0.95))
        for name in ("QSD", "cycle"):
            longer = seen.sample(name, engine=engine, rate=20) - seen.sample(name, engine=engine, rate=10)
            parts.append(above(f"{name}: 20 minus 10 Mbit/s, s", 0.0, longer.estimate))
        return parts

    return builder.claim(
        "Z-VI-1",
        judge,
        explanation=Explanation(
            "The receiving host takes no time for a packet, as hosts in ns-2 do by themselves: nothing is random then, and flows fall into step with the queue.",
            runs=("spread", "spread-four", "sampled-spread"),
            parts=tuple(judge("ns2-2.28", variant)),
        ),
    )
