"""Experiment VII: from runs to grades, figures and a finding."""

from anabranch_lab.judge.comparison import Measured
from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.run import series
from anabranch_lab.run.grid import Grid
from anabranch_lab.run.results import Results

from ..common import bottleneck, pictures

TRIPS = {"least": "min(a) FILTER (kind = 'rtt') / 1e9", "most": "max(a) FILTER (kind = 'rtt') / 1e9"}
"""The shortest and the longest measured round trip of a run, seconds."""


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    engine = results.plan.engines[0]
    both = results.grid("delays", bottleneck.MEASURES)
    runs = both.only(engine=engine)
    seen = series.measure(results, "sampled", bottleneck.look).only(engine=engine)
    trips = results.grid("sampled", TRIPS, kind="trace").only(engine=engine)
    claims = claim_builder(results)
    used = runs.curve("user_data", over="delay", n=1)
    return Analysis(
        claims=[
            claims.claim(
                "Z-VII-1",
                {f"{delay} ms, %": waiting(trips, delay) for delay in (20, 70)},
                note="From the shortest and the longest measured round trip of each run.",
            ),
            claims.claim("Z-VII-2", delays(runs, seen)),
        ],
        figures=[
            pictures.over_time(results, "figure-5-12", "Fig. 5.12: a bottleneck of 70 ms", 1140.0, 1200.0),
            pictures.over_axis(
                both,
                "delay",
                "delay of the bottleneck, ms",
                "figure-5-17",
                "Fig. 5.17: utilisation and drop rate over the delay",
            ),
        ],
        findings=[
            f"With one subflow user data takes {used.at(10).text()} % of a link of 10 ms and {used.at(70).text()} % of one of 70 ms.",
        ],
    )


def waiting(trips: Grid, delay: int) -> Measured:
    """The part of the longest round trip that a full queue makes, percent."""
    least, most = (trips.sample(name, delay=delay) for name in ("least", "most"))
    return (most - least) / most * 100.0


def delays(runs: Grid, seen: Grid) -> dict[str, Measured]:
    """Utilisation and drop rate over the delay; how long phases last at 70 ms and at 20."""
    parts: dict[str, Measured] = {}
    for n in (1, 4):
        for name, measure in (("utilisation", "user_data"), ("drop rate", "drop_rate")):
            curve = runs.curve(measure, over="delay", n=n)
            parts[f"{name} over the delay, n = {n}"] = curve.ranked()
    for name in ("QBU", "QSD"):
        parts[f"{name}: 70 minus 20 ms, s"] = seen.sample(name, delay=70) - seen.sample(name, delay=20)
    return parts
