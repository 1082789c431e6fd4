"""Data of the recorded runs: windows, sequence numbers, and the packets around one loss."""

import dataclasses
from dataclasses import dataclass

from anabranch_lab.run.results import Results

from .data import PAYLOAD

CHUNK = PAYLOAD + 16
"""Bytes that a packet takes of the window of SCTP as ns-2 counts it: the chunk header is in. TCP counts payload."""
UNIT = {"tcp": PAYLOAD, "sctp": CHUNK}
END = 300.0
"""Seconds that Figs. 6 and 7 show."""

WINDOWS = f"""
    WITH w AS (
        SELECT seed, flow, time_ns / 1e9 AS t,
            a / CASE WHEN flow = 'tcp' THEN {PAYLOAD} ELSE {CHUNK} END AS cwnd,
            c / CASE WHEN flow = 'tcp' THEN {PAYLOAD} ELSE {CHUNK} END AS flight,
            lead(time_ns / 1e9, 1, {END}) OVER (PARTITION BY seed, flow ORDER BY time_ns, rowid) AS until,
            lag(a) OVER (PARTITION BY seed, flow ORDER BY time_ns, rowid) AS before, a
        FROM (SELECT *, row_number() OVER () AS rowid FROM runs) WHERE kind = 'window' AND entity = flow || ':sender'
    )
    SELECT seed, flow, min(cwnd) AS low, max(cwnd) AS high,
        avg(cwnd) FILTER (before IS NULL OR before <> a) AS by_event,
        sum(cwnd * (until - t)) / sum(until - t) AS by_time,
        sum(flight * (until - t)) / sum(until - t) AS flight
    FROM w GROUP BY seed, flow ORDER BY flow, seed
"""

BINS = """
    SELECT seed, count(*) AS bins, count(*) FILTER (packets IS NULL) AS zero FROM (
        SELECT s.seed, b.bin, any_value(n.packets) AS packets
        FROM (SELECT DISTINCT seed FROM runs) s
        CROSS JOIN range(1000, 1400) b(bin)
        LEFT JOIN (
            SELECT seed, CAST(floor(time_ns / 1e8) AS BIGINT) AS bin, count(*) AS packets
            FROM runs WHERE kind = 'sent' AND reason = '' GROUP BY ALL
        ) n ON n.seed = s.seed AND n.bin = b.bin
        GROUP BY ALL
    ) GROUP BY seed ORDER BY seed
"""

AHEAD = f"""
    SELECT seed,
        max(CASE WHEN flow = 'sctp' THEN seq + 1 END)
            - max(CASE WHEN flow = 'tcp' THEN seq / {PAYLOAD} + 1 END) AS packets
    FROM runs WHERE kind = 'sent' AND reason = '' GROUP BY seed ORDER BY seed
"""


@dataclass(frozen=True)
class Step:
    """One thing that the sender of a close-up does or sees; numbers are packets, from 0."""

    time: float
    what: str
    """`report` (an acknowledgement that does not move on), `ack`, `new`, `again`."""
    packet: int
    cwnd: float
    """Congestion window after it, packets."""
    flight: int
    """Packets outstanding after it: sent and not reported as arrived, the lost one included."""


@dataclass(frozen=True)
class CloseUp:
    """The loss of one packet and the sender's reaction to it."""

    lost: int
    sent_at: float
    cwnd: float
    """Congestion window before the first report, packets."""
    highest: int
    """Highest packet sent before the first report."""
    steps: tuple[Step, ...]
    """From the first report to the acknowledgement of the retransmission, which is the last."""

    @property
    def reports(self) -> list[Step]:
        """Every report, in order."""
        return [step for step in self.steps if step.what == "report"]

    def answers(self) -> list[list[tuple[str, int]]]:
        """The packets sent after each report, before the next."""
        answers: list[list[tuple[str, int]]] = []
        for step in self.steps:
            if step.what == "report":
                answers.append([])
            elif step.what in ("new", "again") and answers:
                answers[-1].append((step.what, step.packet))
        return answers

    def after(self, report: Step, *ends: str) -> Step:
        """The last step before the next report, or before one of those: when everything that a report let go has gone."""
        last = report
        for step in self.steps[self.steps.index(report) + 1 :]:
            if step.what in ("report", *ends):
                break
            last = step
        return last

    def retransmission(self) -> Step:
        """The first retransmission of the lost packet."""
        return next(step for step in self.steps if step.what == "again" and step.packet == self.lost)

    def spacing_ms(self) -> float:
        """Mean time between the first seven reports, which are those that the study shows, milliseconds."""
        reports = self.reports[:7]
        return 1e3 * (reports[-1].time - reports[0].time) / (len(reports) - 1)


def close_up(results: Results, sweep: str, flow: str) -> CloseUp:
    """Reads the events around the only loss of a recorded run."""
    rows = results.rows(
        sweep,
        f"SELECT time_ns / 1e9 AS t, kind, reason, seq, size, a, b, c FROM runs "
        f"WHERE flow = '{flow}' AND entity = '{flow}:sender' "
        "AND kind IN ('sent', 'ack', 'window', 'fast-retransmit')",
        kind="trace",
    )
    unit = PAYLOAD if flow == "tcp" else 1
    again = next(i for i, row in enumerate(rows) if row["kind"] == "sent" and row["reason"] != "")
    lost = rows[again]["seq"] // unit
    sent = next(row for row in rows if row["kind"] == "sent" and row["seq"] // unit == lost)
    # Acknowledgements that ask for the lost packet; the first of them still moved on to it.
    stuck = [i for i, row in enumerate(rows) if row["kind"] == "ack" and row["seq"] // unit == lost]
    end = next(
        i for i, row in enumerate(rows) if i > again and row["kind"] == "ack" and row["seq"] // unit > lost
    )
    first = stuck[1]
    cwnd = [row["a"] for row in rows[:first] if row["kind"] == "window"][-1] / UNIT[flow]
    highest = max(row["seq"] // unit for row in rows[:first] if row["kind"] == "sent")
    before, top, reports = (cwnd, highest), highest, 0
    steps: list[Step] = []
    for row in rows[first : end + 1]:
        packet = row["seq"] // unit
        if row["kind"] == "window":
            cwnd = row["a"] / UNIT[flow]
            if steps:
                steps[-1] = dataclasses.replace(steps[-1], cwnd=cwnd)
            continue
        if row["kind"] == "fast-retransmit":
            continue
        if row["kind"] == "ack":
            what = "report" if packet == lost else "ack"
            reports += what == "report"
        else:
            what = "new" if row["reason"] == "" else "again"
            top = max(top, packet)
        # All packets from the lost one on, less one for each report.
        steps.append(Step(row["t"], what, packet, cwnd, top + 1 - lost - reports))
    return CloseUp(lost, sent["t"], before[0], before[1], tuple(steps))
