"""Experiment III: from runs to verdicts, figures and a finding; and how well the models of II and III fit."""

from anabranch_lab.judge.claims import Claim, ClaimBuilder, Part, above, below, flat, number, within
from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.run.grid import Grid
from anabranch_lab.run.results import Results
from anabranch_lab.stats import Estimate, estimate, exponent

from ..common import paths

P, RTT2 = 1e-4, 0.5


def trip(delay: float) -> float:
    """The round trip of the first path, seconds, for its delay in ms."""
    return (delay + 252.0) / 1000.0


def analyse(results: Results) -> Analysis:
    """What the lab asks an experiment for."""
    runs = results.grid("delays", paths.MEASURES)
    second = results.grid("losses", paths.MEASURES)
    claims = claim_builder(results)
    engine = results.plan.engines[0]
    shared = runs.curve("shared", over="delay", engine=engine)
    models = {
        "sf1": lambda t: paths.root_law(P, t),
        "sf2": lambda t: paths.root_law(P, RTT2),
        "original": lambda t: paths.root_law(P, t),
        "sf": lambda t: paths.root_law(P, t) + paths.root_law(P, RTT2),
        "fr_sf": lambda t: P,
    }
    return Analysis(
        claims=[trips(claims, runs), falsely(claims, runs), equal(claims, runs), fit(claims, runs, second)],
        figures=paths.figures(
            results, runs, "delay", "b", trip, "round trip of the first path, s", models, log=False
        ),
        sentence="Subflows on paths with different round trips must not share a window: the association that shares one falls from "
        f"{shared.at(248).text()} to {shared.at(348).text()} packets a second when one round trip grows from 0.5 to 0.6 s, because it takes "
        "reordering for loss.",
        findings=[
            f"As soon as the round trips differ the shared association falls from {shared.at(248).text()} to "
            f"{shared.at(348).text()} packets a second at RTT1 = 0.6 s ({engine}): it takes reordering for loss.",
        ],
    )


def trips(builder: ClaimBuilder, runs: Grid) -> Claim:
    """Z-III-1."""

    def judge(engine: str) -> list[Part]:
        second, first = (runs.sample(name, engine=engine, delay=748) for name in ("sf2", "sf1"))
        whole = {delay: runs.at("sf", engine=engine, delay=delay) for delay in (248, 748)}
        return [
            flat("SF_2 over RTT1", runs.curve("sf2", over="delay", engine=engine)),
            number("SF_1 over RTT1: exponent", -1.0, by_trip(runs, engine), 0.05),
            number("SF_2 / SF_1 at RTT1 = 1 s", 2.0, second.over(first), 0.1),
            number("both at RTT1 = 0.5 s, packets/s", 489.9, whole[248], 0.0, above=0.12 * 489.9),
            number("both at RTT1 = 1 s, packets/s", 367.4, whole[748], 0.0, above=0.12 * 367.4),
        ]

    return builder.claim("Z-III-1", judge)


def by_trip(runs: Grid, engine: str) -> Estimate:
    """The exponent of the first subflow's throughput over its round trip."""
    curve = runs.curve("sf1", over="delay", engine=engine)
    trips = [trip(int(delay)) for delay in curve.x]
    return estimate([exponent(trips, row) for row in curve.values], curve.least)


def falsely(builder: ClaimBuilder, runs: Grid) -> Claim:
    """Z-III-2."""

    def judge(engine: str) -> list[Part]:
        parts: list[Part] = []
        for delay in (348, 448, 598, 748):
            # Half of the packets take each path: the mean of both round trips.
            model = paths.root_law(P, (trip(delay) + RTT2) / 2)
            parts += [
                above(
                    f"fast retransmits, RTT1 = {trip(delay):g} s",
                    5e-4,
                    runs.at("fr_shared", engine=engine, delay=delay),
                ),
                below(
                    f"throughput / model, RTT1 = {trip(delay):g} s",
                    0.5,
                    (runs.sample("shared", engine=engine, delay=delay) / model).estimate,
                ),
            ]
        return parts

    return builder.claim("Z-III-2", judge)


def equal(builder: ClaimBuilder, runs: Grid) -> Claim:
    """Z-III-3."""

    def judge(engine: str) -> list[Part]:
        return [
            within(
                "fast retransmits of the shared one",
                0.9 * P,
                1.1 * P,
                (runs.sample("false_shared", engine=engine, delay=248) + P).estimate,
            )
        ]

    return builder.claim(
        "Z-III-3", judge, note="The losses that happened to fall are replaced by those to be expected, 1e-4."
    )


def fit(builder: ClaimBuilder, runs: Grid, second: Grid) -> Claim:
    """Z-II/III-6."""

    def judge(engine: str) -> list[Part]:
        parts: list[Part] = []
        for p2 in second.values("p2"):
            for name, flows in (
                ("original", {"original": (1e-3, 0.5)}),
                ("sf", {"sf1": (1e-3, 0.5), "sf2": (p2, 0.5)}),
            ):
                found = paths.fitted(second, flows, engine=engine, p2=p2)
                parts.append(within(f"II, {name}, p2 = {p2:g}", 1.0, 1.12, found))
        for delay in runs.values("delay"):
            for name, flows in (
                ("original", {"original": (P, trip(delay))}),
                ("sf", {"sf1": (P, trip(delay)), "sf2": (P, RTT2)}),
            ):
                found = paths.fitted(runs, flows, engine=engine, delay=delay)
                parts.append(within(f"III, {name}, RTT1 = {trip(delay):g} s", 1.0, 1.12, found))
        return parts

    return builder.claim(
        "Z-II/III-6",
        judge,
        note="Simulated / model, with the losses that were to be expected instead of those that fell.",
    )
