"""X-1: how much of the gain of subflows needs no change on the wire."""

from anabranch_lab.catalogue import ClaimBuilder
from anabranch_lab.claims import Claim, Part, above
from anabranch_lab.experiment import Analysis, claim_builder
from anabranch_lab.grid import Grid, Sample
from anabranch_lab.results import Results
from anabranch_lab.stats import Estimate

from ..common import paths

ENGINE = "rfc9260"


def analyse(results: Results) -> Analysis:
    """What the lab asks an experiment for."""
    losses, delays = (
        results.grid(name, paths.MEASURES).joined(results.grid(f"{name}-sf2007", paths.MEASURES))
        for name in ("losses", "delays")
    )
    places = {
        f"{told}, of {name}": gain(runs, level, **at)
        for level, name in (("1", "level 1"), ("sf2007", "the thesis's own encoding"))
        for told, runs, at in (
            *((f"II, p2 = {p2:g}", losses, {"p2": p2}) for p2 in (1e-5, 1e-4)),
            *((f"III, RTT1 = {(d + 252) / 1000:g} s", delays, {"delay": d}) for d in (348, 748)),
        )
    }
    return Analysis(
        claims=[recovered(claim_builder(results), places)],
        figures=[],
        findings=[
            "Level 0 has so much of what subflows that the receiver knows of gain over the shared association: "
            + "; ".join(f"{name} {value.text(3)}" for name, value in places.items())
            + "."
        ],
    )


def gain(runs: Grid, other: str, **at: float) -> Estimate:
    """(level 0 - shared) / (another level - shared)."""

    def over_shared(level: str) -> Sample:
        both = runs.sample("sf", engine=ENGINE, level=level, **at)
        return both - runs.sample("shared", engine=ENGINE, level=level, **at)

    return over_shared("0").over(over_shared(other))


def recovered(builder: ClaimBuilder, places: dict[str, Estimate]) -> Claim:
    """X-1."""

    def judge(_engine: str) -> list[Part]:
        return [above(f"share of the gain, {name}", 0.9, value) for name, value in places.items()]

    return builder.claim(
        "X-1",
        judge,
        engines=(ENGINE,),
        note="With the rules of RFC 9260; the receiver of level 0 knows nothing of subflows.",
    )
