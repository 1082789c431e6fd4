"""The claims about ns-2.35: as far from its mean as its own interval reaches, or 3 %, and no farther."""

from dataclasses import replace

from anabranch_lab.judge.claims import Claim, ClaimBuilder
from anabranch_lab.stats import Estimate

from .point import Point

NEAR = 0.03
"""How far a mean may lie from that of ns-2.35 when its interval is narrower."""
KNOWN = 0.10
"""The half width that an interval of ns-2.35 may have, as a part of its mean: wider ones are too uncertain to compare with."""


def measured(point: Point) -> dict[str, tuple[Estimate, Estimate]]:
    """Both measures of one point: the value of ns-2.35 and ours."""
    return {
        f"{point.name}: goodput": (point.ns2.goodput, point.goodput.estimate),
        f"{point.name}: fast retransmits a packet": (point.ns2.fr, point.fr),
    }


def off(theirs: Estimate, ours: Estimate) -> Estimate:
    """How far ours lies from theirs, over the largest distance that counts as the same."""
    allowed = max(theirs.half, NEAR * theirs.mean)
    return replace(
        ours, mean=(ours.mean - theirs.mean) / allowed, half=ours.half / allowed, sd=ours.sd / allowed
    )


def parts(point: Point) -> dict[str, Estimate]:
    """The distances of the measures whose interval is narrow enough in the few runs of ns-2.35."""
    return {
        at: off(theirs, ours)
        for at, (theirs, ours) in measured(point).items()
        if theirs.half <= KNOWN * theirs.mean
    }


def unknown(chosen: list[Point]) -> str:
    """A sentence on the points that are not judged, and why."""
    told = [
        f"{at} ({100 * (ours.mean / theirs.mean - 1):+.1f} %, ns-2.35's own interval is ±{100 * theirs.half / theirs.mean:.0f} %)"
        for point in chosen
        for at, (theirs, ours) in measured(point).items()
        if theirs.half > KNOWN * theirs.mean
    ]
    if not told:
        return ""
    return f"Not judged, as ns-2.35's runs do not know them to {100 * KNOWN:.0f} %: {'; '.join(told)}."


def claims(builder: ClaimBuilder, found: list[Point]) -> list[Claim]:
    """Every claim of the catalogue that names this experiment."""

    def judge(identifier: str, experiment: str, *, heavy: bool = False) -> Claim:
        # XIII has losses of 1e-5 to 1e-3; 1e-2 has a claim of its own.
        chosen = [point for point in found if point.experiment == experiment and heavy == (point.p >= 1e-2)]
        return builder.claim(
            identifier,
            {at: value for point in chosen for at, value in parts(point).items()},
            note=" ".join(filter(None, (unknown(chosen), _further(chosen)))),
        )

    return [
        judge("R-XIII", "WAN"),
        judge("R-WAN", "WAN", heavy=True),
        *(judge(f"R-{name}", name) for name in ("XV", "XVI", "XVII", "XVIIIb")),
    ]


def _further(chosen: list[Point]) -> str:
    """A sentence on the values of ns-2.35's further seeds, where the five of the reference do not agree with us."""
    told = [
        f"{point.name} {1e6 * point.far.fr.mean:.0f}e-6 ± {1e6 * point.far.fr.half:.0f}e-6 (here "
        f"{1e6 * point.fr.mean:.0f}e-6)"
        for point in chosen
        if point.far is not None and any(abs(each.mean) > 1 for each in parts(point).values())
    ]
    return (
        f"Fast retransmits of ns-2.35 with ten seeds that lie far apart: {'; '.join(told)}." if told else ""
    )
