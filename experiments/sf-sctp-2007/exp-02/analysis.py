"""Experiment II: from runs to verdicts, figures and a finding."""

from anabranch_lab.judge.claims import Claim, ClaimBuilder, Explanation, Part, flat, number, within
from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.run.grid import Grid
from anabranch_lab.run.results import Results

from ..common import paths

P1, RTT = 1e-3, 0.5
COUNTED = 600.0
"""Seconds of a run that count."""

SHARED = {1e-5: 109.0, 1e-4: 104.5, 1e-3: 77.5}
"""Packets a second of the shared association by its model (Eq. 4.18 with the mean loss)."""


def analyse(results: Results) -> Analysis:
    """What the lab asks an experiment for."""
    runs = results.grid("losses", paths.MEASURES)
    claims = claim_builder(results)
    engine = results.plan.engines[0]
    times = runs.sample("sf2", engine=engine, p2=1e-5).over(runs.sample("sf1", engine=engine, p2=1e-5))
    models = {
        "sf1": lambda p2: paths.root_law(P1, RTT),
        "sf2": lambda p2: paths.root_law(p2, RTT),
        "shared": lambda p2: paths.root_law((P1 + p2) / 2, RTT),
        "original": lambda p2: paths.root_law(P1, RTT),
        "sf": lambda p2: paths.root_law(P1, RTT) + paths.root_law(p2, RTT),
        "fr_shared": lambda p2: (P1 + p2) / 2,
    }
    return Analysis(
        claims=[
            constant(claims, runs),
            better(claims, runs),
            mean_loss(claims, runs),
            gain(claims, runs),
            timers(claims, runs),
        ],
        figures=paths.figures(
            results, runs, "p2", "a", lambda p: p, "loss of the second path", models, log=True
        ),
        findings=[
            f"With a hundredth of the losses the second subflow gets {times.text(1)} times what the first gets ({engine}); "
            "the first does not notice.",
        ],
    )


def constant(builder: ClaimBuilder, runs: Grid) -> Claim:
    """Z-II-1."""

    def judge(engine: str) -> list[Part]:
        first = runs.curve("sf1", over="p2", engine=engine)
        return [
            within(f"SF_1 at p2 = {p2:g}, packets/s", 77.5, 1.12 * 77.5, first.at(p2)) for p2 in first.x
        ] + [flat("SF_1 over p2", first)]

    return builder.claim("Z-II-1", judge)


def better(builder: ClaimBuilder, runs: Grid) -> Claim:
    """Z-II-2."""

    def judge(engine: str) -> list[Part]:
        second, first = (runs.sample(name, engine=engine, p2=1e-5) for name in ("sf2", "sf1"))
        return [number("SF_2 / SF_1", 10.0, second.over(first), 0.8)]

    return builder.claim("Z-II-2", judge)


def mean_loss(builder: ClaimBuilder, runs: Grid) -> Claim:
    """Z-II-3."""

    def judge(engine: str) -> list[Part]:
        parts: list[Part] = []
        for p2, model in SHARED.items():
            mean = (P1 + p2) / 2
            parts.append(
                number(
                    f"fast retransmits, p2 = {p2:g}",
                    mean,
                    runs.at("fr_shared", engine=engine, p2=p2),
                    0.05 * mean,
                )
            )
            parts.append(
                number(
                    f"packets/s, p2 = {p2:g}",
                    model,
                    runs.at("shared", engine=engine, p2=p2),
                    0.0,
                    above=0.12 * model,
                )
            )
        return parts

    return builder.claim("Z-II-3", judge)


def gain(builder: ClaimBuilder, runs: Grid) -> Claim:
    """Z-II-4."""

    def judge(engine: str) -> list[Part]:
        parts = []
        for p2, times in ((1e-5, 7.82), (1e-4, 3.09), (1e-3, 2.00)):
            both, shared = (runs.sample(name, engine=engine, p2=p2) for name in ("sf", "shared"))
            parts.append(number(f"SF-SCTP / shared, p2 = {p2:g}", times, both.over(shared), 0.1 * times))
        return parts

    return builder.claim("Z-II-4", judge)


def timers(builder: ClaimBuilder, runs: Grid) -> Claim:
    """Z-II-5."""

    def judge(engine: str) -> list[Part]:
        return [
            within(f"timeouts of all, p2 = {p2:g}", 0.0, 0.0, runs.at("timeouts", engine=engine, p2=p2))
            for p2 in runs.values("p2")
        ]

    def lost_again(p2: float) -> float:
        """Retransmissions that are lost, too, in a run: packets times p^2, over all flows and paths."""
        rates = {
            name: runs.at(name, engine="ns2-2.28", p2=p2).mean
            for name in ("original", "sf1", "sf2", "shared")
        }
        squares = {"original": P1**2, "sf1": P1**2, "sf2": p2**2, "shared": (P1**2 + p2**2) / 2}
        return COUNTED * sum(rates[name] * squares[name] for name in rates)

    return builder.claim(
        "Z-II-5",
        judge,
        explanation=Explanation(
            "A fast retransmission that is lost, too, can only be recovered by a timeout. Of three associations in 30 runs a few must be: "
            "one packet in 1 / p^2. The timeouts seen are as many as that.",
            runs=("losses",),
            parts=tuple(
                number(
                    f"timeouts of all, against retransmissions lost, p2 = {p2:g}",
                    lost_again(p2),
                    runs.at("timeouts", engine="ns2-2.28", p2=p2),
                    0.0,
                )
                for p2 in (1e-5, 1e-4, 1e-3)
            ),
        ),
    )
