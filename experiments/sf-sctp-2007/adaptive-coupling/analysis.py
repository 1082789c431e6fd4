"""X-4: both at once, the utilisation of Phi = 1 where the network is not full and the fairness of Phi = n^2 where it is."""

from matplotlib.figure import Figure

from anabranch_lab.judge.claims import Claim, ClaimBuilder, Part, above, below
from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.run import grid
from anabranch_lab.run.grid import Grid, Sample
from anabranch_lab.run.results import Results
from anabranch_lab.show import plots

from ..common import fair

MEASURES = {"utilisation": f"100 * {grid.of_link('lossy', 'utilisation')}"}


def analyse(results: Results) -> Analysis:
    """What the lab asks an experiment for."""
    wan = results.grid("wan", MEASURES)
    shared = fair.measured(results, "fairness")
    engine = results.plan.engines[0]
    return Analysis(
        claims=[both(claim_builder(results), wan, shared)],
        figures=[
            Entry(
                "couplings",
                "X-4: utilisation of experiment XV and fairness of experiment XVIII",
                "Means and 95 % intervals. Best is at the upper left: a full link, and one share beside one SCTP.",
                lambda: figure(results, wan, shared),
            )
        ],
        findings=[
            f"Adaptive coupling uses {wan.at('utilisation', engine=engine, coupling='adaptive').text()} % of the link of XV with seven "
            f"subflows, and in XVIII eight subflows get {times(shared, engine, 8, 'adaptive').estimate.text(2)} times what the single "
            f"SCTP gets; with Phi = n² it is {times(shared, engine, 8, 'fcc(n^2)').estimate.text(2)} times ({engine}).",
        ],
    )


def times(runs: Grid, engine: str, n: int, coupling: str) -> Sample:
    """SF-SCTP over the single SCTP."""
    at = {"engine": engine, "n": n, "coupling": coupling}
    return runs.sample("sf", **at) / runs.sample("single", **at)


def both(builder: ClaimBuilder, wan: Grid, shared: Grid) -> Claim:
    """X-4."""

    def judge(engine: str) -> list[Part]:
        parts: list[Part] = [
            above(
                "XV, n = 7: utilisation, %", 90.0, wan.at("utilisation", engine=engine, coupling="adaptive")
            )
        ]
        for n in (4, 8):
            more = times(shared, engine, n, "adaptive") - times(shared, engine, n, "fcc(n^2)")
            parts.append(
                below(f"XVIII, n = {n}: ratio of adaptive minus that of Phi = n^2", 0.0, more.estimate)
            )
        return parts

    apart = {
        engine: wan.at("utilisation", engine=engine, coupling="independent").text()
        for engine in wan.values("engine")
    }
    return builder.claim(
        "X-4",
        judge,
        note="Seven subflows with Phi = 1 use "
        + " and ".join(f"{used} % ({engine})" for engine, used in apart.items())
        + " of the same link. Tried: the coupling until 24 November 2026 (92 % here, and up to 41 shares on the grid of X-10), and what X-10 names.",
    )


def figure(results: Results, wan: Grid, shared: Grid) -> Figure:
    """A panel for each engine, a point for each coupling."""
    drawn, panels = plots.panels(len(results.plan.engines))
    for axes, engine in zip(panels, results.plan.engines, strict=True):
        for coupling, colour in zip(wan.values("coupling"), plots.CYCLE, strict=False):
            used = wan.at("utilisation", engine=engine, coupling=coupling)
            ratio = times(shared, engine, 8, coupling).estimate
            axes.errorbar(
                [ratio.mean],
                [used.mean],
                xerr=[ratio.half],
                yerr=[used.half],
                marker="o",
                color=colour,
                label=coupling,
                capsize=2,
            )
        axes.axhline(90.0, **plots.MODEL)
        axes.axvline(1.0, **plots.MODEL)
        plots.label(axes, engine, "SF-SCTP / SCTP in XVIII, n = 8", "utilisation in XV, n = 7, %")
    panels[0].legend()
    return drawn
