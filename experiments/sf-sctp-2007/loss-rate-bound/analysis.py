"""X-3: is P_rr a lower bound of the rate of fast retransmits, where P_up is none? The runs are those of XVI and XVII."""

from anabranch_lab.judge.claims import Claim, ClaimBuilder, Explanation, Part, condition
from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.models.deterministic import p_up
from anabranch_lab.run.grid import Grid
from anabranch_lab.run.results import Results

from ..common.deterministic import MEASURES, between, every, measured, network

FCC = ("n", "n^2", "2n^2")


def analyse(results: Results) -> Analysis:
    """What the lab asks an experiment for."""
    both = every(results)
    runs = {told: measured(each) for told, each in both.items()}
    plain = {told: each.grid("no-slow-start", MEASURES) for told, each in both.items()}
    engine = results.plan.engines[0]
    under = sum(
        runs[name].at("fr", engine=engine, n=n, phi=value).mean < p_up(network(name, n, value))
        for name in runs
        for n in places(runs[name])
        for value in FCC
    )
    whole = 2 * len(places(runs["XVI"])) * len(FCC)
    return Analysis(
        claims=[bound(claim_builder(results, *both.values()), runs, plain)],
        figures=[],
        findings=[
            f"With {engine} the measured rate lies below P_up, the thesis's lower bound, at {under} of {whole} points."
        ],
    )


def places(runs: Grid) -> list[int]:
    """Numbers of subflows above one."""
    return [int(n) for n in runs.values("n") if n > 1]


def bound(builder: ClaimBuilder, runs: dict[str, Grid], plain: dict[str, Grid]) -> Claim:
    """X-3."""

    def judge(engine: str, runs: dict[str, Grid] = runs, names: tuple[str, ...] = FCC) -> list[Part]:
        return [
            between(told, runs[told], n, value, engine)
            for told in runs
            for n in places(runs[told])
            for value in names
        ]

    def better(engine: str) -> list[Part]:
        """A bound that nothing violates is not bettered: somewhere the rate lies below P_up, wholly."""
        at = [
            (told, n, value, runs[told].at("fr", engine=engine, n=n, phi=value))
            for told in runs
            for n in places(runs[told])
            for value in FCC
        ]
        found = [
            f"{told}, n = {n}, Phi = {value}"
            for told, n, value, rate in at
            if rate.high < p_up(network(told, n, value))
        ]
        seeds = None if all(rate.n >= rate.least for *_, rate in at) else min(rate.n for *_, rate in at)
        return [
            condition(
                "points whose rate lies below P_up, the thesis's bound",
                "at least one",
                "; ".join(found) or "none",
                bool(found),
                seeds=seeds,
            )
        ]

    return builder.claim(
        "X-3",
        lambda engine: [*better(engine), *judge(engine)],
        explanation=Explanation(
            "After a fast retransmit cwnd equals ssthresh, which is slow start: the next SACK adds a whole packet, as much as Phi round trips do. "
            "The cycle is so much shorter, most where windows are small.",
            runs=("exp-16/no-slow-start", "exp-17/no-slow-start"),
            parts=tuple(judge("ns2-2.28", plain, ("n",))),
        ),
    )
