"""X-3: is P_rr a lower bound of the rate of fast retransmits, where P_up is none? The runs are those of XVI and XVII."""

from anabranch_lab.judge.comparison import Plain
from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.models.deterministic import p_up
from anabranch_lab.run.results import Results

from ..common.deterministic import every, measured, network, rate_bounds, several

FCC = ("n", "n^2", "2n^2")


def analyse(results: Results) -> Analysis:
    """What the lab asks an experiment for."""
    runs = {told: measured(each) for told, each in every(results).items()}
    rates = [
        (runs[told].at("fr", n=n, phi=name), p_up(network(told, n, name)))
        for told in runs
        for n in several(runs[told])
        for name in FCC
    ]
    # A bound that nothing violates is not bettered: somewhere the rate lies below P_up, wholly.
    below = sum(rate.high < bound for rate, bound in rates)
    found = {
        "points whose rate lies below P_up": Plain(
            below, min(rate.n for rate, _ in rates), max(rate.least for rate, _ in rates)
        ),
        **rate_bounds(runs, FCC),
    }
    under = sum(rate.mean < bound for rate, bound in rates)
    return Analysis(
        claims=[claim_builder(results).claim("X-3", found)],
        findings=[
            f"The measured rate lies below P_up, the thesis's lower bound, at {under} of {len(rates)} points."
        ],
    )
