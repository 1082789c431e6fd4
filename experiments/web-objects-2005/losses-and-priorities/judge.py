"""Own claims: streams against head-of-line blocking, priorities for the index."""

from anabranch_lab.judge.claims import Claim, ClaimBuilder, Part, below, equal
from anabranch_lab.run.grid import Grid

ENGINES = ("rfc9260", "rfc")


def claims(builder: ClaimBuilder, losses: Grid, priorities: Grid) -> list[Claim]:
    """A-X2 and A-X3."""
    return [blocking(builder, losses), index_first(builder, priorities)]


def blocking(builder: ClaimBuilder, losses: Grid) -> Claim:
    """A-X2."""
    parts: list[Part] = []
    streams, one = (losses.curve("mean", over="p", way=way) for way in ("SCTP, 50 streams", "SCTP, 1 stream"))
    parts.append(equal("no loss: mean completion with 50 streams - with 1, s", (streams - one).at(0), 0.001))
    parts += [
        below(f"p = {p:g}: mean completion with 50 streams - with 1, s", 0.0, (streams - one).at(p))
        for p in streams.x
        if p > 0
    ]
    return builder.claim("A-X2", parts, engines=ENGINES)


def index_first(builder: ClaimBuilder, priorities: Grid) -> Claim:
    """A-X3."""
    turn, first = (priorities.sample("index", scheduler=name) for name in ("in turn", "index first"))
    last = [priorities.sample("R2", scheduler=name) for name in ("in turn", "index first")]
    parts: list[Part] = [
        below("index: with priority / in turn", 0.5, (first / turn).estimate),
        equal("R2: with priority - in turn, s", (last[1] - last[0]).estimate, 0.05),
    ]
    return builder.claim("A-X3", parts, engines=ENGINES)
