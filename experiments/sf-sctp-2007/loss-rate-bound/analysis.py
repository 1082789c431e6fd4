"""X-3: is P_rr a lower bound of the rate of fast retransmits, where P_up is none? The runs are those of XVI and XVII."""

from collections.abc import Sequence
from dataclasses import replace

from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.models.deterministic import p_up
from anabranch_lab.run.results import Results
from anabranch_lab.stats import LEVEL, Estimate

from ..common.deterministic import every, measured, network, rate_bounds, several

FCC = ("n", "n^2", "2n^2")


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    runs = {told: measured(each) for told, each in every(results).items()}
    over = [
        runs[told].at("fr", n=n, phi=name).times(1 / p_up(network(told, n, name)))
        for told in runs
        for n in several(runs[told])
        for name in FCC
    ]
    # P_rr is the better bound only if some rate lies below P_up.
    found = {"lowest rate of fast retransmits / P_up": lowest(over), **rate_bounds(runs, FCC)}
    under = sum(rate.mean < 1 for rate in over)
    return Analysis(
        claims=[claim_builder(results).claim("X-3", found)],
        findings=[
            f"The measured rate lies below P_up, the thesis's lower bound, at {under} of {len(over)} points."
        ],
    )


def lowest(points: Sequence[Estimate]) -> Estimate:
    """The lowest of several points, with the interval that holds for all of them at once (Bonferroni), because the lowest is chosen."""
    point = min(points, key=lambda each: each.mean)
    return replace(point, half=point.half_at(1 - (1 - LEVEL) / len(points)))
