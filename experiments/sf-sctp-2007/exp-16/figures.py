"""The figures of experiments XVI and XVII."""

from collections.abc import Callable

import numpy as np
from matplotlib.figure import Figure

from anabranch_lab import cycles, plots, series
from anabranch_lab.experiment import Figure as Entry
from anabranch_lab.grid import Grid
from anabranch_lab.models.deterministic import Bottleneck, p_low, p_rr
from anabranch_lab.sweep import Runner

from ..common import phi
from ..common.bottleneck import LINK

MTU = 1500.0
UNIT = 1468.0 / 1500.0
Network = Callable[..., Bottleneck]


def all_figures(runner: Runner, runs: dict[str, Grid], network: Network) -> list[Entry]:
    """In the order of the thesis."""
    told = "Means and 95 % intervals; dotted lines are the bounds of the model."
    recorded = "One recorded run of the engine of the thesis."
    return [
        Entry(
            "figure-5-29",
            "Fig. 5.29: the window of one subflow and the model",
            recorded,
            lambda: windows(runner, network),
        ),
        Entry(
            "figure-5-30",
            "Fig. 5.30: window, rate and queue of one subflow",
            recorded,
            lambda: single(runner),
        ),
        Entry(
            "figure-5-31",
            "Figs. 5.31, 5.33: windows and queue with four subflows",
            recorded,
            lambda: several(runner, 4),
        ),
        Entry(
            "figure-5-32",
            "Figs. 5.32, 5.34: windows and queue with twelve subflows",
            recorded,
            lambda: several(runner, 12),
        ),
        Entry(
            "figure-5-35",
            "Fig. 5.35: goodput over the number of subflows",
            told,
            lambda: over_n(runner, runs, "goodput", "Mbit/s", network),
        ),
        Entry(
            "figure-5-36",
            "Fig. 5.36: fast retransmits over the number of subflows",
            told,
            lambda: over_n(runner, runs, "fr", "per packet", network),
        ),
    ]


def _one(runner: Runner, name: str) -> series.Samples:
    """The first seed of the runs with one subflow."""
    return next(
        iter(series.load(runner, f"single-{name}", {"engine": runner.plan.engines[0], "n": 1}).values())
    )


def windows(runner: Runner, network: Network) -> Figure:
    """Two cycles from a cut on, and the model's beside them."""
    figure, panels = plots.panels(2)
    for axes, name, title in zip(panels, ("large", "small"), ("(a) XVI", "(b) XVII"), strict=True):
        sender = _one(runner, name).sender("sf")
        model = network(name).low()
        window = sender.cwnd / UNIT
        marks = cycles.turns(window, 0.2 * float(window.max()))[1:-1]
        lows = [i for i in marks if window[i] < window.mean()]
        start = lows[0] if lows else 0
        time = sender.time[start:] - sender.time[start]
        shown = time < 2.2 * model.length
        axes.plot(time[shown], window[start:][shown] / MTU, color=plots.SCTP, label="simulated")
        line = np.linspace(0, 2.2 * model.length, 600)
        plots.model(axes, line, model.window(line) / MTU)
        plots.label(axes, title, "time since a cut, s", "cwnd, packets of 1500 B")
        axes.set_ylim(bottom=0)
    panels[0].legend()
    return figure


def single(runner: Runner) -> Figure:
    """Window, rate and queue: XVI left, XVII right."""
    figure, axes = plots.table(3, 2, share_x=True)
    for column, (name, title) in enumerate((("large", "(a) XVI"), ("small", "(b) XVII"))):
        samples = _one(runner, name)
        sender, link = samples.sender("sf"), samples.link(LINK)
        rows = (
            (sender.time, sender.cwnd / UNIT / MTU, "cwnd, packets of 1500 B"),
            (sender.time, sender.rate / 1e6, "sending rate, Mbit/s"),
            (link.time, link.queue, "queue, packets"),
        )
        for row, (time, values, label) in enumerate(rows):
            shown = time >= time[-1] - 40
            axes[row][column].plot(time[shown], values[shown], color=plots.SCTP, linewidth=0.8)
            axes[row][column].set_ylim(bottom=0)
            axes[row][column].set_ylabel(label if column == 0 else "")
        axes[0][column].set_title(title)
        axes[2][column].set_xlabel("time, s")
    return figure


def several(runner: Runner, n: int) -> Figure:
    """Aggregate window and queue for each Phi: XVI in the upper two rows, XVII in the lower two."""
    figure, axes = plots.table(4, 4, width=3.2, share_x=True)
    for column, name in enumerate(phi.NAMES):
        at = {"engine": runner.plan.engines[0], "n": n, "phi": name}
        for row, (sweep, told) in enumerate((("pictures", "(a) XVI"), ("pictures-small", "(b) XVII"))):
            (samples,) = series.load(runner, sweep, at).values()
            sender, link = samples.sender("sf"), samples.link(LINK)
            window, queue = axes[2 * row][column], axes[2 * row + 1][column]
            window.plot(sender.time, sender.cwnd / UNIT / MTU, color=plots.SCTP, linewidth=1.0)
            queue.plot(link.time, link.queue, color=plots.SCTP, linewidth=1.0)
            window.set_title(f"{told}, {phi.LABELS[name]}")
            for each in (window, queue):
                each.set_ylim(bottom=0)
            if column == 0:
                window.set_ylabel("all windows, packets")
                queue.set_ylabel("queue, packets")
        axes[3][column].set_xlabel("time, s")
    return figure


def over_n(runner: Runner, runs: dict[str, Grid], measure: str, unit: str, network: Network) -> Figure:
    """XVI (a) and XVII (b)."""
    figure, panels = plots.panels(2)
    for axes, name, title in zip(panels, ("large", "small"), ("(a) XVI", "(b) XVII"), strict=True):
        for value in phi.NAMES:
            for engine, line in zip(runner.plan.engines, ("-", "--"), strict=False):
                curve = runs[name].curve(measure, over="n", engine=engine, phi=value)
                plots.curve(axes, curve, f"{phi.LABELS[value]}, {engine}", linestyle=line, **phi.LOOK[value])
            if measure == "fr":
                x = [int(n) for n in runs[name].values("n")]
                for bound in (p_rr, p_low):
                    rates = [bound(network(name, n, value)) for n in x]
                    plots.model(axes, x, rates, name="", color=phi.LOOK[value]["color"])
        plots.label(axes, title, "number of subflows", unit, log_y=measure == "fr")
    panels[0].legend(fontsize=7)
    return figure
