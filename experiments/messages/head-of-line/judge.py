"""The hypotheses of the experiment, as they were written before it was run."""

from anabranch_lab.judge.claims import Claim, ClaimBuilder, Part, above, below
from anabranch_lab.run.grid import Grid

from ..common.latency import Ways

LOSSY = 0.01
"""From this probability on a loss is an everyday event."""


def claims(builder: ClaimBuilder, runs: Ways, served: Grid) -> list[Claim]:
    """Every hypothesis of claims.toml that names this experiment."""
    lossy = [loss for loss in runs.losses if loss >= LOSSY]
    lossless = [loss for loss in runs.losses if loss == 0]
    return [
        builder.claim("M-1", longer(runs, "p99", "one stream", "two streams", lossy)),
        builder.claim("M-2", longer(runs, "p50", "two streams", "I-DATA, priority", lossless)),
        builder.claim("M-3", longer(runs, "p99", "I-DATA, priority", "two subflows, level 1", lossy)),
        builder.claim("M-4", as_good(runs, "p99", "two subflows, level 1", "two associations", lossy)),
        builder.claim("M-5", longer(runs, "p99", "TCP", "two streams", lossy)),
        builder.claim("M-6", as_good(runs, "p50", "two subflows, level 0", "two subflows, level 1", lossy)),
        builder.claim("M-7", queue_passed(served)),
        builder.claim("M-16", tenth_less(runs, "p99", "nine streams", "two streams, eight sources", lossy)),
        builder.claim(
            "M-17",
            longer(runs, "p50", "two streams, eight sources, in turn", "nine streams, in turn", lossy),
        ),
    ]


def longer(runs: Ways, measure: str, slow: str, fast: str, losses: list[float]) -> list[Part]:
    """One way takes longer than another, seed by seed."""
    return [
        above(
            f"{path}, loss {loss:g}: {slow} minus {fast}, {measure}, ms",
            0.0,
            (runs.sample(measure, slow, path, loss) - runs.sample(measure, fast, path, loss)).estimate,
        )
        for path in runs.paths
        for loss in losses
    ]


def as_good(runs: Ways, measure: str, one: str, other: str, losses: list[float]) -> list[Part]:
    """One way takes at most a tenth longer than another."""
    return at_most(runs, measure, one, 1.1, other, losses)


def tenth_less(runs: Ways, measure: str, one: str, other: str, losses: list[float]) -> list[Part]:
    """One way takes at least a tenth less time than another."""
    return at_most(runs, measure, one, 0.9, other, losses)


def at_most(runs: Ways, measure: str, one: str, factor: float, other: str, losses: list[float]) -> list[Part]:
    """One way takes at most that many times as long as another, seed by seed."""
    return [
        below(
            f"{path}, loss {loss:g}: {one} minus {factor:g} times {other}, {measure}, ms",
            0.0,
            (
                runs.sample(measure, one, path, loss) - runs.sample(measure, other, path, loss) * factor
            ).estimate,
        )
        for path in runs.paths
        for loss in losses
    ]


def queue_passed(served: Grid) -> list[Part]:
    """With the code point EF a message does not wait for the bulk transfer's queue."""

    def p50(how: str, network: str):
        return served.sample("p50", how=how, network=network, loss=0)

    return [
        above(
            f"{network}: I-DATA, priority minus {how}, p50, ms",
            0.0,
            (p50("I-DATA, priority", network) - p50(how, network)).estimate,
        )
        for network in served.values("network")
        for how in ("two subflows, level 0", "two subflows, level 1")
    ]
