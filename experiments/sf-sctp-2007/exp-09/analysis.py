"""Experiment IX: from runs to verdicts, figures and a finding."""

from anabranch_lab.catalogue import Book
from anabranch_lab.claims import Claim, Part, number
from anabranch_lab.experiment import Analysis, book
from anabranch_lab.grid import Grid
from anabranch_lab.sweep import Runner

from ..common import background


def analyse(runner: Runner) -> Analysis:
    """What the lab asks an experiment for."""
    runs = runner.grid("runs", background.MEASURES)
    shares = {
        engine: runs.curve("share", over="n", engine=engine, background="cbr")
        for engine in runner.plan.engines
    }
    return Analysis(
        claims=[share(book(runner), runs)],
        figures=[
            background.over_time(
                runner, "cbr", "figure-5-20", "Fig. 5.20: beside constant traffic of 5 Mbit/s"
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


def share(book: Book, runs: Grid) -> Claim:
    """Z-IX-1."""

    def judge(engine: str) -> list[Part]:
        taken = runs.curve("share", over="n", engine=engine, background="cbr")
        return [number("n = 1, %", 48.1, taken.at(1), 1.5), number("n = 4, %", 50.3, taken.at(4), 1.5)]

    return book.claim("Z-IX-1", judge)
