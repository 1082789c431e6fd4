"""Experiment VI: from runs to grades, figures and a finding."""

from anabranch_lab.judge.comparison import Measured
from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.run import series
from anabranch_lab.run.grid import Grid
from anabranch_lab.run.results import Results

from ..common import bottleneck, pictures


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    engine = results.plan.engines[0]
    both = results.grid("rates", bottleneck.MEASURES)
    runs = both.only(engine=engine)
    seen = series.measure(results, "sampled", bottleneck.look).only(engine=engine)
    used = bottleneck.of_rate(runs.curve("user_data", over="rate", n=1))
    return Analysis(
        claims=[claim_builder(results).claim("Z-VI-1", rates(runs, seen))],
        figures=[
            pictures.over_time(
                results, "figure-5-11", "Fig. 5.11: a bottleneck of 20 Mbit/s", 1170.0, 1200.0
            ),
            pictures.over_axis(
                both,
                "rate",
                "bottleneck, Mbit/s",
                "figure-5-16",
                "Fig. 5.16: utilisation and drop rate over the rate",
            ),
        ],
        findings=[
            f"With one subflow user data takes {used.at(1).text()} % of a link of 1 Mbit/s and {used.at(30).text()} % of one of 30 Mbit/s. At 1 and "
            "5 Mbit/s a full queue is longer than the round trip: there is little left to lose.",
        ],
    )


def rates(runs: Grid, seen: Grid) -> dict[str, Measured]:
    """Utilisation and drop rate over the rate; how long phases last at 20 Mbit/s and at 10."""
    parts: dict[str, Measured] = {}
    for n in (1, 4):
        used, lost = (runs.curve(name, over="rate", n=n) for name in ("user_data", "drop_rate"))
        for name, curve in (("utilisation", bottleneck.of_rate(used)), ("drop rate", lost)):
            parts[f"{name} over the rate, n = {n}"] = curve.ranked()
    for name in ("QSD", "cycle"):
        parts[f"{name}: 20 minus 10 Mbit/s, s"] = seen.sample(name, rate=20) - seen.sample(name, rate=10)
    return parts
