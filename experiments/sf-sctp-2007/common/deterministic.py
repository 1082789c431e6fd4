"""Measures of experiments XVI and XVII: one association alone, beside the deterministic model of section 4.4."""

import functools
import itertools
from collections.abc import Callable, Sequence

import numpy as np

from anabranch_lab.judge.experiment import results_of
from anabranch_lab.models.deterministic import Bottleneck, p_low, p_rr
from anabranch_lab.run import cycles, grid, series
from anabranch_lab.run.grid import Grid, Sample
from anabranch_lab.run.results import Results

from . import phi
from .bottleneck import LINK, fall

UNIT = 1468.0 / 1500.0
"""The engines count a window in DATA chunk bytes (1468 of the 1500 on the wire)."""

FOLDERS = {"XVI": "exp-16", "XVII": "exp-17"}
"""The experiments by the thesis's names; both have sweeps `subflows`, `single` and `pictures`."""

Runs = dict[str, Grid]
"""By the thesis's names."""

MEASURES = {
    # Mbit/s on the wire.
    "goodput": f"{grid.of_flow('sf', 'goodput_wire_run_bps')} / 1e6",
    "fr": "sum(fast_retransmits) FILTER (kind = 'flow') / sum(packets_sent) FILTER (kind = 'flow')",
    "timeouts": grid.of_flow("sf", "timeouts"),
    # Percent of the time in which the bottleneck sends.
    "utilisation": f"100 * {grid.of_link(LINK, 'utilisation')}",
}


def every(results: Results) -> dict[str, Results]:
    """The results of both experiments, from those of any experiment of the study."""
    return {told: results_of(results, folder) for told, folder in FOLDERS.items()}


SWEEPS = ("subflows", "alone", "slow", "slow-many", "cuts", "cuts-slow", "cuts-late")
"""The sweeps with every number of subflows and every Phi: slow growth needs longer runs, and some are recorded."""
WINDOW_SWEEPS = ("subflows-window", "cuts-window")
"""The sweeps with one cut each window, for Phi = 1 and n."""


def measured(results: Results, sweeps: Sequence[str] = SWEEPS) -> Grid:
    """Every number of subflows with every Phi, with the engine that is judged."""
    there = [sweep.name for sweep in results.plan.sweeps]
    grids = [results.grid(name, MEASURES) for name in sweeps if name in there]
    return functools.reduce(Grid.joined, grids).only(engine=results.plan.engines[0])


def single(results: Results, told: str, sweep: str = "single") -> Grid:
    """Measures of the cycles of runs with one subflow."""
    return series.measure(results, sweep, single_look(told)).only(engine=results.plan.engines[0])


def growths(runs: Grid) -> list[str]:
    """Every Phi that was run, in the order of the thesis."""
    return [name for name in phi.NAMES if name in runs.values("phi")]


def rate_bounds(runs: Runs, names: Sequence[str]) -> dict[str, Sample]:
    """Fast retransmits a packet over P_rr and P_low, with two subflows and more, as claims Z-XVI-6 and X-3 have it."""
    parts = {}
    for told, grid_ in runs.items():
        for n, growth in itertools.product(several(grid_), names):
            rate, model = grid_.sample("fr", n=n, phi=growth), network(told, n, growth)
            place = f"{told}, n = {n}, Phi = {growth}: fast retransmits"
            parts |= {f"{place} / P_rr": rate / p_rr(model), f"{place} / P_low": rate / p_low(model)}
    return parts


def several(runs: Grid) -> list[int]:
    """Numbers of subflows above one: with one all bounds are one number."""
    return sorted(int(n) for n in runs.values("n") if n > 1)


def network(told: str, n: int = 1, growth: str = "1") -> Bottleneck:
    """The network of XVI or XVII in the model."""
    rate, queue = {"XVI": (10e6, 100), "XVII": (20e6, 20)}[told]
    return Bottleneck(rate / 8, 0.1, queue, n=n, phi=phi.value(growth, n))


def single_look(told: str) -> Callable[[series.Samples], dict[str, float]]:
    """Measures of the cycles of a run with one subflow, beside the model."""
    model = network(told).low()
    full = network(told).w_full

    def look(samples: series.Samples) -> dict[str, float]:
        sender, link = samples.sender("sf"), samples.link(LINK)
        window = sender.cwnd / UNIT
        marks = cycles.turns(window, 0.2 * float(window.max()))[1:-1]
        highs = [i for i in marks if window[i] > window.mean()]
        lows = [i for i in marks if window[i] < window.mean()]
        whole = [
            (a, b)
            for a in lows
            for b in (next((h for h in highs if h > a), None),)
            if b is not None and b - a > 10
        ]
        errors = []
        for start, end in whole:
            # From the cut on, as long as the model's cycle lasts; it is a little shorter.
            time = sender.time[start : end + 1] - sender.time[start]
            during = time < model.length
            errors.append(
                float(np.sqrt(np.mean((window[start : end + 1][during] - model.window(time[during])) ** 2)))
                / full
            )
        # The last growth before a cut falls between two samples.
        peaks = [
            fall(sender, high, low)[0] / UNIT for high, low in itertools.pairwise(marks) if high in highs
        ]
        gaps = np.diff([sender.time[i] for i in highs])
        phases = cycles.phases(link.time, link.queue)
        total = sum(phase.length for phase in phases)
        return {
            "rms": float(np.mean(errors)) if errors else np.nan,
            "peak": float(np.mean(peaks)) / full if peaks else np.nan,
            "cycle": float(np.mean(gaps)) if len(gaps) else np.nan,
            "queue_least": float(link.queue.min()),
            "steady": sum(phase.length for phase in phases if phase.state == cycles.QSD) / total
            if total
            else np.nan,
        }

    return look


def cut_look(samples: series.Samples) -> dict[str, float]:
    """The part of the aggregate window that remains after an overflow of the queue, and how smooth that window is."""
    window = samples.sender("sf").cwnd
    subflows = [samples.sender("sf", number) for number in samples.subflows("sf")]
    marks = cycles.turns(window, 0.08 * float(window.max()))[:-1]
    found = [
        sum(after) / sum(before)
        for high, low in itertools.pairwise(marks)
        if window[low] < window[high]
        for before, after in (zip(*(fall(each, high, low) for each in subflows), strict=True),)
    ]
    return {
        "cut": float(np.median(found)) if found else np.nan,
        "variation": float(window.std() / window.mean()),
    }
