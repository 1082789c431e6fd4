"""X-5: from runs to a grade, a figure and a finding."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from anabranch_lab.judge.claims import Claim
from anabranch_lab.judge.experiment import Analysis, Table, claim_builder
from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.models import renewal, stochastic
from anabranch_lab.run import grid
from anabranch_lab.run.grid import Grid, Sample
from anabranch_lab.run.results import Results
from anabranch_lab.show import plots
from anabranch_lab.stats import Estimate

RTT = 0.5
SWEEPS = {"p-1e-3": (1e-3, 2), "p-1e-4": (1e-4, 1), "p-1e-4-slow": (1e-4, 2), "nine": (1e-4, 9)}
"""Loss and subflows of every sweep."""


def measures(p: float) -> dict[str, str]:
    """The measured goodput, and the goodput corrected to the expected losses: those on links, not those that the sender assumed."""
    goodput, lost, sent = (
        grid.of_flow("sf", column) for column in ("goodput_wire_run_bps", "packets_lost", "packets_sent")
    )
    return {"goodput": goodput, "level": f"{goodput} * sqrt({lost} / ({sent} * {p}))"}


@dataclass(frozen=True)
class Place:
    """One point of a sweep, for one engine: simulated over modelled."""

    sweep: str
    engine: str
    p: float
    n: int
    phi: float
    level: Sample
    goodput: Sample

    @property
    def name(self) -> str:
        """For tables."""
        return f"p = {self.p:g}, n = {self.n}, Φ = {self.phi:g}"

    @property
    def thesis(self) -> float:
        """(4.16), bits per second."""
        return 8 * float(stochastic.equal_subflows(self.n, self.p, RTT, self.phi))

    @property
    def ours(self) -> float:
        """The renewal model with the engine's rules, bits per second."""
        return 8 * self.n * renewal.steady(self.p, RTT, phi=self.phi, engine=self.engine).throughput

    def over(self, model: float) -> Estimate:
        """Simulated over a model."""
        return (self.level * (1 / model)).estimate


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    places = [place for sweep in SWEEPS for place in _places(results, sweep)]
    claim = claim_builder(results).claim(
        "X-5",
        {f"{place.engine}, {place.name}: simulated / model": place.over(place.ours) for place in places},
        note=f"Over the thesis's models it is {_span(places, 'thesis')}.",
    )
    return Analysis(
        claims=[claim],
        tables=[_table(places)],
        figures=[
            Entry(
                "stochastic-model",
                "X-5: simulated throughput over modelled",
                "Means and 95 % intervals with the luck of the losses taken out; the band is the claim's tolerance.",
                lambda: _figure(places, claim),
            )
        ],
        findings=[
            f"Simulated throughput is {_span(places, 'thesis')} of the thesis's models and {_span(places, 'ours')} of the renewal model, "
            f"over {len(places)} combinations of loss, subflows, Φ and engine."
        ],
    )


def _places(results: Results, sweep: str) -> list[Place]:
    p, n = SWEEPS[sweep]
    runs: Grid = results.grid(sweep, measures(p))
    plan = results.plan.sweep(sweep)
    found = []
    axes = {axis.name: axis.values for axis in plan.axes}
    for engine in axes["engine"]:
        for phi in axes["phi"]:
            at = {"engine": engine, "phi": phi}
            found.append(
                Place(
                    sweep, engine, p, n, float(phi), runs.sample("level", **at), runs.sample("goodput", **at)
                )
            )
    return found


def _span(places: Sequence[Place], model: str) -> str:
    ratios = [place.over(getattr(place, model)).mean for place in places]
    return f"{min(ratios):.3f} to {max(ratios):.3f}"


def _table(places: Sequence[Place]) -> Table:
    return Table(
        "Simulated and modelled throughput, Mbit/s",
        [
            "engine",
            "point",
            "simulated",
            "without luck",
            "thesis",
            "renewal",
            "sim. / thesis",
            "sim. / renewal",
        ],
        [
            [
                place.engine,
                place.name,
                (place.goodput * 1e-6).estimate.text(3),
                (place.level * 1e-6).estimate.text(3),
                f"{place.thesis / 1e6:.3f}",
                f"{place.ours / 1e6:.3f}",
                place.over(place.thesis).text(3),
                place.over(place.ours).text(3),
            ]
            for place in places
        ],
    )


def _figure(places: Sequence[Place], claim: Claim) -> Figure:
    figure, (axes,) = plots.panels(1)
    figure.set_size_inches(8.4, 4.0)
    engines = list(dict.fromkeys(place.engine for place in places))
    names = list(dict.fromkeys(place.name for place in places))
    for engine in engines:
        mine = [place for place in places if place.engine == engine]
        for model, fill in (("thesis", "none"), ("ours", "full")):
            ratios = [place.over(getattr(place, model)) for place in mine]
            axes.errorbar(
                [names.index(place.name) + 0.12 * engines.index(engine) for place in mine],
                [ratio.mean for ratio in ratios],
                yerr=[ratio.half for ratio in ratios],
                fillstyle=fill,
                capsize=2.5,
                label=f"{engine}, over the {'thesis' if model == 'thesis' else 'renewal'} model",
                **{**plots.ENGINES[engine], "linestyle": "none"},
            )
    axes.axhspan(*(claim.parts[0].band or (1, 1)), color=plots.OTHER, alpha=0.15, linewidth=0)
    axes.axhline(1, color=plots.PUBLISHED, linewidth=0.8)
    axes.set_xticks(range(len(names)), [name.replace(", n", "\nn") for name in names], fontsize=8)
    plots.label(axes, "simulated / model", "", "ratio")
    axes.legend()
    return figure
