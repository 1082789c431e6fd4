"""Experiment II: from runs to grades, figures and a finding."""

from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.run.results import Results

from ..common import paths

P1, RTT = 1e-3, 0.5
PRINTED = (1e-5, 1e-4, 1e-3)
"""Losses of the second path that the text has."""


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    runs = results.grid("losses", paths.measures(P1, '"p2"')).only(engine=results.plan.engines[0])
    builder = claim_builder(results)
    times = paths.flows_without_luck(runs, ("sf2", "sf1"), lambda means: means[0] / means[1], p2=1e-5)
    models = {
        "sf1": lambda p2: paths.root_law(P1, RTT),
        "sf2": lambda p2: paths.root_law(p2, RTT),
        "shared": lambda p2: paths.root_law((P1 + p2) / 2, RTT),
        "original": lambda p2: paths.root_law(P1, RTT),
        "sf": lambda p2: paths.root_law(P1, RTT) + paths.root_law(p2, RTT),
        "fr_shared": lambda p2: (P1 + p2) / 2,
    }
    first = {p2: paths.level(runs, "sf1", p2=p2) for p2 in runs.values("p2")}
    return Analysis(
        claims=[
            builder.claim(
                "Z-II-1",
                {
                    **{f"SF_1 at p2 = {p2:g}, packets/s": found for p2, found in first.items()},
                    "SF_1 over p2": paths.along(runs, "sf1", "p2", paths.change),
                },
            ),
            builder.claim("Z-II-2", {"SF_2 / SF_1": times}),
            builder.claim(
                "Z-II-3",
                {
                    **{
                        f"fast retransmits over the mean of both losses, p2 = {p2:g}": paths.retransmitted(
                            runs, (P1 + p2) / 2, p2=p2
                        )
                        for p2 in PRINTED
                    },
                    **{f"packets/s, p2 = {p2:g}": paths.level(runs, "shared", p2=p2) for p2 in PRINTED},
                },
            ),
            builder.claim(
                "Z-II-4",
                {
                    f"SF-SCTP / shared, p2 = {p2:g}": paths.flows_without_luck(
                        runs,
                        ("sf1", "sf2", "shared"),
                        lambda means: (means[0] + means[1]) / means[2],
                        p2=p2,
                    )
                    for p2 in PRINTED
                },
            ),
            builder.claim(
                "Z-II-5",
                {f"timeouts a run, p2 = {p2:g}": runs.sample("timeouts", p2=p2) for p2 in PRINTED},
            ),
        ],
        figures=paths.figures(runs, "p2", "a", lambda p: p, "loss of the second path", models, log=True),
        findings=[
            f"With a hundredth of the losses the second subflow gets {times.text(1)} times what the first gets; the first does not notice."
        ],
    )
