"""Measures and figures of the experiments with background traffic (IX to XII)."""

import itertools
import math
from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from anabranch_lab.judge.claims import Claim
from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.run import grid, series
from anabranch_lab.run.grid import Grid, Sample
from anabranch_lab.run.results import Results
from anabranch_lab.show import plots

from .bottleneck import LINK, MTU

KINDS = {
    "cbr": "constant rate",
    "square": "square wave",
    "exponential": "exponential on/off",
    "pareto": "Pareto on/off",
}
"""Kinds of background, in the order of the experiments."""


def judged(results: Results, sweep: str = "runs") -> Grid:
    """The runs of the engine of the thesis."""
    return results.grid(sweep, MEASURES).only(engine=results.plan.engines[0])


def ordered(shares: Mapping[int, Sample], what: str) -> dict[str, Sample]:
    """Parts of a claim: four subflows more than two, two more than one, seed by seed."""
    return {
        f"{what}: n = {more} minus n = {less}": shares[more] - shares[less] for more, less in ((4, 2), (2, 1))
    }


MEASURES = {
    # Percent of the capacity of the link.
    "share": f"100 * {grid.of_share(LINK, 'sf', 'share')}",
    "left": f"100 * {grid.of_share(LINK, 'background', 'share')}",
    "drop_rate": grid.of_share(LINK, "sf", "drop_rate"),
    "background_drops": grid.of_share(LINK, "background", "drop_rate"),
    "timeouts": grid.of_flow("sf", "timeouts"),
}


QUIET, AFTER, SPAN = 0.3, 2.0, 1.0
"""Seconds: the silence before the packet of an on-edge; the time in which its effects happen; the span of its least rate."""
SEVERAL = 2
"""The number of cuts from which they count as several."""


def edges(samples: series.Samples) -> dict[str, float]:
    """Timeouts, cuts and the least rate within two seconds of each on-edge of the background in one recorded run; NaN without an edge.

    Edges are those that the background's packets show where they arrive, not a number that the mean period would give: an exponential
    or Pareto source draws them. The last one needs two seconds behind it, the first its silence before it.
    """
    other, sender = samples.receiver("background"), samples.sender("sf")
    quiet = round(QUIET / other.interval)
    on = [
        i
        for i in range(quiet, len(other.packets))
        if other.packets[i] > 0 and not other.packets[i - quiet : i].any()
    ]
    starts = [t for t in (float(other.time[i] - other.interval) for i in on) if t + AFTER <= sender.time[-1]]
    timeouts, retransmits = (samples.times(kind, "sf") for kind in ("timeout", "fast-retransmit"))
    # "ssthresh = max(cwnd/2, ...)" (RFC 2960, 7.2.3) is where cwnd is cut; an association that always has data to send sets it nowhere else.
    cuts = sender.time[1:][np.abs(np.diff(sender.ssthresh)) >= 1.0]
    # Each timeout belongs to the edge last before it.
    late = [
        [t for t in timeouts if start <= t <= start + AFTER and t < following]
        for start, following in itertools.pairwise([*starts, math.inf])
    ]
    first = [(start, found[0]) for start, found in zip(starts, late, strict=True) if found]
    before = [sum(start <= t <= timeout for t in retransmits) for start, timeout in first]
    # A sample has the changes until its time: the sample with the timeout comes after it, and has the timeout's own change.
    cut = [sum(start < t < timeout for t in cuts) for start, timeout in first]
    span = np.ones(round(SPAN / sender.interval)) * sender.interval / SPAN
    slow = [
        float(
            np.convolve(
                sender.rate[(sender.time > start) & (sender.time <= start + AFTER)], span, "valid"
            ).min()
        )
        for start in starts
    ]
    return {
        "edges": float(len(starts)),
        # Timeouts for each edge.
        "timeouts": float(np.mean([len(found) for found in late])) if starts else np.nan,
        # Fast retransmits between an edge and its first timeout; of edges that have one.
        "retransmits": float(np.mean(before)) if before else np.nan,
        # Times cwnd was cut between the two.
        "cuts": float(np.mean(cut)) if cut else np.nan,
        # Edges with several cuts (two at least) and then a timeout; of all.
        "several": sum(each >= SEVERAL for each in cut) / len(starts) if starts else np.nan,
        # Mbit/s.
        "least": float(np.mean(slow)) / 1e6 if starts else np.nan,
    }


def over_time(results: Results, kind: str, name: str, title: str) -> Entry:
    """Window, rates and queue, one subflow and four."""

    def draw() -> Figure:
        figure, axes = plots.table(3, 2, share_x=True)
        for column, n in enumerate((1, 4)):
            at = {"engine": results.plan.engines[0], "n": n, "background": kind}
            (samples,) = series.load(results, "pictures", at).values()
            sender, other, link = samples.sender("sf"), samples.receiver("background"), samples.link(LINK)
            axes[0][column].plot(sender.time, sender.cwnd / MTU, color=plots.SCTP, linewidth=1.0)
            axes[1][column].plot(
                sender.time, sender.rate / 1e6, color=plots.SCTP, linewidth=1.0, label="SF-SCTP"
            )
            axes[1][column].plot(
                other.time, other.rate / 1e6, color=plots.TCP, linewidth=1.0, label="background"
            )
            axes[2][column].plot(link.time, link.queue, color=plots.SCTP, linewidth=1.0)
            axes[0][column].set_title(f"({'ab'[column]}) {n} subflow{'s' if n > 1 else ''}")
            axes[2][column].set_xlabel("time, s")
            for row in range(3):
                axes[row][column].set_ylim(bottom=0)
        for row, text in enumerate(("cwnd, 1500 B packets", "rate, Mbit/s", "queue, packets")):
            axes[row][0].set_ylabel(text)
        axes[1][0].legend()
        return figure

    return Entry(name, title, "One recorded run of the engine of the thesis.", draw)


def bars(results: Results, runs: Grid, claims: Mapping[str, Claim], name: str, title: str) -> Entry:
    """Share (a) and drop rate (b) of SF-SCTP over the number of subflows, a curve for each kind of background; `claims`: published shares."""

    def draw() -> Figure:
        figure, (a, b) = plots.panels(2)
        for (kind, named), colour in zip(KINDS.items(), plots.CYCLE, strict=False):
            for axes, measure in ((a, "share"), (b, "drop_rate")):
                curve = runs.curve(measure, over="n", background=kind)
                plots.curve(axes, curve, named, color=colour)
        for (kind, claim), colour in zip(claims.items(), plots.CYCLE[3:], strict=False):
            places = {"n = 1, %": 1, "n = 4, %": 4}
            plots.published(a, claim, places, name=f"published ({KINDS[kind]})", color=colour)
        plots.label(a, "(a) SF-SCTP's bandwidth share", "number of subflows", "share of the bottleneck, %")
        plots.label(b, "(b) SF-SCTP's drop rate", "number of subflows", "drops per packet", log_y=True)
        plots.legend_below(a, 3)
        return figure

    return Entry(
        name,
        title,
        f"Means and 95 % intervals, {results.plan.engines[0]}; crosses are published values.",
        draw,
    )
