"""The claims about ns-2.35: inside its interval, or within 3 % of its mean."""

from anabranch_lab.judge.claims import MIN_SEEDS, Claim, ClaimBuilder, Explanation, Part, equal, too_few
from anabranch_lab.run.grid import Grid, Sample
from anabranch_lab.stats import Estimate

from . import table
from .point import Point

ENGINE = "ns2-2.35"
NEAR = 0.03
"""How far a mean may lie from that of ns-2.35, when it lies outside of its interval."""
KNOWN = 0.10
"""How wide the interval of ns-2.35 may be to each side, as a part of its mean: what it does not know better, nothing agrees with."""


def agrees(at: str, theirs: Estimate, ours: Estimate) -> Part:
    """Our mean lies inside the interval of ns-2.35 or within 3 % of its mean; our own interval makes nothing easier."""
    off = ours.mean / theirs.mean - 1
    inside = theirs.low <= ours.mean <= theirs.high
    enough = ours.n >= MIN_SEEDS
    return Part(
        at,
        f"{table.text(theirs, 4)}, or within 3 %",
        ours.mean,
        ours.half,
        enough and (inside or abs(off) <= NEAR),
        f"{100 * off:+.1f} %, {'inside' if inside else 'outside'} the interval of ns-2.35"
        if enough
        else too_few(ours.n),
        ours.n,
        judged=enough,
        rule=f"{table.text(theirs, 4)}, or within 3 %",
    )


def measured(point: Point) -> list[tuple[str, Estimate, Estimate]]:
    """Both measures of one point: what ns-2.35 has and what we have."""
    return [
        (f"{point.name}: goodput, Mbit/s", point.ns2.goodput, point.goodput.estimate),
        (f"{point.name}: fast retransmits a packet", point.ns2.fr, point.fr),
    ]


def parts(point: Point) -> list[Part]:
    """Those of them that ns-2.35's few runs know well enough."""
    return [
        agrees(at, theirs, ours) for at, theirs, ours in measured(point) if theirs.half <= KNOWN * theirs.mean
    ]


def unknown(chosen: list[Point]) -> str:
    """What is not judged, and why."""
    told = [
        f"{at} ({100 * (ours.mean / theirs.mean - 1):+.1f} %, ns-2.35's own interval is ±{100 * theirs.half / theirs.mean:.0f} %)"
        for point in chosen
        for at, theirs, ours in measured(point)
        if theirs.half > KNOWN * theirs.mean
    ]
    if not told:
        return ""
    return f"Not judged, as ns-2.35's runs do not know them to {100 * KNOWN:.0f} %: {'; '.join(told)}."


def claims(builder: ClaimBuilder, found: list[Point], variants: dict[str, Grid]) -> list[Claim]:
    """Every claim of the catalogue that names this experiment."""

    def judge(identifier: str, chosen: list[Point], note: str = "", **more: object) -> Claim:
        return builder.claim(
            identifier,
            lambda _engine: [part for point in chosen for part in parts(point)],
            note=" ".join(filter(None, (unknown(chosen), note))),
            **more,  # type: ignore[arg-type]
        )

    def of(*names: str) -> list[Point]:
        return [point for point in found if point.experiment in names]

    # XIII has losses of 1e-5 to 1e-3; 1e-2 stands by itself.
    thirteen = [point for point in of("WAN") if point.p < 1e-2]
    return [
        judge("R-XIII", thirteen),
        judge("R-WAN", [point for point in of("WAN") if point not in thirteen]),
        judge("R-XV", of("XV")),
        judge("R-XVI", of("XVI"), note=_further(of("XVI")), explanation=_in_step(of("XVI"), variants)),
        judge("R-XVII", of("XVII"), note=_further(of("XVII")), evidence=("two-packets",)),
        judge("R-XVIIIb", of("XVIIIb"), note=_further(of("XVIIIb"))),
    ]


def _further(chosen: list[Point]) -> str:
    """What the further seeds of ns-2.35 have, where the five of the reference do not agree with us."""
    told = [
        f"{point.name} {1e6 * point.far.fr.mean:.0f}e-6 ± {1e6 * point.far.fr.half:.0f}e-6 (here "
        f"{1e6 * point.fr.mean:.0f}e-6)"
        for point in chosen
        if point.far is not None and not all(part.holds for part in parts(point))
    ]
    return (
        f"Fast retransmits of ns-2.35 with ten seeds that lie far apart: {'; '.join(told)}." if told else ""
    )


def _in_step(chosen: list[Point], variants: dict[str, Grid]) -> Explanation:
    """Heartbeats and starts decide how long subflows stay in step."""
    ns2 = {point.n: point.ns2.fr for point in chosen}

    def rates(who: str) -> Sample:
        runs = variants["at-once"]
        fast, arrivals = (runs.sample(name, engine=ENGINE, who=who) for name in ("fast", "arrivals"))
        return fast / arrivals

    def fr(sweep: str) -> Estimate:
        fast, lost, arrivals = (
            list(variants[sweep].sample(name, engine=ENGINE).values) for name in ("fast", "lost", "arrivals")
        )
        return table.retransmits(fast, lost, arrivals, 0.0)

    return Explanation(
        "An overflow of a drop-tail queue has no luck in it: who loses is decided by who came a moment earlier. Heartbeats disturb that "
        "(their answers take places in the queue); starts at different moments do, too. Without heartbeats one subflow always has what "
        "the reference has, whose five seeds draw nearly the same times; two subflows, which start together, have exactly what two "
        "associations have that start together; and 25 subflows with as many heartbeats as 25 associations have what those have.",
        runs=("no-heartbeats", "at-once", "many-heartbeats"),
        parts=(
            agrees("n = 1 without heartbeats", ns2[1], fr("no-heartbeats")),
            equal(
                "n = 2, starting at once, without heartbeats: subflows minus associations",
                (rates("subflows") - rates("associations")).estimate,
                NEAR * ns2[2].mean,
            ),
            agrees("n = 25 subflows with the heartbeats of 25", ns2[25], fr("many-heartbeats")),
        ),
    )
