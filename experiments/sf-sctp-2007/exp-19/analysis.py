"""Experiment XIX (the thesis's IXX): from runs to verdicts, figures and a finding."""

from anabranch_lab.judge.claims import Claim, ClaimBuilder, Explanation, Part, above, number
from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.run.grid import Grid, Sample
from anabranch_lab.run.results import Results

from ..common import fair, phi

P = 1e-3


def analyse(results: Results) -> Analysis:
    """What the lab asks an experiment for."""
    equal = results.grid("equal", fair.MEASURES)
    a, b, without = (fair.measured(results, name) for name in ("a", "b", "a-xviii"))
    step = results.grid("step", fair.MEASURES)
    engine = results.plan.engines[0]
    rates = ", ".join(
        f"{1e3 * a.at('fr_sf', engine=engine, n=8, phi=name).mean:.2f}e-3 ({phi.LABELS[name]})"
        for name in phi.NAMES
    )
    alone = fair.share(equal, "single", engine=engine, n=1)
    return Analysis(
        claims=[errors(claim_builder(results), a, b, without, step)],
        figures=fair.figures(
            results, a, b, "n", "number of subflows", phi.NAMES, ("5.39", "5.40"), equal=equal
        ),
        findings=[
            f"Fast retransmits of eight subflows beside one SCTP, for each packet: {rates} ({engine}). One subflow gets "
            f"{alone.text(2)} times what one SCTP gets.",
        ],
    )


def errors(builder: ClaimBuilder, a: Grid, b: Grid, without: Grid, step: Grid) -> Claim:
    """Z-XIX-1."""

    def kept(engine: str, n: int, name: str) -> Sample:
        """What SF-SCTP has with link errors, as a share of what it has in XVIII."""
        with_errors, clean = (runs.sample("sf", engine=engine, n=n, phi=name) for runs in (a, without))
        return with_errors / clean

    def rate(scenario: str, runs: Grid, engine: str) -> list[Part]:
        return [
            number(
                f"({scenario}) n = {n}, Phi = {name}",
                P,
                runs.at("fr_sf", engine=engine, n=n, phi=name),
                0.25 * P,
            )
            for n in (2, 4, 8, 15)
            for name in ("n^2", "2n^2")
        ]

    def judge(engine: str) -> list[Part]:
        rates = [*rate("a", a, engine), *rate("b", b, engine)]
        suffers = [
            above(
                f"(a) n = {n}: share kept with Phi = {small} minus {large}",
                0.0,
                (kept(engine, n, small) - kept(engine, n, large)).estimate,
            )
            for n in (2, 4, 8, 15)
            for small, large in (("1", "n"), ("n", "n^2"), ("n^2", "2n^2"))
        ]
        return rates + suffers

    return builder.claim(
        "Z-XIX-1",
        judge,
        explanation=Explanation(
            "The receiving host takes no time for a packet, as hosts in ns-2 do by themselves: nothing is random then, and flows fall into step with the queue.",
            runs=("step",),
            parts=tuple(rate("b", step, "ns2-2.28")),
        ),
    )
