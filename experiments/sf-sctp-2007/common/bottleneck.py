"""Measures of the single-bottleneck experiments IV to XII (Fig. 5.8)."""

import itertools

import numpy as np

from anabranch_lab.run import cycles, grid, series
from anabranch_lab.run.grid import Curve
from anabranch_lab.show import plots

LINK = "bottleneck"

MEASURES = {
    # Percent of the time in which the bottleneck sends.
    "utilisation": f"100 * {grid.of_link(LINK, 'utilisation')}",
    # Percent of a link of 10 Mbit/s that user data takes: the utilisation of IV to VIII, whose 95.42 % are 1000 of 1048 bytes (5.2.3).
    "user_data": f"{grid.of_flow('sf', 'goodput_payload_run_bps')} / 1e5",
    # Packets that the queue of the link dropped, for each packet that arrived there.
    "drop_rate": grid.drop_rate(LINK),
    # Eq. 5.1: (fast retransmits + timeouts) / packets sent.
    "loss_indications": grid.of_flow("sf", "loss_indication_rate"),
    "timeouts": grid.of_flow("sf", "timeouts"),
    # Packets of 1500 bytes.
    "cwnd_peak": f"{grid.of_flow('sf', 'cwnd_peak_bytes')} / 1500",
    "queue_max": grid.of_link(LINK, "queue_max_packets"),
}
"""Columns of the grid that most of these experiments need; `results.grid(sweep, MEASURES)` computes them."""

RATE = 10.0
"""The rate of the link that `user_data` is a percentage of, Mbit/s."""


def of_rate(curve: Curve) -> Curve:
    """User data along the rate of the link: percent of that rate, not of 10 Mbit/s."""
    return curve * (RATE / np.array(curve.x))


MTU = 1500
"""Bytes: the unit of the windows in the figures."""


def look(samples: series.Samples) -> dict[str, float]:
    """Measures of the cycles of one sampled run; NaN where there is none."""
    link, sender = samples.link(LINK), samples.sender("sf")
    phases = cycles.phases(link.time, link.queue)
    steady = [phase for cycle in cycles.cycles(phases) for phase in cycle if phase.state == cycles.QSD]
    highs = cycles.turns(sender.cwnd, 0.2 * float(sender.cwnd.max()))[1:-1]
    peaks = [sender.cwnd[i] for i in highs if sender.cwnd[i] > sender.cwnd.mean()]
    return {
        # Seconds that a phase lasts, and a cycle from one empty queue to the next.
        **cycles.mean_phases(phases),
        "cycle": cycles.mean_lengths(phases)["cycle"],
        "regrowths": cycles.regrowths(phases),
        # Windows of 1500 bytes, averaged over the highs.
        "peak": float(np.mean(peaks)) / MTU if peaks else np.nan,
        # Mbit/s in the first whole interval of a steady phase.
        "rate": float(np.mean([_rate_after(sender, phase.start) for phase in steady])) / 1e6
        if steady
        else np.nan,
        # Mbit/s in the second whole interval of a steady phase, which holds nothing of the pause after the cut, where the
        # window was cut once only.
        "single_rate": float(np.mean(rates)) / 1e6
        if (rates := [_rate_after(sender, phase.start, 1) for phase in steady if _cut_once(sender, phase)])
        else np.nan,
        # Each low of the sum of all windows, as a share of the high before it: the median.
        "cut": float(np.median(cycles.cuts(sender.cwnd, 0.2 * float(sender.cwnd.max())) or [np.nan])),
    }


def synchronisation(samples: series.Samples) -> dict[str, float]:
    """How far the subflows of one sampled run are cut together."""
    windows = [samples.sender("sf", number).cwnd for number in samples.subflows("sf")]
    pairs = [float(np.corrcoef(a, b)[0, 1]) for a, b in itertools.combinations(windows, 2)]
    # The synchronisation index: mean correlation of the windows of two subflows.
    return {"index": float(np.mean(pairs)) if pairs else np.nan}


DRAIN = 10
"""Packets by which a queue gets shorter when it drains: a fifth of RED's longest queue in experiment VIII, a tenth of Drop-Tail's."""


def closely(samples: series.Samples, drain: int = DRAIN) -> dict[str, float]:
    """The parts of the windows and of the queue that remain after the overflows of one finely sampled run.

    Subflows are cut some tenths of a second apart, and those cut first grow meanwhile. So a fall of the aggregate is the sum of the
    falls of its subflows, between the high and the low of the aggregate; falls by a tenth of its highest count, which a cut of one of four
    subflows makes. A window grows by a packet between two samples; ssthresh keeps the value of a cut (RFC 2960, 7.2.3: half of the window, and
    the window is set to that), so the window before a cut was twice that. A queue drains when it gets shorter by `drain` packets; it ran
    empty when at most one packet was left.
    """
    link, sender = samples.link(LINK), samples.sender("sf")
    subflows = [samples.sender("sf", number) for number in samples.subflows("sf")]
    marks = cycles.turns(sender.cwnd, 0.1 * float(sender.cwnd.max()))
    falls = [
        (sum(before), sum(after))
        for high, low in itertools.pairwise(marks[:-1])
        if sender.cwnd[low] < sender.cwnd[high]
        for before, after in [zip(*(fall(w, high, low) for w in subflows), strict=True)]
    ]
    # Windows are whole bytes: half of an odd one is rounded.
    halved = sum(after <= 0.5 * before + len(subflows) for before, after in falls)
    marks = cycles.turns(link.queue, float(drain))
    lows = [i for j, i in itertools.pairwise(marks[:-1]) if link.queue[i] < link.queue[j]]
    emptied = sum(bool(link.queue[i] <= 1) for i in lows)
    spans = float(link.time[-1] - link.time[0]) / 30
    return {
        "falls": len(falls),
        "halved": halved,
        "drains": len(lows),
        "emptied": emptied,
        # In 30 s: drains of the queue that end before it is empty; falls of the aggregate by a cut of two of four subflows.
        "regrown": (len(lows) - emptied) / spans,
        "partial": sum(0.65 <= after / before <= 0.85 for before, after in falls) / spans,
    }


def fall(sender: series.Sender, high: int, low: int) -> tuple[float, float]:
    """The window of a subflow before its first cut between two samples, and the smallest from then on; without a cut at both ends."""
    window = sender.cwnd[high : low + 1]
    cuts = [
        float(value)
        for before, value in itertools.pairwise(sender.ssthresh[high : low + 1])
        if value != before
    ]
    if not cuts:
        return float(window[0]), float(window[-1])
    return max(float(window.max()), 2 * cuts[0]), min(float(window.min()), *cuts)


def _cut_once(sender: series.Sender, phase: cycles.Phase) -> bool:
    """Whether the window before a steady phase was halved once: in the first second at least 0.4 of the highest is left."""
    first = sender.cwnd[(sender.time >= phase.start) & (sender.time < phase.start + 1.0)]
    return bool(first.size and first.min() > 0.4 * sender.cwnd.max())


def _rate_after(sender: series.Sender, start: float, later: int = 0) -> float:
    """The rate in the first interval that begins at `start` or later, or some intervals after it, bits per second."""
    index = int(np.searchsorted(sender.time - sender.interval, start - 1e-9)) + later
    return float(sender.rate[min(index, len(sender.rate) - 1)])


def picture(columns: list[tuple[str, series.Samples]], start: float, end: float) -> plots.Figure:
    """Window, rate and queue over time, as Figs. 5.9 to 5.13 have them: a column for each run."""
    figure, axes = plots.table(3, len(columns), share_x=True)
    for column, (title, samples) in enumerate(columns):
        sender, link = samples.sender("sf"), samples.link(LINK)
        rows = (
            (sender.time, sender.cwnd / MTU, "cwnd, 1500 B packets"),
            (sender.time, sender.rate / 1e6, "sending rate, Mbit/s"),
            (link.time, link.queue, "queue, packets"),
        )
        for row, (time, values, name) in enumerate(rows):
            shown = (time >= start) & (time <= end)
            axes[row][column].plot(time[shown], values[shown], color=plots.SCTP, linewidth=1.0)
            axes[row][column].set_ylim(bottom=0)
            axes[row][column].set_ylabel(name if column == 0 else "")
        axes[0][column].set_title(title)
        axes[2][column].set_xlabel("time, s")
    return figure
