"""Losses, head-of-line blocking, priorities, subflows."""

from anabranch_lab.judge.experiment import Analysis, Table, claim_builder
from anabranch_lab.run import grid
from anabranch_lab.run.results import Results

from ..common import pages
from . import figures, judge

MEASURES = {
    **pages.MEASURES,
    # Seconds until an object is there, averaged over the objects.
    "mean": f"avg(completion_s) FILTER (kind = 'object' AND name = '{pages.PAGE}')",
    "index": grid.of_object(pages.PAGE, 0, "completion_s"),
    "pictures": f"avg(completion_s) FILTER (kind = 'object' AND name = '{pages.PAGE}' AND object > 0)",
}


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    losses, priorities = (results.grid(sweep, MEASURES) for sweep in ("losses", "priorities"))
    most = max(losses.values("p"))
    means = {way: losses.at("mean", p=most, way=way).text(2) for way in losses.values("way")}
    rows = [
        (name, *(priorities.at(measure, scheduler=name).text(2) for measure in ("index", "pictures", "R2")))
        for name in priorities.values("scheduler")
    ]
    return Analysis(
        claims=judge.claims(claim_builder(results), losses, priorities),
        figures=figures.all_figures(losses),
        tables=[
            Table(
                "An index of 100 kB and 50 pictures of 4 kB over B2, seconds",
                ("scheduler", "index", "pictures, mean", "last object"),
                rows,
            )
        ],
        findings=[
            f"At {100 * most:g} % of loss an object takes, on the mean, "
            + ", ".join(f"{found} s ({way})" for way, found in means.items())
            + ".",
            "With priority for its stream (RFC 8260) the index is there after "
            f"{priorities.at('index', scheduler='index first').text(2)} s instead of "
            f"{priorities.at('index', scheduler='in turn').text(2)} s, and the last object no later.",
        ],
    )
