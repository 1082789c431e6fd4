"""X-3: is P_rr a lower bound of the rate of fast retransmits, where P_up is none? The runs are those of XVI and XVII."""

from anabranch_lab.catalogue import Book
from anabranch_lab.claims import Claim, Part, within
from anabranch_lab.experiment import Analysis, book
from anabranch_lab.grid import Grid
from anabranch_lab.models.deterministic import Bottleneck, p_low, p_rr, p_up
from anabranch_lab.sweep import Runner

from ..common import phi

MEASURES = {"fr": "sum(fast_retransmits) FILTER (kind = 'flow') / sum(packets_sent) FILTER (kind = 'flow')"}
FCC = ("n", "n^2", "2n^2")


def network(name: str, n: int, growth: str) -> Bottleneck:
    """The network of XVI (`large`) or XVII (`small`) in the model."""
    rate, queue = (10e6, 100) if name == "large" else (20e6, 20)
    return Bottleneck(rate / 8, 0.1, queue, n=n, phi=phi.value(growth, n))


def analyse(runner: Runner) -> Analysis:
    """What the lab asks an experiment for."""
    runs = {name: runner.grid(name, MEASURES) for name in ("large", "small")}
    engine = runner.plan.engines[-1]
    under = sum(
        runs[name].at("fr", engine=engine, n=n, phi=value).mean < p_up(network(name, n, value))
        for name in runs
        for n in places(runs[name])
        for value in FCC
    )
    whole = 2 * len(places(runs["large"])) * len(FCC)
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
