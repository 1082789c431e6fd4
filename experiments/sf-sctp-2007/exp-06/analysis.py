"""Experiment VI: from runs to grades, figures and a finding."""

from anabranch_lab.judge.comparison import Measured
from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.run import series
from anabranch_lab.run.grid import Grid
from anabranch_lab.run.results import Results

from ..common import bottleneck, pictures, readings


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    engine = results.plan.engines[0]
    both = results.grid("rates", bottleneck.MEASURES)
    runs, spread = (grid.only(engine=engine) for grid in (both, results.grid("spread", bottleneck.MEASURES)))
    seen = series.measure(results, "sampled", bottleneck.look).only(engine=engine)
    used, used_spread = (
        bottleneck.of_rate(each.curve("user_data", over="rate", n=1)) for each in (runs, spread)
    )
    return Analysis(
        claims=[
            claim_builder(results).claim(
                "Z-VI-1", {**ranks(runs), **phases(seen)}, readings={readings.SPREAD: ranks(spread)}
            )
        ],
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
            f"One subflow falls into step with the queue: it uses {used.at(18).text()} % of 18 Mbit/s and {used.at(21).text()} % of 21; where the receiving "
            f"host takes up to 1 ms for a packet, {used_spread.at(18).text()} and {used_spread.at(21).text()} %.",
        ],
    )


def ranks(runs: Grid) -> dict[str, Measured]:
    """Utilisation and drop rate over the rate, of as many subflows as were run."""
    parts: dict[str, Measured] = {}
    for n in runs.values("n"):
        used, lost = (runs.curve(name, over="rate", n=n) for name in ("user_data", "drop_rate"))
        for name, curve in (("utilisation", bottleneck.of_rate(used)), ("drop rate", lost)):
            parts[f"{name} over the rate, n = {n}"] = curve.ranked()
    return parts


def phases(seen: Grid) -> dict[str, Measured]:
    """How long phases last at 20 Mbit/s and at 10."""
    return {
        f"{name}: 20 minus 10 Mbit/s, s": seen.sample(name, rate=20) - seen.sample(name, rate=10)
        for name in ("QSD", "cycle")
    }
