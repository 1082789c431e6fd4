"""X-3: is P_rr a lower bound of the rate of fast retransmits, where P_up is none? The runs are those of XVI and XVII."""

from anabranch_lab.catalogue import Book
from anabranch_lab.claims import Claim, Part, within
from anabranch_lab.experiment import Analysis, book
from anabranch_lab.grid import Grid
from anabranch_lab.models.deterministic import p_low, p_rr, p_up
from anabranch_lab.sweep import Runner

from ..common.deterministic import measured, network, runners

FCC = ("n", "n^2", "2n^2")


def analyse(runner: Runner) -> Analysis:
    """What the lab asks an experiment for."""
    runs = {told: measured(each) for told, each in runners(runner).items()}
    engine = runner.plan.engines[-1]
    under = sum(
        runs[name].at("fr", engine=engine, n=n, phi=value).mean < p_up(network(name, n, value))
        for name in runs
        for n in places(runs[name])
        for value in FCC
    )
    whole = 2 * len(places(runs["XVI"])) * len(FCC)
    return Analysis(
        claims=[bound(book(runner), runs)],
        figures=[],
        findings=[
            f"With {engine} the measured rate lies below P_up, the thesis's lower bound, at {under} of {whole} points."
        ],
    )


def places(runs: Grid) -> list[int]:
    """Numbers of subflows above one."""
    return [int(n) for n in runs.values("n") if n > 1]


def bound(book: Book, runs: dict[str, Grid]) -> Claim:
    """X-3."""

    def judge(engine: str) -> list[Part]:
        return [
            within(
                f"{name}, n = {n}, Phi = {value}",
                p_rr(network(name, n, value)),
                p_low(network(name, n, value)),
                runs[name].at("fr", engine=engine, n=n, phi=value),
            )
            for name in runs
            for n in places(runs[name])
            for value in FCC
        ]

    return book.claim("X-3", judge)
