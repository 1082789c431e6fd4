"""Figures of the packets on the line over time, behind section 5.3.4."""

import numpy as np
from matplotlib.figure import Figure

from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.run.results import Results
from anabranch_lab.show import plots

from ..common import packets
from ..common.pages import NETWORKS, OBJECTS


def all_figures(results: Results) -> list[Entry]:
    """One figure that the thesis describes and does not draw."""
    return [
        Entry(
            "section-5-3-4-buffer",
            "Section 5.3.4: packets in the buffer in MS 2 to MS 7 (B1), as the spreadsheet computes them",
            "One run each. Two connections fill the buffer of 50 packets, ten do not; with 50 and 100 the line has pauses.",
            lambda: buffers(results),
        )
    ]


def buffers(results: Results) -> Figure:
    """Packets that have not left, when a packet comes."""
    figure, axes = plots.table(2, 3, width=3.5, height=2.2)
    shown = [scenario for scenario in OBJECTS if scenario not in ("MS 1", "MS 8")]
    for place, scenario in enumerate(shown):
        panel = axes[place // 3][place % 3]
        logs = packets.logs(results, "packets", {"network": "B1", "scenario": scenario})
        # IP packets, as the queue sees them.
        log = next(iter(logs.values()))
        rows = packets.sheet(log, NETWORKS["B1"].down, header=0)
        last = np.flatnonzero(log.user[~log.dropped])[-1] + 1
        panel.plot(rows.time[:last], rows.waiting[:last], color=plots.TCP, linewidth=1.0)
        panel.set_title(f"{scenario}: {OBJECTS[scenario]} connections")
        panel.set_ylim(0, max(10, float(np.max(rows.waiting)) * 1.1))
        if place >= 3:
            panel.set_xlabel("time, s")
        if place % 3 == 0:
            panel.set_ylabel("packets in the buffer")
    return figure
