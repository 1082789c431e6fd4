"""X-4: both at once, the utilisation of Phi = 1 where the network is not full and the fairness of Phi = n^2 where it is."""

from matplotlib.figure import Figure

from anabranch_lab.judge.comparison import Measured
from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.run import grid
from anabranch_lab.run.grid import Grid, Sample
from anabranch_lab.run.results import Results
from anabranch_lab.show import plots

from ..common import fair

MEASURES = {"utilisation": f"100 * {grid.of_link('lossy', 'utilisation')}"}


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    wan = results.grid("wan", MEASURES).only(engine=results.plan.engines[0])
    shared = fair.measured(results, "fairness")
    found: dict[str, Measured] = {"XV, n = 7: utilisation, %": wan.at("utilisation", coupling="adaptive")}
    for n in shared.values("n"):
        more = times(shared, n, "adaptive") - times(shared, n, "fcc(n^2)")
        found[f"XVIII, n = {n}: ratio of adaptive minus that of Phi = n^2"] = more
    claim = claim_builder(results).claim(
        "X-4",
        found,
        note=f"Seven subflows with Phi = 1 use {wan.at('utilisation', coupling='independent').text()} % of the same link.",
    )
    return Analysis(
        claims=[claim],
        figures=[
            Entry(
                "couplings",
                "X-4: utilisation of experiment XV and fairness of experiment XVIII",
                "Means and 95 % intervals. Best is at the upper left: a full link, and one share beside one SCTP.",
                lambda: figure(wan, shared),
            )
        ],
        findings=[
            f"Adaptive coupling uses {wan.at('utilisation', coupling='adaptive').text()} % of the link of XV with seven "
            f"subflows, and in XVIII eight subflows get {times(shared, 8, 'adaptive').estimate.text(2)} times what the single "
            f"SCTP gets; with Phi = n² it is {times(shared, 8, 'fcc(n^2)').estimate.text(2)} times.",
        ],
    )


def times(runs: Grid, n: int, coupling: str) -> Sample:
    """SF-SCTP over the single SCTP."""
    return runs.sample("sf", n=n, coupling=coupling) / runs.sample("single", n=n, coupling=coupling)


def figure(wan: Grid, shared: Grid) -> Figure:
    """A point for each coupling."""
    drawn, (axes,) = plots.panels(1)
    for coupling, colour in zip(wan.values("coupling"), plots.CYCLE, strict=False):
        used = wan.at("utilisation", coupling=coupling)
        ratio = times(shared, 8, coupling).estimate
        look = {"marker": "o", "color": colour, "label": coupling, "capsize": 2}
        axes.errorbar([ratio.mean], [used.mean], xerr=[ratio.half], yerr=[used.half], **look)
    axes.axhline(90.0, **plots.MODEL)
    axes.axvline(1.0, **plots.MODEL)
    plots.label(axes, "", "SF-SCTP / SCTP in XVIII, n = 8", "utilisation in XV, n = 7, %")
    axes.legend()
    return drawn
