"""Experiment XII: from runs to verdicts, figures and a finding."""

import math
import statistics
from collections.abc import Mapping

from anabranch_lab.judge.claims import (
    Claim,
    ClaimBuilder,
    Explanation,
    Part,
    above,
    arithmetic,
    below,
    number,
    ordered,
    sign_test,
)
from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.run import series
from anabranch_lab.run.grid import Grid
from anabranch_lab.run.results import Results

from ..common import background

THESIS = "ns2-2.28"
"""The engine that the thesis ran."""


def analyse(results: Results) -> Analysis:
    """What the lab asks an experiment for."""
    runs = results.grid("runs", background.MEASURES)
    long, spread = (results.grid(name, background.MEASURES) for name in ("long", "spread"))
    seen = {
        name: (
            series.measure(results, name, background.edges, events=True),
            results.grid(name, background.MEASURES),
        )
        for name in ("edges", "edges-spread", "edges-full")
    }
    claims = claim_builder(results)
    engine = results.plan.engines[0]
    taken = runs.curve("share", over="n", engine=engine, background="pareto")
    return Analysis(
        claims=[
            share(claims, runs, spread, long),
            compared(claims, runs, spread, long),
            drops(claims, runs, spread),
            edges(claims, seen),
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


def share(builder: ClaimBuilder, runs: Grid, spread: Grid, long: Grid) -> Claim:
    """Z-XII-1."""

    def judge(engine: str, runs: Grid = runs) -> list[Part]:
        taken = runs.curve("share", over="n", engine=engine, background="pareto")
        return [number("n = 1, %", 25.4, taken.at(1), 8.0), number("n = 4, %", 55.9, taken.at(4), 8.0)]

    def single(n: int) -> str:
        """Where single runs lie."""
        values = long.sample("share", engine=THESIS, background="pareto", n=n).values
        mean, spread = statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else math.nan
        return f"{mean - 1.96 * spread:.1f} to {mean + 1.96 * spread:.1f} % (n = {n})"

    return builder.claim(
        "Z-XII-1",
        judge,
        note="The printed values are from one run each, and one run beside a heavy tail says little: 95 % of single runs as long as the "
        f"thesis's lie within {single(1)} and {single(4)}.",
        explanation=[
            background.in_step(judge, spread),
            Explanation("Runs as long as the thesis's.", runs=("long",), parts=tuple(judge(THESIS, long))),
        ],
    )


def compared(builder: ClaimBuilder, runs: Grid, spread: Grid, long: Grid) -> Claim:
    """Z-XII-2."""

    def judge(engine: str, runs: Grid = runs) -> list[Part]:
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
        note="The thesis's order is that of one run for each kind. Of single runs of 800 s beside Pareto traffic "
        f"{sum(value < square for value in draws)} of {len(draws)} take less than beside the square wave, which is always the same.",
        explanation=background.in_step(judge, spread),
    )


def drops(builder: ClaimBuilder, runs: Grid, spread: Grid) -> Claim:
    """Z-XII-3."""

    def judge(engine: str, runs: Grid = runs) -> list[Part]:
        return [
            part
            for kind in background.KINDS
            for part in ordered(
                f"drop rate, {kind}",
                ["n = 4", "n = 2", "n = 1"],
                [runs.sample("drop_rate", engine=engine, n=n, background=kind) for n in (4, 2, 1)],
            )
        ]

    return builder.claim("Z-XII-3", judge, explanation=background.in_step(judge, spread))


def edges(builder: ClaimBuilder, seen: Mapping[str, tuple[Grid, Grid]]) -> Claim:
    """Z-XII-4; of each sweep what its samples and events show, and what its runs sum up to."""

    def judge(engine: str, sweep: str = "edges") -> list[Part]:
        watched, runs = seen[sweep]
        parts: list[Part] = []
        for kind in ("square", "exponential", "pareto"):
            at = {"engine": engine, "n": 1, "background": kind}
            parts += [
                above(f"timeouts per on-edge, within 2 s, {kind}", 0.2, watched.at("timeouts", **at)),
                above(
                    f"on-edges with two cuts or more and then a timeout, within 2 s, {kind}",
                    0.2,
                    watched.at("several", **at),
                ),
                below(
                    f"least rate over 1 s within 2 s of an on-edge, {kind}, Mbit/s",
                    2.0,
                    watched.at("least", **at),
                ),
                above(f"loss rate of the background, {kind}", 0.0, runs.at("background_drops", **at)),
            ]
        return parts

    def told(measure: str, digits: int) -> str:
        found = seen["edges"][0]
        return ", ".join(
            found.at(measure, engine=THESIS, n=1, background=kind).text(digits)
            for kind in ("square", "exponential", "pareto")
        )

    return builder.claim(
        "Z-XII-4",
        judge,
        note="Every on-edge counts, also those of bursts that end within the two seconds, and those that find one subflow below 2 Mbit/s. The thesis has several fast "
        "retransmits bring the rate down, so what counts of them is that they cut the window (ssthresh changes). Several are two here, and never more; where a timeout follows it is "
        f"{told('cuts', 2)} on average (square wave, exponential, Pareto), and {told('retransmits', 0)} SACKs mark packets.",
        explanation=[
            Explanation(
                background.IN_STEP,
                runs=("edges-spread",),
                parts=tuple(judge(THESIS, "edges-spread")),
            ),
            Explanation(
                "Bursts that fill the link, 10 Mbit/s: retransmissions are lost, too.",
                runs=("edges-full",),
                parts=tuple(judge(THESIS, "edges-full")),
            ),
        ],
    )


def offered(builder: ClaimBuilder) -> Claim:
    """Z-XII-5."""

    def judge(_engine: str) -> list[Part]:
        return [
            arithmetic("CBR, Mbit/s", 5.0, 0.5 * 10.0, 0.0),
            arithmetic("square wave, exponential, Pareto, Mbit/s", 4.0, 8.0 * 5.0 / (5.0 + 5.0), 0.0),
        ]

    return builder.claim("Z-XII-5", judge)
