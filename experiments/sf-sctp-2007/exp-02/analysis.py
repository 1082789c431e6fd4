"""Experiment II: from runs to grades, figures and a finding."""

from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.run.results import Results

from ..common import paths

P1, RTT = 1e-3, 0.5
FEW = (1e-5, 1e-4, 1e-3)
"""Loss probabilities of the second path that the thesis speaks of."""


def analyse(results: Results) -> Analysis:
    """What the lab asks an experiment for."""
    both = results.grid("losses", paths.MEASURES)
    runs = both.only(engine=results.plan.engines[0])
    claims = claim_builder(results)
    first, times = runs.curve("sf1", over="p2"), runs.sample("sf2", p2=1e-5).over(runs.sample("sf1", p2=1e-5))
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
            claims.claim(
                "Z-II-1",
                {
                    **{
                        f"SF_1 / model, p2 = {p2:g}": first.sample(p2) / paths.root_law(P1, RTT)
                        for p2 in first.x
                    },
                    "SF_1 from p2 = 1e-5 to 1e-3": first.change(),
                },
            ),
            claims.claim("Z-II-2", {"SF_2 / SF_1": times}),
            claims.claim(
                "Z-II-3",
                {
                    at: value
                    for p2 in FEW
                    for at, value in (
                        (
                            f"fast retransmits / mean loss, p2 = {p2:g}",
                            runs.sample("fr_shared", p2=p2) / models["fr_shared"](p2),
                        ),
                        (
                            f"throughput / model, p2 = {p2:g}",
                            runs.sample("shared", p2=p2) / models["shared"](p2),
                        ),
                    )
                },
            ),
            claims.claim(
                "Z-II-4",
                {
                    f"SF-SCTP / shared, p2 = {p2:g}": runs.sample("sf", p2=p2).over(
                        runs.sample("shared", p2=p2)
                    )
                    for p2 in FEW
                },
            ),
            claims.claim("Z-II-5", {}),
        ],
        figures=paths.figures(both, "p2", "a", lambda p: p, "loss of the second path", models, log=True),
        findings=[
            f"With a hundredth of the losses the second subflow gets {times.text(1)} times what the first gets; the first does not notice.",
        ],
    )
