"""One point of the comparison with ns-2."""

from dataclasses import dataclass

from anabranch_lab.run.grid import Sample
from anabranch_lab.stats import Estimate

from . import table


@dataclass(frozen=True)
class Point:
    """One point: the values of ns-2, and ours."""

    experiment: str
    n: int
    p: float
    who: str
    ns2: table.Row
    far: table.Row | None
    goodput: Sample
    fr: Estimate
    timeouts: Estimate

    @property
    def name(self) -> str:
        """For tables."""
        loss = f", p = {self.p:g}" if self.p else ""
        what = "" if self.n == 1 else f" {self.who}"
        return f"n = {self.n}{what}{loss}"
