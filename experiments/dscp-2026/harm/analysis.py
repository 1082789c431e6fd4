"""Harm to a connection of TCP CUBIC: from runs to verdicts, figures and findings."""

from matplotlib.figure import Figure

from anabranch_lab import plots
from anabranch_lab.claims import Claim, above, below
from anabranch_lab.experiment import Analysis, Table, claim_builder
from anabranch_lab.experiment import Figure as Entry
from anabranch_lab.grid import Grid, of_flow
from anabranch_lab.results import Results

from ..common import drawing

MEASURES = {
    "cubic": f"{of_flow('cubic', 'goodput_payload_run_bps')} / 1e6",
    "many": f"{of_flow('many', 'goodput_payload_run_bps')} / 1e6",
}
ONE = "one code point"
INDEPENDENT = "four subflows, independent"
SHARED = ("drop-tail", "CoDel")
"""Queues in which everybody waits for everybody."""
COUPLED = ("four subflows, Phi = n^2", "four subflows, adaptive")


def analyse(results: Results) -> Analysis:
    """What the lab asks an experiment for."""
    runs = results.grid("competing", MEASURES)
    rows = [
        [
            queue,
            how,
            runs.at("cubic", queue=queue, how=how).text(2),
            runs.at("many", queue=queue, how=how).text(2),
        ]
        for queue in runs.values("queue")
        for how in runs.values("how")
    ]
    return Analysis(
        claims=claims(claim_builder(results), runs),
        tables=[
            Table("What each gets", ["queue", "how", "TCP CUBIC, Mbit/s", "the association, Mbit/s"], rows)
        ],
        figures=[
            Entry(
                "figure-dscp-harm",
                "What a connection of TCP CUBIC gets beside an association with several code points",
                "Means and 95 % intervals; the link has 20 Mbit/s.",
                lambda: figure(runs),
            )
        ],
        findings=[finding(runs, queue) for queue in runs.values("queue")],
    )


def finding(runs: Grid, queue: str) -> str:
    """What CUBIC gets, for each way."""
    told = "; ".join(f"{how} {runs.at('cubic', queue=queue, how=how).text(2)}" for how in runs.values("how"))
    return f"{queue}: TCP CUBIC gets, Mbit/s, beside: {told}."


def claims(builder, runs: Grid) -> list[Claim]:
    """The hypotheses of claims.toml that name this experiment."""
    shared = [queue for queue in SHARED if queue in runs.values("queue")]

    def cubic(queue: str, how: str):
        return runs.sample("cubic", queue=queue, how=how)

    return [
        builder.claim(
            "DS-10",
            [
                below(
                    f"{queue}: TCP CUBIC beside {INDEPENDENT}, less 0.7 times beside {ONE}, Mbit/s",
                    0.0,
                    (cubic(queue, INDEPENDENT) - cubic(queue, ONE) * 0.7).estimate,
                )
                for queue in shared
            ],
        ),
        builder.claim(
            "DS-11",
            [
                above(
                    f"{queue}: TCP CUBIC beside {how}, less 0.85 times beside {ONE}, Mbit/s",
                    0.0,
                    (cubic(queue, how) - cubic(queue, ONE) * 0.85).estimate,
                )
                for queue in shared
                for how in COUPLED
            ],
            note="One window for all that share a bottleneck (adaptive) is within the bound at both queues; Phi = n^2 at drop-tail only.",
        ),
    ]


def figure(runs: Grid) -> Figure:
    """Queues side by side, a mark for each way."""
    queues = runs.values("queue")
    drawn, (axes,) = plots.panels(1, height=4.2)
    drawing.dots(
        axes,
        queues,
        {how: [runs.at("cubic", queue=queue, how=how) for queue in queues] for how in runs.values("how")},
    )
    plots.label(axes, "one bottleneck of 20 Mbit/s", "queue", "goodput of TCP CUBIC, Mbit/s")
    axes.set_ylim(bottom=0)
    drawing.legend(drawn, axes)
    return drawn
