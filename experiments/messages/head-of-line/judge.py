"""Judges of the hypotheses, which were written before the runs."""

from anabranch_lab.judge.claims import Claim, ClaimBuilder
from anabranch_lab.run.grid import Grid

from ..common.comparing import LOSSY, minus, over
from ..common.latency import Ways


def claims(builder: ClaimBuilder, runs: Ways, served: Grid) -> list[Claim]:
    """Every hypothesis of claims.toml that names this experiment."""
    lossy = [(path, loss) for path in runs.paths for loss in runs.losses if loss >= LOSSY]
    lossless = [(path, 0) for path in runs.paths]
    of = runs.sample

    def behind(measure: str, how: str, network: str):
        return served.sample(measure, how=how, network=network, loss=0)

    found = {
        "M-1": minus(of, "p99", "one stream", "two streams", lossy),
        "M-2": minus(of, "p50", "two streams", "I-DATA, priority", lossless),
        "M-3": minus(of, "p99", "I-DATA, priority", "two subflows, level 1", lossy),
        "M-4": over(of, "p99", "two subflows, level 1", "two associations", lossy),
        "M-5": minus(of, "p99", "TCP", "two streams", lossy),
        "M-6": over(of, "p50", "two subflows, level 0", "two subflows, level 1", lossy),
        "M-7": {
            at: value
            for level in (0, 1)
            for at, value in minus(
                behind,
                "p50",
                "I-DATA, priority",
                f"two subflows, level {level}",
                [(network,) for network in served.values("network")],
            ).items()
        },
        "M-16": over(of, "p99", "nine streams", "two streams, eight sources", lossy),
        "M-17": minus(of, "p50", "two streams, eight sources, in turn", "nine streams, in turn", lossy),
    }
    return [builder.claim(identifier, measured) for identifier, measured in found.items()]
