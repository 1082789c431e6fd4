"""Data of the runs and of the references, in the study's own measures (section 5 of it)."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from anabranch_lab.run import grid
from anabranch_lab.run.grid import Grid, Sample
from anabranch_lab.run.results import Results

BOTTLENECK = 3e6
"""Rate of the satellite link L2, bits per second."""
PAYLOAD = 1448
"""Bytes of user data in a packet."""
HEADERS = {"tcp": 40, "sctp": 48}
"""Bytes of IP and transport in front of them."""
PEAK = 0.01
"""The loss probability that the study looks at more closely."""
FLOWS = {name: grid.of_flow(name, "sent_unique_payload_bps") for name in HEADERS}


@dataclass(frozen=True)
class Shares:
    """The runs of one sweep; every measure is a value for each seed, in percent."""

    runs: Grid
    headers: bool = False
    """Whether the headers of packets count."""

    @property
    def places(self) -> list[float]:
        """The loss probabilities."""
        return self.runs.values("p")

    def of(self, flow: str, p: float) -> Sample:
        """Bits per second that a flow sends for the first time."""
        bytes_each = PAYLOAD + (HEADERS[flow] if self.headers else 0)
        return self.runs.sample(flow, p=p) * (bytes_each / PAYLOAD)

    def share(self, p: float) -> Sample:
        """Share of SCTP in the throughput of both, Eq. (1)."""
        sctp = self.of("sctp", p)
        return sctp / (sctp + self.of("tcp", p)) * 100.0

    def delta(self, p: float) -> Sample:
        """How much more SCTP sent than TCP, Eq. (2)."""
        tcp = self.of("tcp", p)
        return (self.of("sctp", p) - tcp) / tcp * 100.0

    def util(self, p: float) -> Sample:
        """Utilisation of the bottleneck, Eq. (3)."""
        return (self.of("sctp", p) + self.of("tcp", p)) / BOTTLENECK * 100.0

    def mean_delta(self) -> Sample:
        """Delta of each seed, averaged over the loss probabilities."""
        each = [self.delta(p) for p in self.places]
        return sum(each[1:], start=each[0]) / float(len(each))


def shares(results: Results, sweep: str) -> Shares:
    """The runs of a sweep."""
    return Shares(results.grid(sweep, FLOWS))


def _csv(name: str) -> list[dict[str, str]]:
    path = Path(__file__).parent / "reference" / name
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return list(csv.DictReader(lines))


def published() -> Mapping[float, Mapping[str, float]]:
    """The shares of Table 2, from which its last but one column follows: tcp_pct, sctp_pct by loss probability."""
    return {float(row["p"]): {name: float(v) for name, v in row.items()} for row in _csv("published.csv")}


def ns2(sweep: str) -> Mapping[float, Mapping[str, float]]:
    """The reference runs of ns-2 in the configuration of that sweep: means and half widths."""
    return {
        float(row["p"]): {name: float(value) for name, value in row.items() if name != "sweep"}
        for row in _csv("ns2.csv")
        if row["sweep"] == sweep
    }


def linux() -> Shares:
    """The reference runs of Linux 6.1."""
    cells: dict[tuple, dict[str, list]] = {}
    for row in _csv("linux61.csv"):
        cell = cells.setdefault((float(row["p"]),), {"seed": [], "tcp": [], "sctp": []})
        for name, column in (("seed", "seed"), ("tcp", "tcp_bps"), ("sctp", "sctp_bps")):
            cell[name].append(float(row[column]))
    return Shares(Grid(("p",), tuple(HEADERS), cells))
