"""Experiment V: from runs to verdicts, figures and a finding."""

from anabranch_lab.judge.claims import (
    Claim,
    ClaimBuilder,
    Explanation,
    Part,
    above,
    at_least,
    below,
    number,
    rank,
)
from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.run import series
from anabranch_lab.run.grid import Grid
from anabranch_lab.run.results import Results

from ..common import bottleneck, pictures

W_Q = 116.7
"""Packets of 1500 bytes that fill link and a queue of 50 (claims of Zou 2007, 0.1)."""


def analyse(results: Results) -> Analysis:
    """What the lab asks an experiment for."""
    runs = results.grid("queues", bottleneck.MEASURES)
    spread = results.grid("spread", bottleneck.MEASURES)
    seen, disturbed = (
        series.measure(results, name, bottleneck.look) for name in ("sampled", "sampled-spread")
    )
    engine = results.plan.engines[0]
    used = runs.curve("utilisation", over="queue", engine=engine, n=1)
    return Analysis(
        claims=[
            shorter(claim_builder(results), seen, disturbed),
            lengths(claim_builder(results), runs, spread),
        ],
        figures=[
            pictures.over_time(results, "figure-5-10", "Fig. 5.10: a queue of 50 packets", 1170.0, 1200.0),
            pictures.over_axis(
                results,
                runs,
                "queue",
                "queue, packets",
                "figure-5-15",
                "Fig. 5.15: utilisation and drop rate over the queue",
            ),
        ],
        findings=[
            f"With one subflow the utilisation rises from {used.at(10).text()} % with a queue of 10 packets to "
            f"{used.at(150).text()} % with 150 ({engine}).",
        ],
    )


def shorter(builder: ClaimBuilder, seen: Grid, disturbed: Grid) -> Claim:
    """Z-V-1."""

    def judge(engine: str, seen: Grid = seen) -> list[Part]:
        def at(name: str, queue: int):
            return seen.sample(name, engine=engine, queue=queue)

        def less(name: str) -> Part:
            return above(f"{name}: 100 packets minus 50, s", 0.0, (at(name, 100) - at(name, 50)).estimate)

        return [
            number("peak of the window, MTU", W_Q, at("peak", 50).estimate, 0.05 * W_Q),
            below("peak of the window, MTU, as printed", 120.0, at("peak", 50).estimate),
            number("rate when the steady phase begins, Mbit/s", 7.0, at("rate", 50).estimate, 0.05 * 7.0),
            less("QBU"),
            less("cycle"),
            below("QSD: 100 packets minus 50, s", 0.0, (at("QSD", 100) - at("QSD", 50)).estimate),
        ]

    engine = "ns2-2.28"
    rate = seen.sample("single_rate", engine=engine, queue=50).estimate
    return builder.claim(
        "Z-V-1",
        judge,
        note="The steady phase's first interval of 0.1 s holds the pause behind the cut: in the second interval behind a single cut the rate "
        f"is {rate.text(2)} Mbit/s.",
        explanation=Explanation(
            "The receiving host takes no time for a packet, as hosts in ns-2 do by themselves: nothing is random then, and flows fall into step with the queue.",
            runs=("sampled-spread",),
            parts=tuple(judge(engine, disturbed)),
        ),
    )


SAME = {"utilisation": 0.1, "drop_rate": 1e-5}
"""Percentage points, and drops per packet, by which an interval may reach below zero, and never a mean, where two curves are said to be one above
the other or the same: a twentieth of the tolerance that utilisations have (Z-IV-1), and a hundredth of the rate at the longest queue."""


def lengths(builder: ClaimBuilder, runs: Grid, spread: Grid) -> Claim:
    """Z-V-2."""

    def judge(engine: str, runs: Grid = runs) -> list[Part]:
        parts = []
        for n in (1, 4):
            used = runs.curve("utilisation", over="queue", engine=engine, n=n)
            lost = runs.curve("drop_rate", over="queue", engine=engine, n=n)
            parts += [
                rank(f"utilisation over the queue, n = {n}", used, 0.95),
                rank(f"drop rate over the queue, n = {n}", lost, -0.95),
            ]
        for name in ("utilisation", "drop_rate"):
            one, four = (runs.curve(name, over="queue", engine=engine, n=n) for n in (1, 4))
            more = four - one
            # "At least": where both use all of the link, neither is above the other.
            parts += [
                at_least(f"{name}, n = 4 minus n = 1, queue {q:g}", 0.0, more.at(q), SAME[name])
                for q in more.x
            ]
        return parts

    return builder.claim(
        "Z-V-2",
        judge,
        explanation=Explanation(
            "The receiving host takes no time for a packet, as hosts in ns-2 do by themselves: nothing is random then, and flows fall into step with the queue.",
            runs=("spread",),
            parts=tuple(judge("ns2-2.28", spread)),
        ),
    )
