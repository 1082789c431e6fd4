"""Experiment III: from runs to grades, figures and a finding; and how well the models of II and III fit."""

from anabranch_lab.judge.comparison import Measured
from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.run.grid import Grid
from anabranch_lab.run.results import Results
from anabranch_lab.stats import Estimate, estimate, exponent

from ..common import paths

P, RTT2 = 1e-4, 0.5
UNEQUAL = (348, 448, 598, 748)
"""Delays of the first path, ms, at which the round trips differ."""


def trip(delay: float) -> float:
    """The round trip of the first path, seconds, for its delay in ms."""
    return (delay + 252.0) / 1000.0


def analyse(results: Results) -> Analysis:
    """What the lab asks an experiment for."""
    engine = results.plan.engines[0]
    both = results.grid("delays", paths.MEASURES)
    runs, second = both.only(engine=engine), results.grid("losses", paths.MEASURES).only(engine=engine)
    claims = claim_builder(results)
    shared = runs.curve("shared", over="delay")
    models = {
        "sf1": lambda t: paths.root_law(P, t),
        "sf2": lambda t: paths.root_law(P, RTT2),
        "original": lambda t: paths.root_law(P, t),
        "sf": lambda t: paths.root_law(P, t) + paths.root_law(P, RTT2),
        "fr_sf": lambda t: P,
    }
    return Analysis(
        claims=[
            claims.claim("Z-III-1", trips(runs)),
            claims.claim("Z-III-2", falsely(runs)),
            claims.claim(
                "Z-III-3",
                {
                    "fast retransmits of the shared one / losses": (
                        runs.sample("false_shared", delay=248) + P
                    )
                    / P
                },
                note="The losses that happened to fall are replaced by those to be expected, 1e-4.",
            ),
            claims.claim(
                "Z-II/III-6",
                fit(runs, second),
                note="Simulated / model, with the losses that were to be expected instead of those that fell.",
            ),
        ],
        figures=paths.figures(both, "delay", "b", trip, "round trip of the first path, s", models, log=False),
        sentence="Subflows on paths with different round trips must not share a window: the association that shares one falls from "
        f"{shared.at(248).text()} to {shared.at(348).text()} packets a second when one round trip grows from 0.5 to 0.6 s, because it takes "
        "reordering for loss.",
        findings=[
            f"As soon as the round trips differ the shared association falls from {shared.at(248).text()} to "
            f"{shared.at(348).text()} packets a second at RTT1 = 0.6 s: it takes reordering for loss.",
        ],
    )


def trips(runs: Grid) -> dict[str, Measured]:
    """Both subflows over the round trip of the first."""
    second, first = (runs.sample(name, delay=748) for name in ("sf2", "sf1"))
    whole = {delay: runs.sample("sf", delay=delay) for delay in (248, 748)}
    return {
        "SF_2 from RTT1 = 0.5 s to 1 s": runs.curve("sf2", over="delay").change(),
        "SF_1 over RTT1: exponent": by_trip(runs),
        "SF_2 / SF_1 at RTT1 = 1 s": second.over(first),
        **{
            f"both / model, RTT1 = {trip(delay):g} s": sample
            / (paths.root_law(P, trip(delay)) + paths.root_law(P, RTT2))
            for delay, sample in whole.items()
        },
    }


def by_trip(runs: Grid) -> Estimate:
    """The exponent of the first subflow's throughput over its round trip."""
    curve = runs.curve("sf1", over="delay")
    trips = [trip(int(delay)) for delay in curve.x]
    return estimate([exponent(trips, row) for row in curve.values], curve.least)


def falsely(runs: Grid) -> dict[str, Measured]:
    """Fast retransmits and throughput of the shared association where round trips differ."""
    parts: dict[str, Measured] = {}
    for delay in UNEQUAL:
        # Half of the packets take each path: the mean of both round trips.
        model = paths.root_law(P, (trip(delay) + RTT2) / 2)
        parts |= {
            f"fast retransmits, RTT1 = {trip(delay):g} s": runs.sample("fr_shared", delay=delay),
            f"throughput / model, RTT1 = {trip(delay):g} s": runs.sample("shared", delay=delay) / model,
        }
    return parts


def fit(runs: Grid, second: Grid) -> dict[str, Measured]:
    """Original SCTP and SF-SCTP over their models, in II and in III."""
    two = {
        f"II, {name}, p2 = {p2:g}": paths.fitted(second, flows, p2=p2)
        for p2 in second.values("p2")
        for name, flows in (
            ("original", {"original": (1e-3, 0.5)}),
            ("sf", {"sf1": (1e-3, 0.5), "sf2": (p2, 0.5)}),
        )
    }
    three = {
        f"III, {name}, RTT1 = {trip(delay):g} s": paths.fitted(runs, flows, delay=delay)
        for delay in runs.values("delay")
        for name, flows in (
            ("original", {"original": (P, trip(delay))}),
            ("sf", {"sf1": (P, trip(delay)), "sf2": (P, RTT2)}),
        )
    }
    return {**two, **three}
