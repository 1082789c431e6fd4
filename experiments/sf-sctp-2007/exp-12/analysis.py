"""Experiment XII: from runs to verdicts, figures and a finding."""

from anabranch_lab.catalogue import Book
from anabranch_lab.claims import Claim, Explanation, Part, above, arithmetic, number, sign_test, trend
from anabranch_lab.experiment import Analysis, book
from anabranch_lab.grid import Grid
from anabranch_lab.sweep import Runner

from ..common import background

EDGES = 360.0 / 10.0
"""On-edges of the background in the 360 s that count: one in 10 s, on average."""


def analyse(runner: Runner) -> Analysis:
    """What the lab asks an experiment for."""
    runs = runner.grid("runs", background.MEASURES)
    recovery = runner.grid("recovery", background.MEASURES)
    claims = book(runner)
    engine = runner.plan.engines[0]
    taken = runs.curve("share", over="n", engine=engine, background="pareto")
    return Analysis(
        claims=[
            share(claims, runs),
            compared(claims, runs),
            drops(claims, runs),
            edges(claims, runs, recovery),
            offered(claims),
        ],
        figures=[
            background.over_time(runner, "pareto", "figure-5-23", "Fig. 5.23: beside Pareto on/off traffic"),
            background.bars(
                runner, runs, "figure-5-24", "Fig. 5.24: share and drop rate beside four kinds of traffic"
            ),
        ],
        findings=[
            f"Beside Pareto traffic {engine} takes "
            + ", ".join(f"{taken.at(n).text()} % with n = {n}" for n in (1, 2, 4))
            + ". The thesis prints 25.4 % for one subflow and 55.9 % for four, from one run each.",
        ],
    )


def share(book: Book, runs: Grid) -> Claim:
    """Z-XII-1."""

    def judge(engine: str) -> list[Part]:
        taken = runs.curve("share", over="n", engine=engine, background="pareto")
        return [number("n = 1, %", 25.4, taken.at(1), 8.0), number("n = 4, %", 55.9, taken.at(4), 8.0)]

    return book.claim(
        "Z-XII-1", judge, note="One run of a heavy tail says little: the interval is that of 30."
    )


def compared(book: Book, runs: Grid) -> Claim:
    """Z-XII-2."""

    def judge(engine: str) -> list[Part]:
        def taken(n: int, kind: str):
            return runs.sample("share", engine=engine, n=n, background=kind)

        parts: list[Part] = []
        for kind in ("square", "exponential", "pareto"):
            differences = taken(1, "cbr") - taken(1, kind)
            parts.append(sign_test(f"n = 1: CBR minus {kind}", "more", differences))
        for kind in ("square", "exponential"):
            differences = taken(1, kind) - taken(1, "pareto")
            parts.append(sign_test(f"n = 1: {kind} minus Pareto", "more", differences))
        parts.append(sign_test("n = 4: Pareto minus CBR", "more", taken(4, "pareto") - taken(4, "cbr")))
        return parts

    return book.claim("Z-XII-2", judge)


def drops(book: Book, runs: Grid) -> Claim:
    """Z-XII-3."""

    def judge(engine: str) -> list[Part]:
        return [
            trend(
                f"drop rate over n, {kind}",
                runs.curve("drop_rate", over="n", engine=engine, background=kind),
                +1,
            )
            for kind in background.KINDS
        ]

    return book.claim("Z-XII-3", judge)


def edges(book: Book, runs: Grid, recovery: Grid) -> Claim:
    """Z-XII-4."""

    def judge(engine: str) -> list[Part]:
        parts: list[Part] = []
        for kind in ("square", "exponential", "pareto"):
            timeouts = runs.sample("timeouts", engine=engine, n=1, background=kind) / EDGES
            parts.append(above(f"timeouts per on-edge, {kind}", 0.2, timeouts.estimate))
            lost = runs.at("background_drops", engine=engine, n=1, background=kind)
            parts.append(above(f"loss rate of the background, {kind}", 0.0, lost))
        return parts

    def saved(kind: str):
        without, with_it = (
            grid.sample("timeouts", engine="ns2-2.28", n=1, background=kind) for grid in (runs, recovery)
        )
        return (without - with_it).estimate

    return book.claim(
        "Z-XII-4",
        judge,
        note="A recovery point takes away "
        + ", ".join(
            f"{saved(kind).text(1)} timeouts a run ({kind})" for kind in ("square", "exponential", "pareto")
        )
        + ".",
        explanation=Explanation(
            "Timeouts come from several fast retransmits in one window; a recovery point takes them away.",
            runs=("recovery",),
            parts=tuple(
                above(f"timeouts that a recovery point takes away, {kind}", 0.0, saved(kind))
                for kind in ("square", "exponential", "pareto")
            ),
        ),
    )


def offered(book: Book) -> Claim:
    """Z-XII-5."""

    def judge(_engine: str) -> list[Part]:
        return [
            arithmetic("CBR, Mbit/s", 5.0, 0.5 * 10.0, 0.0),
            arithmetic("square wave, exponential, Pareto, Mbit/s", 4.0, 8.0 * 5.0 / (5.0 + 5.0), 0.0),
        ]

    return book.claim("Z-XII-5", judge)
