"""Experiment VII: from runs to grades, figures and a finding."""

from anabranch_lab.judge.comparison import Measured
from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.run import series
from anabranch_lab.run.grid import Grid
from anabranch_lab.run.results import Results

from ..common import bottleneck, pictures, readings

TRIPS = {"least": "min(a) FILTER (kind = 'rtt') / 1e9", "most": "max(a) FILTER (kind = 'rtt') / 1e9"}
"""The shortest and the longest measured round trip of a run, seconds."""


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    engine = results.plan.engines[0]
    both = results.grid("delays", bottleneck.MEASURES)
    runs, spread = (grid.only(engine=engine) for grid in (both, results.grid("spread", bottleneck.MEASURES)))
    seen = series.measure(results, "sampled", bottleneck.look).only(engine=engine)
    trips = results.grid("sampled", TRIPS, kind="trace").only(engine=engine)
    claims = claim_builder(results)
    used, used_spread = (each.curve("user_data", over="delay", n=1) for each in (runs, spread))
    return Analysis(
        claims=[
            claims.claim(
                "Z-VII-1",
                {f"{delay} ms, %": waiting(trips, delay) for delay in (20, 70)},
                note="From the shortest and the longest measured round trip of each run.",
            ),
            claims.claim(
                "Z-VII-2", {**ranks(runs), **phases(seen)}, readings={readings.SPREAD: ranks(spread)}
            ),
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
            f"One subflow falls into step with the queue: it uses {used.at(25).text()} % at 25 ms and {used.at(35).text()} % at 35; where the receiving "
            f"host takes up to 1 ms for a packet, {used_spread.at(25).text()} and {used_spread.at(35).text()} %.",
        ],
    )


def waiting(trips: Grid, delay: int) -> Measured:
    """The part of the longest round trip that a full queue makes, percent."""
    least, most = (trips.sample(name, delay=delay) for name in ("least", "most"))
    return (most - least) / most * 100.0


def ranks(runs: Grid) -> dict[str, Measured]:
    """Utilisation and drop rate over the delay, of as many subflows as were run."""
    return {
        f"{name} over the delay, n = {n}": runs.curve(measure, over="delay", n=n).ranked()
        for n in runs.values("n")
        for name, measure in (("utilisation", "user_data"), ("drop rate", "drop_rate"))
    }


def phases(seen: Grid) -> dict[str, Measured]:
    """How long phases last at 70 ms and at 20."""
    return {
        f"{name}: 70 minus 20 ms, s": seen.sample(name, delay=70) - seen.sample(name, delay=20)
        for name in ("QBU", "QSD")
    }
