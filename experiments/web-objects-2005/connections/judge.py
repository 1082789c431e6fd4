"""The rate from which parallel TCP connections are faster than one association."""

import math

from anabranch_lab.judge.claims import Claim, ClaimBuilder
from anabranch_lab.judge.comparison import Measured
from anabranch_lab.run.grid import Curve, Grid

ENGINES = "linux-2.4, sctplib-2001"


def ratio(runs: Grid, sctp: str = "SCTP", tcp: str = "TCP in parallel") -> Curve:
    """R2 of one association in percent of that of parallel connections, over the rate."""
    return runs.curve("R2", over="rate", way=sctp) / runs.curve("R2", over="rate", way=tcp) * 100.0


def crossover(curve: Curve) -> float:
    """The rate at which the curve first exceeds 100 %, between its points on a log scale; nan when it does not."""
    for (x, y), (further, higher) in zip(
        zip(curve.x, curve.means, strict=True), zip(curve.x[1:], curve.means[1:], strict=True), strict=False
    ):
        if y <= 100.0 < higher:
            part = (100.0 - y) / (higher - y)
            return float(math.exp(math.log(x) + part * (math.log(further) - math.log(x))))
    return math.nan


def claims(builder: ClaimBuilder, runs: Grid, large: Grid) -> list[Claim]:
    """A-X1."""
    found: dict[str, Measured] = {}
    for text, grid in (("buffer of 50", runs), ("buffer of 500", large)):
        curve = ratio(grid)
        found[f"{text}, slowest line: SCTP in % of parallel TCP"] = curve.sample(curve.x[0])
        found[f"{text}, fastest line: SCTP in % of parallel TCP"] = curve.sample(curve.x[-1])
    where = ", ".join(
        f"{crossover(ratio(grid)):.0f} kbit/s ({text})" for text, grid in (("50", runs), ("500", large))
    )
    note = f"The crossover at 100 ms one way: {where} packets of buffer."
    return [builder.claim("A-X1", found, engine=ENGINES, note=note)]
