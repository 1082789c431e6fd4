"""Where parallel TCP connections become faster than one association."""

import math

from anabranch_lab.judge.claims import Claim, ClaimBuilder, Part, above, below
from anabranch_lab.run.grid import Curve, Grid

from ..common.pages import STACKS


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
    parts: list[Part] = []
    for text, grid in (("buffer of 50", runs), ("buffer of 500", large)):
        curve = ratio(grid)
        slow, fast = curve.x[0], curve.x[-1]
        parts.append(below(f"{text}, {slow:g} kbit/s: SCTP in % of parallel TCP", 100.0, curve.at(slow)))
        parts.append(above(f"{text}, {fast:g} kbit/s: SCTP in % of parallel TCP", 100.0, curve.at(fast)))
    where = ", ".join(
        f"{crossover(ratio(grid)):.0f} kbit/s ({text})" for text, grid in (("50", runs), ("500", large))
    )
    return [
        builder.claim(
            "A-X1", parts, engines=STACKS, note=f"The crossover at 100 ms one way: {where} packets of buffer."
        )
    ]
