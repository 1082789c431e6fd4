"""The reference: from runs to grades, a table and a figure."""

from anabranch_lab.judge import grades
from anabranch_lab.judge.experiment import Analysis, Table, claim_builder
from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.run import grid
from anabranch_lab.run.grid import Grid, Sample
from anabranch_lab.run.results import Results
from anabranch_lab.stats import Estimate

from . import figures, judge, table
from .point import Point

ENGINE = "ns2-2.35"
LINK = "bottleneck"
FLOWS = "FILTER (kind = 'flow' AND name LIKE 'sf%')"

MEASURES = {
    # Mbit/s with IP headers, all associations together.
    "goodput": f"{grid.of_flow('sf%', 'goodput_wire_run_bps')} / 1e6",
    "fast": f"sum(fast_retransmits) {FLOWS}",
    "lost": grid.of_link("exit", "drops_error"),
    "arrivals": grid.of_link(LINK, "arrivals"),
    "timeouts": f"sum(timeouts) {FLOWS}",
}

SUBFLOWS, ASSOCIATIONS = "subflows", "associations"


def retransmits(runs: Grid, p: float = 0.0, **at: object) -> Estimate:
    """Fast retransmits for each packet that comes to the queue, as the reference counts them."""
    fast, lost, arrivals = (
        list(runs.sample(name, engine=ENGINE, **at).values) for name in ("fast", "lost", "arrivals")
    )
    return table.retransmits(fast, lost, arrivals, p)


def points(results: Results) -> list[Point]:
    """Every point that ns-2.35 and our runs both have."""
    rows = table.read()
    found: list[Point] = []

    def add(runs: Grid, experiment: str, n: int, p: float, who: str, at: dict[str, str]) -> None:
        def sample(name: str) -> Sample:
            return runs.sample(name, engine=ENGINE, **at)

        found.append(
            Point(
                experiment,
                n,
                p,
                who,
                rows[experiment, table.FIRST, n, p],
                rows.get((experiment, table.FAR, n, p)),
                sample("goodput"),
                retransmits(runs, p, **at),
                sample("timeouts").estimate,
            )
        )

    for experiment in ("XVI", "XVII", "XVIIIb"):
        for who, suffix in ((SUBFLOWS, ""), (ASSOCIATIONS, "-associations")):
            runs = results.grid(experiment + suffix, MEASURES)
            for n in sorted(runs.values("n"), key=int):
                add(runs, experiment, int(n), 0.0, who, {"n": n})
    runs = results.grid("WAN", MEASURES)
    for place in runs.values("place"):
        n, p = (part.rpartition("= ")[2] for part in place.split(", "))
        add(runs, "WAN", int(n), float(p), SUBFLOWS, {"place": place})
    runs = results.grid("XV", MEASURES)
    for n in sorted(runs.values("n"), key=int):
        add(runs, "XV", int(n), 1e-4, SUBFLOWS, {"n": n})
    return found


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    found = points(results)
    claims = judge.claims(claim_builder(results), found)
    every = [part for claim in claims for part in claim.parts]
    two = retransmits(results.grid("two-packets", MEASURES))
    (one,) = (point for point in found if point.experiment == "XVII" and point.n == 1)
    return Analysis(
        claims=claims,
        tables=[rows(found)],
        figures=[
            Entry(
                "reference",
                "Reference: this engine over ns-2.35",
                "Goodput (a) and fast retransmits (b), ns-2.35's mean is 1. Black: the 95 % interval of ns-2.35; coloured: ours. "
                "The band is what counts as the same where ns-2.35's interval is narrower.",
                lambda: figures.ratios(found),
            )
        ],
        findings=[
            f"Of {len(every)} values {sum(part.grade == grades.A for part in every)} are those of ns-2.35: with their intervals they lie within "
            "its own interval or 3 % of its mean.",
            "What does not is due to heartbeats and to starts. The answers to heartbeats take places in a full queue, and when one does "
            "in the moment of an overflow, one subflow loses two packets in each cycle from then on; ns-2.35 does the same, but the "
            "five seeds of the reference draw nearly the same times. n associations have n heartbeats, n subflows one: they stay in step longer.",
            f"ns-2.35 starts with 4380 bytes, not with the two packets that its `initialCwnd_` says. With two packets XVII has "
            f"{1e5 * two.mean:.2f}e-5 fast retransmits a packet with one subflow, with 4380 bytes "
            f"{1e5 * one.fr.mean:.2f}e-5; ns-2.35 has {1e5 * one.ns2.fr.mean:.2f}e-5.",
        ],
    )


def rows(found: list[Point]) -> Table:
    """Every point, with both intervals."""

    def off(ours: Estimate, theirs: Estimate) -> str:
        return f"{100 * (ours.mean / theirs.mean - 1):+.1f} %"

    return Table(
        "ns-2.35 and the engine ns2-2.35, means and 95 % intervals",
        [
            "",
            "point",
            "goodput, ns-2.35",
            "here",
            "",
            "fast retransmits, ns-2.35",
            "further seeds",
            "here",
            "",
            "timeouts a run, ns-2.35",
            "here",
            "agrees",
        ],
        [
            [
                point.experiment,
                point.name,
                table.text(point.ns2.goodput, 5),
                table.text(point.goodput.estimate, 5),
                off(point.goodput.estimate, point.ns2.goodput),
                _millionths(point.ns2.fr),
                "" if point.far is None else _millionths(point.far.fr),
                _millionths(point.fr),
                off(point.fr, point.ns2.fr),
                f"{point.ns2.timeouts:.1f}",
                f"{point.timeouts.mean:.1f}",
                "yes" if all(abs(each.mean) <= 1 for each in judge.parts(point).values()) else "no",
            ]
            for point in found
        ],
        note="Goodput in Mbit/s with IP headers; fast retransmits in millionths of the packets that came to the bottleneck. The reference "
        "has five seeds (WAN at 1e-5 three, n > 1 and XV two), the further seeds are ten. Runs differ in length. With random "
        "losses (WAN, XV) the losses that happened to fall are replaced by those to be expected, on both sides.",
    )


def _millionths(value: Estimate) -> str:
    return Estimate(1e6 * value.mean, 1e6 * value.half, value.n, 1e6 * value.sd).text(1)
