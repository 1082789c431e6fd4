"""X-3: is P_rr a lower bound of the rate of fast retransmits, where P_up is none? The runs are those of XVI and XVII."""

from anabranch_lab.catalogue import Book
from anabranch_lab.claims import Claim, Explanation, Part
from anabranch_lab.experiment import Analysis, book
from anabranch_lab.grid import Grid
from anabranch_lab.models.deterministic import p_up
from anabranch_lab.sweep import Runner

from ..common.deterministic import MEASURES, between, measured, network, no_slow_start, runners

FCC = ("n", "n^2", "2n^2")


def analyse(runner: Runner) -> Analysis:
    """What the lab asks an experiment for."""
    both = runners(runner)
    runs = {told: measured(each) for told, each in both.items()}
    plain = {told: each.grid("no-slow-start", MEASURES) for told, each in both.items()}
    engine = runner.plan.engines[-1]
    under = sum(
        runs[name].at("fr", engine=engine, n=n, phi=value).mean < p_up(network(name, n, value))
        for name in runs
        for n in places(runs[name])
        for value in FCC
    )
    whole = 2 * len(places(runs["XVI"])) * len(FCC)
    return Analysis(
        claims=[bound(book(runner, *both.values()), runs, plain)],
        figures=[],
        findings=[
            f"With {engine} the measured rate lies below P_up, the thesis's lower bound, at {under} of {whole} points."
        ],
    )


def places(runs: Grid) -> list[int]:
    """Numbers of subflows above one."""
    return [int(n) for n in runs.values("n") if n > 1]


def bound(book: Book, runs: dict[str, Grid], plain: dict[str, Grid]) -> Claim:
    """X-3."""

    def judge(engine: str) -> list[Part]:
        return [
            between(told, runs[told], n, value, engine)
            for told in runs
            for n in places(runs[told])
            for value in FCC
        ]

    return book.claim(
        "X-3",
        judge,
        explanation=Explanation(
            "After a fast retransmit cwnd equals ssthresh, which is slow start: the next SACK adds a whole packet, as much as Phi round trips do. "
            "The cycle is so much shorter, most where windows are small. Without that packet the bounds hold for Phi = n.",
            runs=("exp-16/no-slow-start", "exp-17/no-slow-start"),
            parts=tuple(no_slow_start(plain)),
        ),
    )
