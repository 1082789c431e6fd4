"""Measures, models and figures of the experiments with two paths (II, III and X-1)."""

import math
from collections.abc import Callable, Mapping, Sequence

from matplotlib.figure import Figure

from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.run import grid
from anabranch_lab.run.grid import Grid
from anabranch_lab.show import plots
from anabranch_lab.stats import Estimate, slope

from . import estimates

PACKET = 12_000.0
"""Bits of a packet of 1500 bytes."""


def _rate(expression: str) -> str:
    return f"{expression} / {PACKET}"


def _retransmits(flow: str) -> str:
    return f"{grid.of_flow(flow, 'fast_retransmits')} / {grid.of_flow(flow, 'packets_sent')}"


MEASURES = {
    # Packets a second.
    "original": _rate(grid.of_flow("original", "goodput_wire_run_bps")),
    "sf": _rate(grid.of_flow("sf", "goodput_wire_run_bps")),
    "shared": _rate(grid.of_flow("shared", "goodput_wire_run_bps")),
    "sf1": _rate(grid.of_subflow("sf", 0, "goodput_wire_run_bps")),
    "sf2": _rate(grid.of_subflow("sf", 1, "goodput_wire_run_bps")),
    # Fast retransmits for each packet sent (Eq. 5.2).
    "fr_original": _retransmits("original"),
    "fr_sf": _retransmits("sf"),
    "fr_shared": _retransmits("shared"),
    "timeouts": "sum(timeouts) FILTER (kind = 'flow')",
}


def measures(p1: float, p2: str | float) -> dict[str, str]:
    """Returns MEASURES and, for each flow, its packets that the paths lost less the expected number (`by_flow`)."""

    def luck(flow: str, path: str, p: str | float) -> str:
        lost, came = (grid.of_share(path, flow, column) for column in ("drops_error", "arrivals"))
        return f"coalesce({lost}, 0) - ({p}) * coalesce({came}, 0)"

    first, second = ("path-1", p1), ("path-2", p2)
    return {
        **MEASURES,
        "luck of original": luck("original", *first),
        "luck of sf1": luck("sf", *first),
        "luck of sf2": luck("sf", *second),
        "luck of shared": f"{luck('shared', *first)} + {luck('shared', *second)}",
    }


def root_law(p: float, rtt: float) -> float:
    """Packets a second of one flow: sqrt(3 / 2p) / RTT (Eq. 4.18 with n = Phi = 1)."""
    return math.sqrt(1.5 / p) / rtt


def level(runs: Grid, flow: str, unit: float = 1.0, **at: float) -> Estimate:
    """Throughput of a flow in some unit, without the luck of its losses."""
    return (runs.sample(flow, **at) / unit).controlled(runs.sample(f"luck of {flow}", **at))


def retransmitted(runs: Grid, p: float, **at: float) -> Estimate:
    """Fast retransmits a packet of the shared association, over the losses a packet that are to be expected."""
    return (runs.sample("fr_shared", **at) / p).controlled(runs.sample("luck of shared", **at))


def flows_without_luck(
    runs: Grid, flows: Sequence[str], measure: Callable[[Sequence[float]], float], **at: float
) -> Estimate:
    """A measure of the throughputs of several flows at one point, without the luck of their losses."""
    pairs = [(runs.sample(flow, **at), runs.sample(f"luck of {flow}", **at)) for flow in flows]
    return estimates.without_luck(pairs, measure)


def along(
    runs: Grid, flow: str, axis: str, measure: Callable[[Sequence[float], Sequence[float]], float]
) -> Estimate:
    """A measure of one flow's curve, of x and y, without the luck of its losses."""
    curve, luck = runs.curve(flow, over=axis), runs.curve(f"luck of {flow}", over=axis)
    pairs = [(curve.sample(x), luck.sample(x)) for x in curve.x]
    return estimates.without_luck(pairs, lambda means: measure(curve.x, means))


def change(x: Sequence[float], y: Sequence[float]) -> float:
    """By which part of its mean the straight line through a curve rises from the first point to the last."""
    return slope(x, y) * (max(x) - min(x)) * len(y) / math.fsum(y)


def figures(
    runs: Grid,
    axis: str,
    part: str,
    to_x: Callable[[float], float],
    label: str,
    models: Mapping[str, Callable[[float], float]],
    *,
    log: bool,
) -> list[Entry]:
    """Figs. 5.5 to 5.7, panel (a) or (b)."""

    def draw(shown: Mapping[str, str], y: str, log_y: bool) -> Figure:
        figure, (axes,) = plots.panels(1)
        for (measure, name), colour in zip(shown.items(), plots.CYCLE, strict=False):
            curve = runs.curve(measure, over=axis)
            x = [to_x(v) for v in curve.x]
            look = {"label": name, "color": colour, "marker": "o", "markersize": 4, "capsize": 2}
            axes.errorbar(x, curve.means, yerr=curve.halves, **look)
            if measure in models:
                values = [models[measure](v) for v in x]
                plots.model(axes, x, values, name=f"model of {name}", color=colour)
        plots.label(axes, "", label, y, log_x=log, log_y=log_y)
        plots.legend_below(axes, 3)
        return figure

    flows = {"sf1": "SF_1", "sf2": "SF_2", "shared": "SF-SCTP-shared"}
    whole = {"original": "original", "sf": "SF-SCTP", "shared": "SF-SCTP-shared"}
    rates = {"fr_original": "original", "fr_sf": "SF-SCTP", "fr_shared": "SF-SCTP-shared"}
    told = "Means and 95 % intervals; dotted lines are the models."
    return [
        Entry(f"figure-5-{number}{part}", f"Fig. 5.{number}({part}): {what}", told, draws)
        for number, what, draws in (
            (5, "throughput of the flows", lambda: draw(flows, "throughput, packets/s", log)),
            (6, "throughput of the associations", lambda: draw(whole, "throughput, packets/s", log)),
            (7, "rate of fast retransmits", lambda: draw(rates, "fast retransmits\nper packet sent", True)),
        )
    ]
