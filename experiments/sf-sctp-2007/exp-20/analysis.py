"""Experiment XX: from runs to verdicts, figures and a finding."""

import math

from anabranch_lab.judge.claims import (
    Claim,
    ClaimBuilder,
    Explanation,
    Part,
    above,
    number,
    number_in,
    ordered,
)
from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.run.grid import Curve, Grid
from anabranch_lab.run.results import Results

from ..common import estimates, fair

BEYOND = 10**-3.4
"""The thesis's peak: beyond it both are to fall."""


def analyse(results: Results) -> Analysis:
    """What the lab asks an experiment for."""
    a, b = (fair.measured(results, name) for name in ("a", "b"))
    no_slow_start, plain = (results.grid(name, fair.MEASURES) for name in ("no-slow-start", "plain"))
    claims = claim_builder(results)
    engine = results.plan.engines[0]
    single = a.curve("single", over="p", engine=engine, phi="n^2")
    top = single.x[int(single.means.argmax())]
    return Analysis(
        claims=[peak(claims, a), root(claims, a, no_slow_start, plain)],
        figures=fair.figures(
            results, a, b, "p", "loss rate of the link", ("1", "n^2"), ("5.41", "5.42"), log=True
        ),
        findings=[
            f"Beside four subflows with Phi = n² the single SCTP gets most at a loss of 10^{math.log10(top):.1f}, "
            f"{single.at(top).text(2)} Mbit/s ({engine}).",
        ],
    )


def peak(builder: ClaimBuilder, runs: Grid) -> Claim:
    """Z-XX-1."""

    def judge(engine: str) -> list[Part]:
        single, falls = (
            runs.curve(measure, over="p", engine=engine, phi="n^2") for measure in ("single", "sf")
        )
        # Where it rises and falls is judged at the printed place: one chosen by these runs would be a maximum of anything.
        top = min(single.x, key=lambda p: abs(math.log10(p / BEYOND)))
        exponents = Curve(tuple(math.log10(p) for p in single.x), single.seeds, single.values, single.least)
        places = [f"{p:g}" for p in falls.x]
        return [
            number(
                "log10 of the loss at which the single SCTP gets most", -3.4, estimates.peak(exponents), 0.3
            ),
            above(
                f"single SCTP at {top:g} minus at {single.x[0]:g}, Mbit/s", 0.0, single.rise(single.x[0], top)
            ),
            above(
                f"single SCTP at {top:g} minus at {single.x[-1]:g}, Mbit/s",
                0.0,
                single.rise(single.x[-1], top),
            ),
            *ordered("SF-SCTP", places, [falls.sample(p) for p in falls.x]),
        ]

    return builder.claim("Z-XX-1", judge)


def root(builder: ClaimBuilder, runs: Grid, no_slow_start: Grid, plain: Grid) -> Claim:
    """Z-XX-2."""

    def judge(engine: str, runs: Grid = runs) -> list[Part]:
        parts = []
        for measure, who in (("sf", "SF-SCTP"), ("single", "single SCTP")):
            beyond = runs.curve(measure, over="p", engine=engine, phi="n^2").between(BEYOND, 1e-2)
            parts.append(number_in(f"log-log slope beyond the peak, {who}", -0.6, -0.4, beyond.exponent()))
        return parts

    return builder.claim(
        "Z-XX-2",
        judge,
        note="At a loss of 1 % a window of SF-SCTP is three packets, which a cut cannot bring below the floor of ssthresh, two.",
        explanation=[
            Explanation(
                "After a fast retransmit slow start adds a whole packet, as much as 16 round trips do: SF-SCTP falls more slowly than the root.",
                runs=("no-slow-start",),
                parts=tuple(judge("ns2-2.28", no_slow_start)),
            ),
            Explanation(
                "The same, and a cut may leave less than two packets.",
                runs=("plain",),
                parts=tuple(judge("ns2-2.28", plain)),
            ),
        ],
    )
