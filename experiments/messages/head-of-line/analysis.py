"""Head-of-line blocking: from runs to verdicts, figures and a finding."""

from anabranch_lab.experiment import Analysis, claim_builder
from anabranch_lab.results import Results

from ..common import latency
from . import figures, judge


def analyse(results: Results) -> Analysis:
    """What the lab asks an experiment for."""
    shared, apart = (results.grid(name, latency.MEASURES) for name in ("shared", "apart"))
    runs = latency.Ways(shared, apart)
    return Analysis(
        claims=judge.claims(claim_builder(results), runs),
        figures=figures.all_figures(runs),
        findings=findings(runs),
    )


def findings(runs: latency.Ways) -> list[str]:
    """One sentence for each path: the middle and the 99th percentile where most is lost."""
    told = []
    for path in runs.paths:
        loss = runs.losses[-1]
        ways = "; ".join(
            f"{how} {runs.at('p50', how, path, loss).text(0)} and {runs.at('p99', how, path, loss).text(0)}"
            for how in runs.ways
        )
        told.append(f"{path}, {100 * loss:g} % lost: median and 99th percentile of a small message, ms: {ways}.")
    return told
