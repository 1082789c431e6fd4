"""Experiment IV: from runs to grades, figures and a finding."""

from anabranch_lab.judge.experiment import Analysis, claim_builder, results_of
from anabranch_lab.run import series
from anabranch_lab.run.results import Results

from ..common import bottleneck
from . import figures, judge


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    both = results.grid("subflows", bottleneck.MEASURES)
    runs = both.only(engine=results.plan.engines[0])
    chunks = results.grid("chunks", bottleneck.MEASURES).only(engine=results.plan.engines[0])
    seen = series.measure(results, "sampled", bottleneck.look)
    trips = results.grid("sampled", {"least": "min(a) FILTER (kind = 'rtt') / 1e9"}, kind="trace")
    together = {
        sweep: series.measure(results, sweep, bottleneck.synchronisation)
        for sweep in ("sampled", "sampled-red")
    }
    closely = series.measure(results, "closely", bottleneck.closely)
    red = series.measure(results_of(results, "exp-08"), "closely", bottleneck.closely)
    used, lost = (runs.curve(measure, over="n") for measure in ("user_data", "drop_rate"))
    claims = judge.claims(claim_builder(results), runs, chunks, seen, trips, together, (closely, red))
    return Analysis(
        claims=claims,
        figures=figures.all_figures(results, both, claims[0]),
        findings=[
            f"User data takes {used.at(1).text()} % of the link with one subflow and {used.at(12).text(2)} % with 12.",
            f"The drop rate grows as the number of subflows to the power of {lost.exponent().text(2)}.",
        ],
    )
