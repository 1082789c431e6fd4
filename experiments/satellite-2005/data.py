"""What the runs and the references say, in the study's own measures (section 5 of it)."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from anabranch_lab.run.results import Results
from anabranch_lab.stats import Estimate, estimate

BOTTLENECK = 3e6
"""Rate of the satellite link L2, bits per second."""
PAYLOAD = 1448
"""Bytes of user data in a packet."""
PEAK = 0.01
"""The loss probability at which the study finds the largest advantage."""

SHARES = """
    SELECT p, seed,
        max(CASE WHEN name = 'tcp' THEN sent_unique_payload_bps END) AS tcp,
        max(CASE WHEN name = 'sctp' THEN sent_unique_payload_bps END) AS sctp,
        any_value(engine) FILTER (name = 'tcp') AS tcp_engine,
        any_value(engine) FILTER (name = 'sctp') AS sctp_engine
    FROM runs WHERE kind = 'flow' GROUP BY p, seed ORDER BY p, seed
"""


@dataclass(frozen=True)
class Cell:
    """All runs of one sweep at one loss probability, in the order of their seeds; percent."""

    share: tuple[float, ...]
    """Share of SCTP in the throughput of both, Eq. (1)."""
    delta: tuple[float, ...]
    """How much more SCTP sent than TCP, Eq. (2)."""
    util: tuple[float, ...]
    """Utilisation of the bottleneck, Eq. (3)."""
    engines: tuple[str, str]

    def of(self, measure: str) -> Estimate:
        """Mean and interval of `share`, `delta` or `util`."""
        return estimate(getattr(self, measure))


Cells = Mapping[float, Cell]


def cells(results: Results, sweep: str) -> Cells:
    """The runs of a sweep by loss probability."""
    grouped: dict[float, list[dict]] = {}
    for row in results.rows(sweep, SHARES):
        grouped.setdefault(row["p"], []).append(row)
    return {
        p: Cell(
            share=tuple(100 * row["sctp"] / (row["sctp"] + row["tcp"]) for row in rows),
            delta=tuple(100 * (row["sctp"] - row["tcp"]) / row["tcp"] for row in rows),
            util=tuple(100 * (row["sctp"] + row["tcp"]) / BOTTLENECK for row in rows),
            engines=(rows[0]["tcp_engine"], rows[0]["sctp_engine"]),
        )
        for p, rows in grouped.items()
    }


def _csv(name: str) -> list[dict[str, str]]:
    path = Path(__file__).parent / "reference" / name
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return list(csv.DictReader(lines))


def published() -> Mapping[float, Mapping[str, float]]:
    """Table 2: tcp_pct, sctp_pct, delta_pct, util_pct by loss probability."""
    return {
        float(row["p"]): {name: float(value) for name, value in row.items()} for row in _csv("published.csv")
    }


def ns2(sweep: str) -> Mapping[float, Mapping[str, float]]:
    """The reference runs of ns-2 in the configuration of that sweep: means and half widths."""
    return {
        float(row["p"]): {name: float(value) for name, value in row.items() if name != "sweep"}
        for row in _csv("ns2.csv")
        if row["sweep"] == sweep
    }


def linux() -> Cells:
    """The reference runs of Linux 6.1."""
    grouped: dict[float, list[tuple[float, float]]] = {}
    for row in _csv("linux61.csv"):
        grouped.setdefault(float(row["p"]), []).append((float(row["tcp_bps"]), float(row["sctp_bps"])))
    return {
        p: Cell(
            share=tuple(100 * sctp / (sctp + tcp) for tcp, sctp in runs),
            delta=tuple(100 * (sctp - tcp) / tcp for tcp, sctp in runs),
            util=tuple(100 * (sctp + tcp) / BOTTLENECK for tcp, sctp in runs),
            engines=("Linux 6.1", "Linux 6.1"),
        )
        for p, runs in sorted(grouped.items())
    }
