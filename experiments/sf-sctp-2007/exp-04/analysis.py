"""Experiment IV: from runs to verdicts, figures and a finding."""

from anabranch_lab import series
from anabranch_lab.experiment import Analysis, claim_builder, results_of
from anabranch_lab.results import Results

from ..common import bottleneck
from . import figures, judge


def analyse(results: Results) -> Analysis:
    """What the lab asks an experiment for."""
    runs = results.grid("subflows", bottleneck.MEASURES)
    spread = results.grid("spread", bottleneck.MEASURES)
    seen = series.measure(results, "sampled", bottleneck.look)
    trips = results.grid("sampled", {"least": "min(a) FILTER (kind = 'rtt') / 1e9"}, kind="trace")
    together = {
        sweep: series.measure(results, sweep, bottleneck.together) for sweep in ("sampled", "sampled-red")
    }
    closely = series.measure(results, "closely", bottleneck.closely)
    red = series.measure(results_of(results, "exp-08"), "closely", bottleneck.closely)
    claims = judge.claims(claim_builder(results), runs, spread, seen, trips, together, (closely, red))
    used = {engine: runs.curve("utilisation", over="n", engine=engine) for engine in results.plan.engines}
    lost = runs.curve("drop_rate", over="n", engine=results.plan.engines[0])
    return Analysis(
        claims=claims,
        figures=figures.all_figures(results, runs),
        findings=[
            "Of the link "
            + "; ".join(
                f"{engine} uses {curve.at(1).text()} % with one subflow and {curve.at(12).text()} % with 12"
                for engine, curve in used.items()
            )
            + ". The thesis prints 92.0 and 95.4 %.",
            f"The drop rate grows as the number of subflows to the power of {lost.exponent().text(2)}.",
        ],
    )
