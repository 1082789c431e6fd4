"""Experiment XII: from runs to verdicts, figures and a finding."""

import statistics

from anabranch_lab.catalogue import ClaimBuilder
from anabranch_lab.claims import (
    Claim,
    Explanation,
    Part,
    above,
    arithmetic,
    condition,
    number,
    share_above,
    sign_test,
    trend,
)
from anabranch_lab.experiment import Analysis, claim_builder
from anabranch_lab.grid import Grid
from anabranch_lab.results import Results

from ..common import background

THESIS = "ns2-2.28"
"""The engine that the thesis ran."""

EDGES = 360.0 / 10.0
"""On-edges of the background in the 360 s that count: one in 10 s, on average."""


def analyse(results: Results) -> Analysis:
    """What the lab asks an experiment for."""
    runs = results.grid("runs", background.MEASURES)
    full, long = (results.grid(name, background.MEASURES) for name in ("full", "long"))
    claims = claim_builder(results)
    engine = results.plan.engines[0]
    taken = runs.curve("share", over="n", engine=engine, background="pareto")
    return Analysis(
        claims=[
            share(claims, runs, long),
            compared(claims, runs, long),
            drops(claims, runs),
            edges(claims, runs, full),
            offered(claims),
        ],
        figures=[
            background.over_time(results, "pareto", "figure-5-23", "Fig. 5.23: beside Pareto on/off traffic"),
            background.bars(
                results, runs, "figure-5-24", "Fig. 5.24: share and drop rate beside four kinds of traffic"
            ),
        ],
        findings=[
            f"Beside Pareto traffic {engine} takes "
            + ", ".join(f"{taken.at(n).text()} % with n = {n}" for n in (1, 2, 4))
            + ". The thesis prints 25.4 % for one subflow and 55.9 % for four, from one run each.",
        ],
    )


def share(builder: ClaimBuilder, runs: Grid, long: Grid) -> Claim:
    """Z-XII-1."""

    def judge(engine: str) -> list[Part]:
        taken = runs.curve("share", over="n", engine=engine, background="pareto")
        return [number("n = 1, %", 25.4, taken.at(1), 8.0), number("n = 4, %", 55.9, taken.at(4), 8.0)]

    def single(n: int, printed: float) -> Part:
        """Whether the printed value is one that a single run may give."""
        values = long.sample("share", engine=THESIS, background="pareto", n=n).values
        mean, spread = statistics.fmean(values), statistics.stdev(values)
        low, high = mean - 1.96 * spread, mean + 1.96 * spread
        return condition(
            f"95 % of single runs of 800 s, n = {n}, %",
            f"{printed:g} ± 8",
            f"{low:.1f} to {high:.1f}",
            low - 8.0 <= printed <= high + 8.0,
        )

    return builder.claim(
        "Z-XII-1",
        judge,
        note="One run of a heavy tail says little: the interval is that of 30.",
        explanation=Explanation(
            "The printed values are from one run each. Pareto times of shape 1.5 have no variance: single runs of 800 s lie so far apart "
            "that the printed values are among them.",
            runs=("long",),
            parts=(single(1, 25.4), single(4, 55.9)),
        ),
    )


def compared(builder: ClaimBuilder, runs: Grid, long: Grid) -> Claim:
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

    square = runs.at("share", engine=THESIS, n=1, background="square").mean
    draws = long.sample("share", engine=THESIS, background="pareto", n=1).values
    return builder.claim(
        "Z-XII-2",
        judge,
        explanation=Explanation(
            "The order is that of one run for each kind. Beside Pareto traffic a single run of 800 s is a draw from a wide distribution, and "
            "the square wave, which is always the same, lies in its middle: one run puts Pareto last about as often as not.",
            runs=("long",),
            parts=(
                share_above(
                    "single runs beside Pareto traffic that take less than beside the square wave",
                    0.25,
                    sum(value < square for value in draws),
                    len(draws),
                ),
            ),
        ),
    )


def drops(builder: ClaimBuilder, runs: Grid) -> Claim:
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

    return builder.claim("Z-XII-3", judge)


def edges(builder: ClaimBuilder, runs: Grid, full: Grid) -> Claim:
    """Z-XII-4."""

    def judge(engine: str) -> list[Part]:
        parts: list[Part] = []
        for kind in ("square", "exponential", "pareto"):
            timeouts = runs.sample("timeouts", engine=engine, n=1, background=kind) / EDGES
            parts.append(above(f"timeouts per on-edge, {kind}", 0.2, timeouts.estimate))
            lost = runs.at("background_drops", engine=engine, n=1, background=kind)
            parts.append(above(f"loss rate of the background, {kind}", 0.0, lost))
        return parts

    return builder.claim(
        "Z-XII-4",
        judge,
        explanation=Explanation(
            "Bursts of 8 Mbit/s leave 2 to the subflow, and its retransmissions get through. Where bursts fill the link, 10 Mbit/s, "
            "retransmissions are lost, too, and every on-edge ends in timeouts.",
            runs=("full",),
            parts=tuple(
                above(
                    f"timeouts per on-edge, bursts of 10 Mbit/s, {kind}",
                    0.2,
                    (full.sample("timeouts", engine=THESIS, n=1, background=kind) / EDGES).estimate,
                )
                for kind in ("square", "exponential", "pareto")
            ),
        ),
    )


def offered(builder: ClaimBuilder) -> Claim:
    """Z-XII-5."""

    def judge(_engine: str) -> list[Part]:
        return [
            arithmetic("CBR, Mbit/s", 5.0, 0.5 * 10.0, 0.0),
            arithmetic("square wave, exponential, Pareto, Mbit/s", 4.0, 8.0 * 5.0 / (5.0 + 5.0), 0.0),
        ]

    return builder.claim("Z-XII-5", judge)
