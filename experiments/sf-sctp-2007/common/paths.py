"""Measures, models and figures of the experiments with two paths (II, III and X-1)."""

import math
from collections.abc import Callable, Mapping

import numpy as np
from matplotlib.figure import Figure

from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.run import grid
from anabranch_lab.run.grid import Grid
from anabranch_lab.show import plots
from anabranch_lab.stats import Estimate

from .estimates import jackknife

PACKET = 12_000.0
"""Bits of a packet of 1500 bytes."""


def _of_lost(flow: str, indications: str) -> str:
    """SQL: loss indications, of a subflow say, by as much as the flow had more of them than packets that were lost.

    Losses are counted for a whole flow alone. What the sender took for losses and were none must not pass for luck.
    """
    lost = grid.of_flow(flow, "packets_lost")
    told = f"({grid.of_flow(flow, 'fast_retransmits')} + {grid.of_flow(flow, 'timeouts')})"
    return f"{indications} * coalesce({lost} / nullif({told}, 0), 1)"


MEASURES = {
    # Packets a second.
    "original": f"{grid.of_flow('original', 'goodput_wire_run_bps')} / {PACKET}",
    "sf": f"{grid.of_flow('sf', 'goodput_wire_run_bps')} / {PACKET}",
    "shared": f"{grid.of_flow('shared', 'goodput_wire_run_bps')} / {PACKET}",
    "sf1": f"{grid.of_subflow('sf', 0, 'goodput_wire_run_bps')} / {PACKET}",
    "sf2": f"{grid.of_subflow('sf', 1, 'goodput_wire_run_bps')} / {PACKET}",
    # Fast retransmits for each packet sent (Eq. 5.2).
    "fr_original": "sum(fast_retransmits) FILTER (kind = 'flow' AND name = 'original')"
    " / sum(packets_sent) FILTER (kind = 'flow' AND name = 'original')",
    "fr_sf": "sum(fast_retransmits) FILTER (kind = 'flow' AND name = 'sf')"
    " / sum(packets_sent) FILTER (kind = 'flow' AND name = 'sf')",
    "fr_shared": "sum(fast_retransmits) FILTER (kind = 'flow' AND name = 'shared')"
    " / sum(packets_sent) FILTER (kind = 'flow' AND name = 'shared')",
    # Fast retransmits beyond the packets that were lost, for each packet sent: 0 when every one has its loss.
    "false_shared": "(sum(fast_retransmits) FILTER (kind = 'flow' AND name = 'shared')"
    " - sum(packets_lost) FILTER (kind = 'flow' AND name = 'shared'))"
    " / sum(packets_sent) FILTER (kind = 'flow' AND name = 'shared')",
    # Packets that links lost, for each packet sent.
    "losses_original": _of_lost("original", grid.of_flow("original", "loss_indication_rate")),
    "losses_sf1": _of_lost("sf", grid.of_subflow("sf", 0, "loss_indication_rate")),
    "losses_sf2": _of_lost("sf", grid.of_subflow("sf", 1, "loss_indication_rate")),
    "timeouts": "sum(timeouts) FILTER (kind = 'flow')",
}


def root_law(p: float, rtt: float) -> float:
    """Packets a second of one flow: sqrt(3 / 2p) / RTT (Eq. 4.18 with n = Phi = 1)."""
    return math.sqrt(1.5 / p) / rtt


def fitted(runs: Grid, flows: Mapping[str, tuple[float, float]], **at: object) -> Estimate:
    """Throughput over the models, without the luck of the losses; flows have their loss rate and their round trip.

    Throughput goes with the root of the losses that fell. Those of all seeds together are few in a hundred from what was to be
    expected, which is as much as the claim is about: their root is taken out.
    """
    samples = [runs.sample(name, **at) for flow in flows for name in (flow, f"losses_{flow}")]
    rows = np.array([sample.values for sample in samples], dtype=float).T
    model = sum(root_law(p, rtt) for p, rtt in flows.values())

    def over(values: np.ndarray) -> float:
        """Each flow: the mean throughput, and the losses a packet (weighted by packets)."""
        total = 0.0
        for index, (p, _) in enumerate(flows.values()):
            rate, losses = values[:, 2 * index], values[:, 2 * index + 1]
            total += float(rate.mean()) * math.sqrt(float((rate * losses).sum() / rate.sum()) / p)
        return total / model

    return jackknife(rows, over, max(sample.least for sample in samples))


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

    def draw(measures: Mapping[str, str], y: str, log_y: bool) -> Figure:
        engines = runs.values("engine")
        figure, panels = plots.panels(len(engines))
        for axes, engine in zip(panels, engines, strict=True):
            for (measure, name), colour in zip(measures.items(), plots.CYCLE, strict=False):
                curve = runs.curve(measure, over=axis, engine=engine)
                x = [to_x(v) for v in curve.x]
                axes.errorbar(
                    x,
                    curve.means,
                    yerr=curve.halves,
                    label=name,
                    color=colour,
                    marker="o",
                    markersize=4,
                    capsize=2,
                )
                if measure in models:
                    plots.model(
                        axes, x, [models[measure](v) for v in x], name=f"model of {name}", color=colour
                    )
            plots.label(axes, engine, label, y, log_x=log, log_y=log_y)
        plots.legend_below(panels[0], 3)
        return figure

    flows = {"sf1": "SF_1", "sf2": "SF_2", "shared": "SF-SCTP-shared"}
    whole = {"original": "original", "sf": "SF-SCTP", "shared": "SF-SCTP-shared"}
    rates = {"fr_original": "original", "fr_sf": "SF-SCTP", "fr_shared": "SF-SCTP-shared"}
    told = "Means and 95 % intervals; dotted lines are the models."
    return [
        Entry(
            f"figure-5-5{part}",
            f"Fig. 5.5({part}): throughput of the flows",
            told,
            lambda: draw(flows, "throughput, packets/s", log),
        ),
        Entry(
            f"figure-5-6{part}",
            f"Fig. 5.6({part}): throughput of the associations",
            told,
            lambda: draw(whole, "throughput, packets/s", log),
        ),
        Entry(
            f"figure-5-7{part}",
            f"Fig. 5.7({part}): rate of fast retransmits",
            told,
            lambda: draw(rates, "fast retransmits\nper packet sent", True),
        ),
    ]
