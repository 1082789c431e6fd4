"""The figures of experiments XVI and XVII."""

import numpy as np
from matplotlib.figure import Figure

from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.models.deterministic import p_low, p_rr
from anabranch_lab.run import cycles, series
from anabranch_lab.run.grid import Grid
from anabranch_lab.run.results import Results
from anabranch_lab.show import plots

from . import phi
from .bottleneck import LINK
from .deterministic import UNIT, network

MTU = 1500.0


def all_figures(both: dict[str, Results], runs: dict[str, Grid]) -> list[Entry]:
    """Every figure of XVI and XVII, or of one of them, in the order of the thesis."""
    told = "Means and 95 % intervals; dotted lines are the bounds of the model."
    recorded = "One recorded run of the engine of the thesis."
    return [
        Entry(
            "figure-5-29",
            "Fig. 5.29: the window of one subflow and the model",
            recorded,
            lambda: windows(both, "Fig. 5.29(b): the window of one subflow in XVII and the model"),
        ),
        Entry(
            "figure-5-30",
            "Fig. 5.30: window, rate and queue of one subflow",
            recorded,
            lambda: single(both),
        ),
        Entry(
            "figure-5-31",
            "Figs. 5.31, 5.33: windows and queue with four subflows",
            recorded,
            lambda: several(both, 4),
        ),
        Entry(
            "figure-5-32",
            "Figs. 5.32, 5.34: windows and queue with twelve subflows",
            recorded,
            lambda: several(both, 12),
        ),
        Entry(
            "figure-5-35",
            "Fig. 5.35: goodput over the number of subflows",
            told,
            lambda: over_n(both, runs, "goodput", "goodput, Mbit/s", "Fig. 5.35(b): goodput in XVII"),
        ),
        Entry(
            "figure-5-36",
            "Fig. 5.36: fast retransmits over the number of subflows",
            told,
            lambda: over_n(
                both,
                runs,
                "fr",
                "fast retransmits\nper packet sent",
                "Fig. 5.36(b): fast retransmits in XVII",
            ),
        ),
    ]


def _titles(both: dict[str, Results]) -> list[tuple[str, Results, str]]:
    """The thesis's name, the results and the title of each panel; (b) is XVII, alone or not."""
    return [(told, results, f"({'a' if told == 'XVI' else 'b'}) {told}") for told, results in both.items()]


def _one(results: Results) -> series.Samples:
    """The first seed of the runs with one subflow."""
    return next(iter(series.load(results, "single", {"engine": results.plan.engines[0], "n": 1}).values()))


def windows(both: dict[str, Results], alone: str) -> Figure:
    """Two cycles from a cut on, and the model's beside them; `alone` is the title where there is one panel only."""
    figure, panels = plots.panels(len(both))
    for axes, (told, results, title) in zip(panels, _titles(both), strict=True):
        sender = _one(results).sender("sf")
        model = network(told).low()
        window = sender.cwnd / UNIT
        marks = cycles.turns(window, 0.2 * float(window.max()))[1:-1]
        lows = [i for i in marks if window[i] < window.mean()]
        start = lows[0] if lows else 0
        time = sender.time[start:] - sender.time[start]
        shown = time < 2.2 * model.length
        axes.plot(time[shown], window[start:][shown] / MTU, color=plots.SCTP, label="simulated")
        line = np.linspace(0, 2.2 * model.length, 600)
        plots.model(axes, line, model.window(line) / MTU)
        plots.label(axes, title if len(both) > 1 else alone, "time since a cut, s", "cwnd, 1500 B packets")
        axes.set_ylim(bottom=0)
    panels[0].legend()
    return figure


def single(both: dict[str, Results]) -> Figure:
    """Window, rate and queue: a column for each experiment."""
    figure, axes = plots.table(3, len(both), share_x=True)
    for column, (_, results, title) in enumerate(_titles(both)):
        samples = _one(results)
        sender, link = samples.sender("sf"), samples.link(LINK)
        rows = (
            (sender.time, sender.cwnd / UNIT / MTU, "cwnd, 1500 B packets"),
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


def several(both: dict[str, Results], n: int) -> Figure:
    """Aggregate window and queue for each Phi: two rows for each experiment."""
    figure, axes = plots.table(2 * len(both), 4, width=3.2, share_x=True)
    for column, name in enumerate(phi.NAMES):
        for row, (_, results, title) in enumerate(_titles(both)):
            at = {"engine": results.plan.engines[0], "n": n, "phi": name}
            (samples,) = series.load(results, "pictures", at).values()
            sender, link = samples.sender("sf"), samples.link(LINK)
            window, queue = axes[2 * row][column], axes[2 * row + 1][column]
            window.plot(sender.time, sender.cwnd / UNIT / MTU, color=plots.SCTP, linewidth=1.0)
            queue.plot(link.time, link.queue, color=plots.SCTP, linewidth=1.0)
            window.set_title(f"{title}, {phi.LABELS[name]}")
            for each in (window, queue):
                each.set_ylim(bottom=0)
            if column == 0:
                window.set_ylabel("all windows, packets")
                queue.set_ylabel("queue, packets")
        axes[-1][column].set_xlabel("time, s")
    return figure


def over_n(both: dict[str, Results], runs: dict[str, Grid], measure: str, unit: str, alone: str) -> Figure:
    """A panel for each experiment; `alone` is the title where there is one only."""
    figure, panels = plots.panels(len(both))
    for axes, (told, _, title) in zip(panels, _titles(both), strict=True):
        for value in phi.NAMES:
            curve = runs[told].curve(measure, over="n", phi=value)
            plots.curve(axes, curve, phi.LABELS[value], **phi.LOOK[value])
            if measure == "fr":
                x = [int(n) for n in runs[told].values("n")]
                for bound in (p_rr, p_low):
                    rates = [bound(network(told, n, value)) for n in x]
                    plots.model(axes, x, rates, name="", color=phi.LOOK[value]["color"])
        plots.label(
            axes, title if len(both) > 1 else alone, "number of subflows", unit, log_y=measure == "fr"
        )
        if measure != "fr":
            plots.widen_if_flat(axes)
    plots.legend_below(panels[0], 4)
    return figure
