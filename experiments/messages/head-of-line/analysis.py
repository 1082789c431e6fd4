"""Head-of-line blocking: from runs to grades, figures and a finding."""

from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.run.grid import Grid
from anabranch_lab.run.results import Results

from ..common import latency
from . import figures, judge


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    shared, apart, many = (results.grid(name, latency.MEASURES) for name in ("shared", "apart", "many"))
    runs = latency.Ways((shared, apart, many))
    served = results.grid("served-first", latency.MEASURES)
    return Analysis(
        claims=judge.claims(claim_builder(results), runs, served),
        figures=figures.all_figures(runs),
        findings=[
            *findings(latency.Ways((shared, apart)), "of a small message"),
            *findings(latency.Ways((many,)), "of small messages of eight sources (means over the sources)"),
            passed(served),
        ],
    )


def findings(runs: latency.Ways, whose: str) -> list[str]:
    """One sentence for each path: the middle and the 99th percentile where most is lost."""
    told = []
    for path in runs.paths:
        loss = runs.losses[-1]
        ways = "; ".join(
            f"{how} {runs.at('p50', how, path, loss).text(0)} and {runs.at('p99', how, path, loss).text(0)}"
            for how in runs.ways
        )
        told.append(f"{path}, {100 * loss:g} % lost: median and 99th percentile {whose}, ms: {ways}.")
    return told


def passed(served: Grid) -> str:
    """A sentence on the latency of small messages with a code point of their own, beside a bulk transfer."""
    told = "; ".join(
        f"{network}: "
        + ", ".join(
            f"{how} {served.at('p50', how=how, network=network, loss=0).text(0)}"
            for how in served.values("how")
        )
        for network in served.values("network")
    )
    return f"Where the network serves EF first, median of a small message beside a bulk transfer that fills the queue, ms: {told}."
