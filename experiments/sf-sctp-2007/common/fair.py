"""Measures and figures of the fairness experiments XVIII to XXI."""

import functools
import itertools
from collections.abc import Callable

import numpy as np
from matplotlib.figure import Figure

from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.run import grid
from anabranch_lab.run.grid import Curve, Grid, Sample
from anabranch_lab.run.results import Results
from anabranch_lab.show import plots
from anabranch_lab.stats import Estimate

from . import phi


def _rate(name: str) -> str:
    of = f"kind = 'flow' AND name LIKE '{name}'"
    return f"sum(fast_retransmits) FILTER ({of}) / nullif(sum(packets_sent) FILTER ({of}), 0)"


MEASURES = {
    # Mbit/s.
    "sf": f"{grid.of_flow('sf', 'goodput_wire_run_bps')} / 1e6",
    "single": f"{grid.mean_of_flows('single%', 'goodput_wire_run_bps')} / 1e6",
    "singles": f"{grid.of_flow('single%', 'goodput_wire_run_bps')} / 1e6",
    # Fast retransmits for each packet sent.
    "fr_sf": _rate("sf"),
    "fr_single": _rate("single%"),
    "timeouts": grid.of_flow("sf", "timeouts"),
}


PLACES = (2, 4, 8, 15)
"""Numbers of subflows above one."""


def measured(results: Results, name: str) -> Grid:
    """Every Phi, with the engine that is judged: those that grow slowly run longer, in the sweep `NAME-slow`."""
    return grids(results, name, f"{name}-slow")


def grids(results: Results, *names: str) -> Grid:
    """The runs of several sweeps as one grid."""
    found = [results.grid(name, MEASURES) for name in names]
    return functools.reduce(Grid.joined, found).only(engine=results.plan.engines[0])


def share(runs: Grid, other: str, **at: object) -> Estimate:
    """SF-SCTP over the single SCTP (`single`), or over all of them (`singles`)."""
    return runs.sample("sf", **at).over(runs.sample(other, **at))


def kept(runs: Grid, clean: Grid) -> dict[str, Sample]:
    """SF-SCTP keeps a smaller part of its throughput in XVIII with a larger Phi: differences of two Phi, positive if so."""
    parts = {}
    for n in (int(n) for n in runs.values("n")):
        of = {
            name: runs.sample("sf", n=n, phi=name) / clean.sample("sf", n=n, phi=name) for name in phi.NAMES
        }
        for small, large in itertools.pairwise(phi.NAMES):
            parts[f"n = {n}: share kept with Phi = {small} minus {large}"] = of[small] - of[large]
    return parts


def begun(first: Curve, then: Curve) -> Curve:
    """A curve with the points of another one before it, over the seeds that both have."""
    seeds = tuple(seed for seed in first.seeds if seed in then.seeds)
    values = [each.values[[each.seeds.index(seed) for seed in seeds]] for each in (first, then)]
    return Curve((*first.x, *then.x), seeds, np.hstack(values), max(first.least, then.least))


def figures(
    a: Grid,
    b: Grid,
    axis: str,
    label: str,
    names: tuple[str, ...],
    numbers: tuple[str, str],
    *,
    log: bool = False,
    equal: Grid | None = None,
) -> list[Entry]:
    """Goodput (a) and fast retransmits (b), for the scenario against one SCTP and for that against n.

    `equal` has n = 1, which is the same for every Phi and in both: every curve begins there."""

    def draw(runs: Grid, other: str) -> Figure:
        figure, (left, right) = plots.panels(2)
        for name in names:
            look = phi.LOOK[name]
            for axes, measures in ((left, ("sf", other)), (right, ("fr_sf", "fr_single"))):
                for measure, line, who in zip(measures, ("-", "--"), ("SF-SCTP", "SCTP"), strict=True):
                    curve: Curve = runs.curve(measure, over=axis, phi=name)
                    if equal is not None:
                        curve = begun(equal.curve(measure, over=axis), curve)
                    plots.curve(axes, curve, f"{who}, {phi.LABELS[name]}", linestyle=line, **look)
        plots.label(left, "(a) goodput", label, "goodput, Mbit/s", log_x=log)
        plots.label(
            right,
            "(b) Fast Retransmit rate",
            label,
            "fast retransmits\nper packet sent",
            log_x=log,
            log_y=True,
        )
        # The legend stands beside the panels: eight lines leave no room in them.
        figure.legend(*left.get_legend_handles_labels(), loc="outside right upper", fontsize=8)
        return figure

    def entry(number: str, what: str, make: Callable[[], Figure]) -> Entry:
        return Entry(
            f"figure-{number.replace('.', '-')}",
            f"Fig. {number}: {what}",
            "Means and 95 % intervals; broken lines are the single SCTPs.",
            make,
        )

    return [
        entry(numbers[0], "SF-SCTP against one SCTP", lambda: draw(a, "single")),
        entry(numbers[1], "SF-SCTP against as many SCTPs", lambda: draw(b, "singles")),
    ]
