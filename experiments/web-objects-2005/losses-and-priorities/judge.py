"""Own claims: streams against head-of-line blocking, priorities for the index."""

from anabranch_lab.judge.claims import Claim, ClaimBuilder
from anabranch_lab.run.grid import Grid

ENGINE = "rfc9260"


def claims(builder: ClaimBuilder, losses: Grid, priorities: Grid) -> list[Claim]:
    """A-X2 and A-X3."""
    streams, one = (losses.curve("mean", over="p", way=way) for way in ("SCTP, 50 streams", "SCTP, 1 stream"))
    (turn, last), (first, later) = (
        [priorities.sample(measure, scheduler=name) for measure in ("index", "R2")]
        for name in ("in turn", "index first")
    )
    return [
        builder.claim(
            "A-X2",
            {
                f"{f'p = {p:g}' if p else 'no loss'}: mean completion with 50 streams less with 1, s": (
                    streams - one
                ).sample(p)
                for p in streams.x
            },
            engine=ENGINE,
        ),
        builder.claim(
            "A-X3",
            {
                "index: with priority / in turn": first / turn,
                "R2: with priority less in turn, s": later - last,
            },
        ),
    ]
