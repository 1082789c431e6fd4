"""Measures of the single-bottleneck experiments IV to XII (Fig. 5.8)."""

from anabranch_lab import grid

LINK = "bottleneck"

MEASURES = {
    # Percent of the time in which the bottleneck sends.
    "utilisation": f"100 * {grid.of_link(LINK, 'utilisation')}",
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
