"""Ways to fetch a page over lines of any bandwidth-delay product."""

from anabranch_lab.judge.experiment import Analysis, Table, claim_builder
from anabranch_lab.run.grid import Grid
from anabranch_lab.run.results import Results

from ..common import pages
from . import figures, judge


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    runs = results.grid("products", pages.MEASURES)
    large = results.grid("large-buffer", pages.MEASURES)
    curve = judge.ratio(runs)
    today, wide = (judge.ratio(each, "SCTP of today", "TCP of today in parallel") for each in (runs, large))
    return Analysis(
        claims=judge.claims(claim_builder(results), runs, large),
        figures=figures.all_figures(runs, large),
        tables=[table("buffer of 50 packets", runs), table("buffer of 500 packets", large)],
        findings=[
            "What the thesis expected and did not see is there: with 100 ms one way, 50 parallel connections overtake one "
            f"association at {judge.crossover(curve):.0f} kbit/s; at {curve.x[-1] / 1000:g} Mbit/s SCTP takes "
            f"{curve.at(curve.x[-1]).text(0)} % of their time.",
            "With the stacks of today 50 initial windows overflow a buffer of 50 packets, and SCTP takes "
            f"{today.at(today.x[-1]).text(0)} % of their time; with a buffer of 500 packets it takes "
            f"{wide.at(wide.x[-1]).text(0)} %.",
        ],
    )


def table(title: str, runs: Grid) -> Table:
    """R2 of every way at every rate."""
    rates = sorted(runs.values("rate"))
    rows = [
        (way, *(runs.at("R2", rate=rate, way=way).text(2) for rate in rates)) for way in runs.values("way")
    ]
    return Table(f"R2 in seconds, {title}", ("way", *(f"{rate} kbit/s" for rate in rates)), rows, open=False)
