"""Which of the claims hold."""

from anabranch_lab.judge.claims import Claim, above, within
from anabranch_lab.models import stochastic
from anabranch_lab.plan.catalogue import ClaimBuilder
from anabranch_lab.run.grid import Grid

RTT = 0.04
"""Round trip without a queue, seconds."""
PACKET = 1500
"""Bytes of a packet, headers included; PAYLOAD of them are the user's."""
PAYLOAD = 1452


def square_root(p: float) -> float:
    """What the square-root law promises at a loss probability, Mbit/s of payload."""
    return 8e-6 * float(stochastic.throughput(p, RTT)) * PAYLOAD / PACKET


def claims(builder: ClaimBuilder, runs: Grid) -> list[Claim]:
    """A verdict for every claim of claims.toml."""

    def falls(engine: str):
        curve = runs.curve("goodput", over="p", engine=engine)
        return [within("all of the curve", -0.6, -0.4, curve.exponent())]

    def half(engine: str):
        measured = runs.at("goodput", engine=engine, p=0.01)
        return [above("p = 0.01, Mbit/s", square_root(0.01) / 2, measured)]

    return [builder.claim("H-1", falls), builder.claim("H-2", half)]
