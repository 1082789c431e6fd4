"""Experiments XVI and XVII: from runs to verdicts, figures and a finding."""

from collections.abc import Callable

import numpy as np

from anabranch_lab import cycles, grid, series
from anabranch_lab.experiment import Analysis, book
from anabranch_lab.models.deterministic import Bottleneck
from anabranch_lab.sweep import Runner

from ..common import phi
from ..common.bottleneck import LINK
from . import figures, judge

UNIT = 1468.0 / 1500.0
"""The engines count a window in DATA chunk bytes (1468 of the 1500 on the wire)."""

MEASURES = {
    # Mbit/s on the wire.
    "goodput": f"{grid.of_flow('sf', 'goodput_wire_bps')} / 1e6",
    "fr": "sum(fast_retransmits) FILTER (kind = 'flow') / sum(packets_sent) FILTER (kind = 'flow')",
    "timeouts": grid.of_flow("sf", "timeouts"),
}


def network(name: str, n: int = 1, growth: str = "1") -> Bottleneck:
    """The network of XVI (`large`) or XVII (`small`) in the model."""
    rate, queue = (10e6, 100) if name == "large" else (20e6, 20)
    return Bottleneck(rate / 8, 0.1, queue, n=n, phi=phi.value(growth, n))


def analyse(runner: Runner) -> Analysis:
    """What the lab asks an experiment for."""
    runs = {name: runner.grid(name, MEASURES) for name in ("large", "small")}
    recovery = runner.grid("recovery", MEASURES)
    single = {
        name: series.measure(runner, f"single-{name}", single_look(name)) for name in ("large", "small")
    }
    cut = series.measure(runner, "cuts", cut_look)
    engine = runner.plan.engines[0]
    lengths = {name: single[name].at("cycle", engine=engine, n=1) for name in single}
    return Analysis(
        claims=judge.claims(book(runner), runs, single, cut, recovery, network),
        figures=figures.all_figures(runner, runs, network),
        findings=[
            f"With one subflow a cycle lasts {lengths['large'].text(2)} s in XVI and {lengths['small'].text(2)} s in XVII "
            f"({engine}); the model says {network('large').low().length:.2f} and {network('small').low().length:.2f} s. ns-2.35 has "
            "15.51 and 9.65 s.",
        ],
    )


def single_look(name: str) -> Callable[[series.Samples], dict[str, float]]:
    """What a run with one subflow shows of its cycles, beside the model."""
    model = network(name).low()
    full = network(name).w_full

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
        gaps = np.diff([sender.time[i] for i in highs])
        phases = cycles.phases(link.time, link.queue)
        total = sum(phase.length for phase in phases)
        return {
            "rms": float(np.mean(errors)) if errors else np.nan,
            "peak": float(np.mean([window[i] for i in highs])) / full if highs else np.nan,
            "cycle": float(np.mean(gaps)) if len(gaps) else np.nan,
            "queue_least": float(link.queue.min()),
            "steady": sum(phase.length for phase in phases if phase.state == cycles.QSD) / total
            if total
            else np.nan,
        }

    return look


def cut_look(samples: series.Samples) -> dict[str, float]:
    """What a full queue leaves of the aggregate window, and how smooth that is."""
    window = samples.sender("sf").cwnd
    found = cycles.cuts(window, 0.08 * float(window.max()))
    return {
        "cut": float(np.median(found)) if found else np.nan,
        "variation": float(window.std() / window.mean()),
    }
