"""Experiment III: from runs to grades, figures and a finding; and how well the models of II and III fit."""

from collections.abc import Mapping

from anabranch_lab.judge.experiment import Analysis, claim_builder, results_of
from anabranch_lab.run.grid import Grid
from anabranch_lab.run.results import Results
from anabranch_lab.stats import Estimate, exponent

from ..common import paths

P, RTT2 = 1e-4, 0.5
EQUAL, LONGEST = 248, 748
"""Delays of the first path in ms: as long as the second, and a round trip of 1 s."""


def trip(delay: float) -> float:
    """The round trip of the first path, seconds, for its delay in ms."""
    return (delay + 252.0) / 1000.0


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    engine = results.plan.engines[0]
    runs = results.grid("delays", paths.measures(P, P)).only(engine=engine)
    second = results_of(results, "exp-02").grid("losses", paths.measures(1e-3, '"p2"')).only(engine=engine)
    builder = claim_builder(results)
    shared = {delay: runs.at("shared", delay=delay).text() for delay in (EQUAL, 348)}
    models = {
        "sf1": lambda t: paths.root_law(P, t),
        "sf2": lambda t: paths.root_law(P, RTT2),
        "original": lambda t: paths.root_law(P, t),
        "sf": lambda t: paths.root_law(P, t) + paths.root_law(P, RTT2),
        "fr_sf": lambda t: P,
    }
    return Analysis(
        claims=[
            builder.claim("Z-III-1", trips(runs)),
            builder.claim("Z-III-2", falsely(runs)),
            builder.claim(
                "Z-III-3",
                {"fast retransmits over losses, shared": paths.retransmitted(runs, P, delay=EQUAL)},
            ),
            builder.claim(
                "Z-II/III-6", fit(runs, second), note="Simulated / model, without the luck of the losses."
            ),
        ],
        figures=paths.figures(runs, "delay", "b", trip, "round trip of the first path, s", models, log=False),
        sentence="Subflows on paths with different round trips must not share a window: the association that shares one falls from "
        f"{shared[EQUAL]} to {shared[348]} packets a second when one round trip grows from 0.5 to 0.6 s, because it takes reordering for loss.",
        findings=[
            f"As soon as the round trips differ the shared association falls from {shared[EQUAL]} to {shared[348]} packets a second at "
            "RTT1 = 0.6 s: it takes reordering for loss.",
        ],
    )


def trips(runs: Grid) -> dict[str, Estimate]:
    """Z-III-1."""
    return {
        "SF_2 over RTT1": paths.along(runs, "sf2", "delay", paths.change),
        "SF_1 over RTT1: exponent": paths.along(
            runs, "sf1", "delay", lambda delays, rates: exponent([trip(each) for each in delays], rates)
        ),
        "SF_2 / SF_1 at RTT1 = 1 s": paths.flows_without_luck(
            runs, ("sf2", "sf1"), lambda means: means[0] / means[1], delay=LONGEST
        ),
        **{
            f"both at RTT1 = {trip(delay):g} s, packets/s": paths.flows_without_luck(
                runs, ("sf1", "sf2"), sum, delay=delay
            )
            for delay in (EQUAL, LONGEST)
        },
    }


def falsely(runs: Grid) -> dict[str, Estimate]:
    """Z-III-2; half of the packets take each path: the model has the mean of both round trips."""
    return {
        f"{what}, RTT1 = {trip(delay):g} s": found
        for delay in runs.values("delay")
        if delay != EQUAL
        for what, found in (
            ("fast retransmits a packet", runs.at("fr_shared", delay=delay)),
            (
                "throughput / model",
                (runs.sample("shared", delay=delay) / paths.root_law(P, (trip(delay) + RTT2) / 2)).estimate,
            ),
        )
    }


def fit(runs: Grid, second: Grid) -> dict[str, Estimate]:
    """Z-II/III-6."""
    return {
        **{
            f"II, {name}, p2 = {p2:g}": over_model(second, flows, p2=p2)
            for p2 in second.values("p2")
            for name, flows in (
                ("original", {"original": (1e-3, 0.5)}),
                ("sf", {"sf1": (1e-3, 0.5), "sf2": (p2, 0.5)}),
            )
        },
        **{
            f"III, {name}, RTT1 = {trip(delay):g} s": over_model(runs, flows, delay=delay)
            for delay in runs.values("delay")
            for name, flows in (
                ("original", {"original": (P, trip(delay))}),
                ("sf", {"sf1": (P, trip(delay)), "sf2": (P, RTT2)}),
            )
        },
    }


def over_model(runs: Grid, flows: Mapping[str, tuple[float, float]], **at: float) -> Estimate:
    """Throughput over the models; flows have their loss rate and their round trip."""
    model = sum(paths.root_law(*each) for each in flows.values())
    return paths.flows_without_luck(runs, tuple(flows), lambda means: sum(means) / model, **at)
