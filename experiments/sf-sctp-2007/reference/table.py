"""ns-2.35's own runs, from `ns2.csv`."""

import csv
import math
from dataclasses import dataclass
from pathlib import Path

from anabranch_lab.stats import Estimate, estimate, ratio

FIRST, FAR = "first", "far"
"""The reference, and further runs of the same script with seeds that lie far apart."""


@dataclass(frozen=True)
class Row:
    """One point of the reference: means and 95 % intervals over its runs."""

    goodput: Estimate
    """Mbit/s with IP headers, all associations together."""
    fr: Estimate
    """Fast retransmits for each packet that came to the bottleneck (see `retransmits`)."""
    timeouts: float
    """Mean of a run."""


def read(path: Path = Path(__file__).parent / "ns2.csv") -> dict[tuple[str, str, int, float], Row]:
    """Every point by experiment, set (`first` or `far`), number of associations and loss."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    points: dict[tuple[str, str, int, float], list[dict[str, str]]] = {}
    for row in csv.DictReader(lines):
        place = (row["experiment"], row["set"], int(row["n"]), float(row["p"]))
        points.setdefault(place, []).append(row)
    return {place: _row(rows) for place, rows in points.items()}


def _row(rows: list[dict[str, str]]) -> Row:
    def column(name: str) -> list[float]:
        return [float(row[name]) for row in rows]

    return Row(
        estimate(column("goodput_mbps")),
        retransmits(
            column("fast_retransmits"), column("link_drops"), column("arrivals"), float(rows[0]["p"])
        ),
        estimate(column("timeouts")).mean,
    )


def retransmits(fast: list[float], lost: list[float], arrivals: list[float], p: float) -> Estimate:
    """Fast retransmits for each arrival, without the luck of random losses.

    Each of these losses makes about one fast retransmit, so those that happened to fall are taken out and those that were to be
    expected put in: p + (fast - lost) / arrivals. Without random losses this is fast / arrivals.
    """
    over = ratio([f - gone for f, gone in zip(fast, lost, strict=True)], arrivals)
    return Estimate(p + over.mean, over.half, over.n, over.sd)


def text(value: Estimate | None, digits: int) -> str:
    """Mean and half width in `digits` significant figures of the mean."""
    if value is None:
        return ""
    if value.mean == 0:
        return "0"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value.mean))))
    return value.text(places)
