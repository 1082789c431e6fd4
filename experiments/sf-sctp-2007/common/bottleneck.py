"""Measures of the single-bottleneck experiments IV to XII (Fig. 5.8)."""

import itertools

import numpy as np

from anabranch_lab import cycles, grid, plots, series

LINK = "bottleneck"

MEASURES = {
    # Percent of the time in which the bottleneck sends.
    "utilisation": f"100 * {grid.of_link(LINK, 'utilisation')}",
    # Percent of a link of 10 Mbit/s that user data takes: 952 of 1000 bytes.
    "user_data": f"{grid.of_flow('sf', 'goodput_payload_bps')} / 1e5",
    # Packets that its queue dropped, for each packet that arrived there.
    "drop_rate": grid.drop_rate(LINK),
    # Eq. 5.1: (fast retransmits + timeouts) / packets sent.
    "loss_indications": grid.of_flow("sf", "loss_indication_rate"),
    "timeouts": grid.of_flow("sf", "timeouts"),
    # Packets of 1500 bytes.
    "cwnd_peak": f"{grid.of_flow('sf', 'cwnd_peak_bytes')} / 1500",
    "queue_max": grid.of_link(LINK, "queue_max_packets"),
}
"""Columns of the grid that most of these experiments need; `runner.grid(sweep, MEASURES)` computes them."""

MTU = 1500
"""Bytes: the unit of the windows in the figures."""


def look(samples: series.Samples) -> dict[str, float]:
    """What one sampled run shows of its cycles; not a number where there is none."""
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
        # The same in the interval after it: the first one holds the pause after the cut.
        "second_rate": float(np.mean([_rate_after(sender, phase.start, 1) for phase in steady])) / 1e6
        if steady
        else np.nan,
        # What a fall of all windows together leaves of them.
        "cut": float(np.median(cycles.cuts(sender.cwnd, 0.2 * float(sender.cwnd.max())) or [np.nan])),
    }


def together(samples: series.Samples) -> dict[str, float]:
    """How far the subflows of one sampled run are cut together."""
    link, sender = samples.link(LINK), samples.sender("sf")
    falls = cycles.cuts(sender.cwnd, 0.2 * float(sender.cwnd.max()))
    found = cycles.phases(link.time, link.queue)
    windows = [samples.sender("sf", number).cwnd for number in samples.subflows("sf")]
    pairs = [float(np.corrcoef(a, b)[0, 1]) for a, b in itertools.combinations(windows, 2)]
    return {
        "falls": len(falls),
        "halved": sum(left <= 0.5 for left in falls),
        # What is left includes what the windows grew by until the next sample.
        "nearly_halved": sum(left <= 0.55 for left in falls),
        "regrowths": cycles.regrowths(found),
        # Those that found more than a few packets left: between two samples the queue serves 125 packets.
        "deep_regrowths": sum(low > 10 for low in _lows(link, found)),
        # The synchronisation index: mean correlation of the windows of two subflows.
        "index": float(np.mean(pairs)) if pairs else np.nan,
    }


def _lows(link: series.Link, found: list[cycles.Phase]) -> list[float]:
    """The queue, in packets, where it began to grow before a sample found it empty."""
    turns = [a.end for a, b in itertools.pairwise(found) if (a.state, b.state) == (cycles.QDN, cycles.QBU)]
    return [float(link.queue[int(np.searchsorted(link.time, at - 1e-9))]) for at in turns]


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
            (sender.time, sender.cwnd / MTU, "cwnd, packets of 1500 B"),
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
