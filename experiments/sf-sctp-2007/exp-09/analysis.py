"""Experiment IX: from runs to verdicts, figures and a finding."""

from anabranch_lab.judge.claims import Claim, ClaimBuilder, Part, number
from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.run.grid import Grid
from anabranch_lab.run.results import Results

from ..common import background


def analyse(results: Results) -> Analysis:
    """What the lab asks an experiment for."""
    runs = results.grid("runs", background.MEASURES)
    shares = {
        engine: runs.curve("share", over="n", engine=engine, background="cbr")
        for engine in results.plan.engines
    }
    return Analysis(
        claims=[share(claim_builder(results), runs, results.grid("spread", background.MEASURES))],
        figures=[
            background.over_time(
                results, "cbr", "figure-5-20", "Fig. 5.20: beside constant traffic of 5 Mbit/s"
            )
        ],
        findings=[
            "Of the bottleneck "
            + "; ".join(
                f"{engine} takes {curve.at(1).text()} % with one subflow and {curve.at(4).text()} % with four"
                for engine, curve in shares.items()
            )
            + ". The thesis prints 48.1 and 50.3 %.",
        ],
    )


def share(builder: ClaimBuilder, runs: Grid, spread: Grid) -> Claim:
    """Z-IX-1."""

    def judge(engine: str, runs: Grid = runs) -> list[Part]:
        taken = runs.curve("share", over="n", engine=engine, background="cbr")
        return [number("n = 1, %", 48.1, taken.at(1), 1.5), number("n = 4, %", 50.3, taken.at(4), 1.5)]

    return builder.claim("Z-IX-1", judge, explanation=background.in_step(judge, spread))
