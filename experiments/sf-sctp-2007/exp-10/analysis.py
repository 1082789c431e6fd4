"""Experiment X: from runs to verdicts, figures and a finding."""

from anabranch_lab.judge.claims import Claim, ClaimBuilder, Part, above, below, ordered
from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.run.grid import Grid
from anabranch_lab.run.results import Results

from ..common import background


def analyse(results: Results) -> Analysis:
    """What the lab asks an experiment for."""
    runs = results.grid("runs", background.MEASURES)
    engine = results.plan.engines[0]
    taken = runs.curve("share", over="n", engine=engine, background="square")
    return Analysis(
        claims=[order(claim_builder(results), runs, results.grid("spread", background.MEASURES))],
        figures=[
            background.over_time(
                results, "square", "figure-5-21", "Fig. 5.21: beside a square wave of 8 Mbit/s"
            )
        ],
        findings=[
            f"Beside the square wave {engine} takes "
            + ", ".join(f"{taken.at(n).text()} % with n = {n}" for n in (1, 2, 4))
            + ".",
        ],
    )


def order(builder: ClaimBuilder, runs: Grid, spread: Grid) -> Claim:
    """Z-X-1."""

    def judge(engine: str, runs: Grid = runs) -> list[Part]:
        def taken(n: int, kind: str = "square"):
            return runs.sample("share", engine=engine, n=n, background=kind)

        less = {n: (taken(n, "cbr") - taken(n)).estimate for n in (1, 2, 4)}
        return [
            *ordered("share", ["n = 4", "n = 2", "n = 1"], [taken(4), taken(2), taken(1)]),
            above("beside CBR minus beside the square wave, n = 1, pp", 0.0, less[1]),
            below("beside CBR minus beside the square wave, n = 2, pp", 0.0, less[2]),
            below("beside CBR minus beside the square wave, n = 4, pp", 0.0, less[4]),
        ]

    return builder.claim("Z-X-1", judge, explanation=background.in_step(judge, spread))
