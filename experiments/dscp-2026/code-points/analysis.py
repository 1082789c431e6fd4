"""Code points that a network changes or drops: from runs to verdicts, figures and findings."""

from typing import NamedTuple

from matplotlib.figure import Figure

from anabranch_lab.judge.claims import Claim, Part, above, below
from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.run.grid import Grid
from anabranch_lab.run.results import Results
from anabranch_lab.show import plots

from ..common import drawing, measures

ONE = "one code point"
PLAIN = "four code points, plain"
LEVELS = ("four subflows, level 0", "four subflows, level 1")
CHANGED = ("bleaches all", "bleaches the call's")
DROPPED = ("drops EF", "polices EF to 32 kbit/s")
AF41, BLEACHED = "drops AF41", "bleaches all"
THREE = ("three code points, plain", "three subflows, level 0", "three subflows, level 1")
APART = "two associations"
BY_TIME = "rfc9260-rack"
"""What the scenario has by itself."""
TABLE = (
    "audio_p50",
    "audio_p99",
    "video_p50",
    "video_p99",
    "data_p50",
    "data_p99",
    "audio_in_time",
    "video_in_time",
    "total",
    "timeouts",
)


class Ways(NamedTuple):
    """The grids of this experiment: those of RACK-TLP have no axis for the loss recovery."""

    runs: Grid
    rules: Grid
    dropped: Grid
    three: Grid
    apart: Grid

    def place(self, network: str, rules: str, how: str) -> tuple[Grid, dict]:
        """The grid that has it, and its point there."""
        at = {"network": network, "how": how}
        if how == APART:
            return self.apart, {**at, "rules": rules}
        if rules != BY_TIME:
            return self.rules, {**at, "rules": rules}
        if how in THREE:
            return self.three, at
        return (self.dropped if network == AF41 else self.runs), at


def analyse(results: Results) -> Analysis:
    """What the lab asks an experiment for."""
    runs = results.grid("treatments", measures.MEASURES)
    further = ("rules", "dropped", "three", "apart")
    ways = Ways(runs, *(results.grid(sweep, measures.MEASURES) for sweep in further))
    others = results.grid("others", measures.MEASURES)
    builder = claim_builder(results)
    return Analysis(
        claims=[*claims(builder, runs), *claims_of_others(builder, ways)],
        tables=[
            measures.table("Every point", runs, TABLE),
            measures.table("Where missing reports are counted", ways.rules, TABLE, shown=False),
            measures.table("AF41 dropped, RACK-TLP", ways.dropped, TABLE, shown=False),
            measures.table("Three code points, RACK-TLP", ways.three, TABLE, shown=False),
            measures.table("Two associations", ways.apart, TABLE, shown=False),
            measures.table("EF for all, and level 0 with DATA", others, TABLE, shown=False),
        ],
        figures=[
            Entry(
                "figure-dscp-code-points",
                "Video and all user data behind a network that changes or drops code points",
                "Means and 95 % intervals; the bottleneck serves code points by priority. Video is in time within 200 ms.",
                lambda: figure(runs),
            ),
            Entry(
                "figure-dscp-code-points-ways",
                "Audio behind a network that changes or drops code points, by loss recovery",
                "Per cent of audio that arrives within 150 ms; means and 95 % intervals; the bottleneck serves code points by priority.",
                lambda: figure_of_others(ways),
            ),
        ],
        findings=[
            *(finding(runs, network) for network in runs.values("network")),
            *(finding(ways.dropped, network) for network in ways.dropped.values("network")),
            *(finding(others, network) for network in others.values("network")),
            *(
                finding(ways.three, network, told="three code points")
                for network in (DROPPED[0], AF41)
                if network in ways.three.values("network")
            ),
            *(
                finding(grid, network, {"rules": each}, f"losses found as in {drawing.RECOVERY[each]}")
                for network in (BLEACHED, AF41)
                for grid in (ways.rules, ways.apart)
                if network in grid.values("network")
                for each in grid.values("rules")
            ),
        ],
    )


def finding(runs: Grid, network: str, place: dict | None = None, told: str = "") -> str:
    """What arrives in time, for each way."""
    about = f", {told}" if told else ""

    def at(measure: str, how: str) -> str:
        return measures.text(runs, measure, {"network": network, "how": how, **(place or {})})

    ways = "; ".join(
        f"{how} {at('audio_in_time', how)} and {at('video_in_time', how)}, {at('total', how)} Mbit/s in all"
        for how in runs.values("how")
    )
    return f"A network that {network}{about}: audio and video in time, %: {ways}."


def claims(builder, runs: Grid) -> list[Claim]:
    """The hypotheses of claims.toml that name this experiment."""
    networks = runs.values("network")
    changed = [network for network in CHANGED if network in networks]
    dropped = [network for network in DROPPED if network in networks]
    return [
        builder.claim(
            "DS-12",
            [
                part(
                    runs,
                    measure,
                    {"network": network, "how": how},
                    {"network": network, "how": ONE},
                    factor,
                    f"{network}: {how} against {ONE}",
                )
                for network in changed
                for how in LEVELS
                for part, measure, factor in (
                    (measures.no_less, "total", 0.95),
                    (measures.no_more, "audio_p99", 1.2),
                )
            ],
            note="Several windows burst into one queue. Where missing reports are counted, and a retransmission is lost, too, audio "
            "waits for a timeout of at least 1 s.",
        ),
        builder.claim(
            "DS-13",
            [
                *(
                    below(
                        f"{network}: {how}, {measures.NAMES['video_in_time']}",
                        50.0,
                        runs.at("video_in_time", network=network, how=how),
                    )
                    for network in dropped
                    for how in (PLAIN, LEVELS[0])
                ),
                *(
                    above(
                        f"{network}: {LEVELS[1]}, {measures.NAMES['video_in_time']}",
                        95.0,
                        runs.at("video_in_time", network=network, how=LEVELS[1]),
                    )
                    for network in dropped
                ),
            ],
        ),
    ]


def claims_of_others(builder, ways: Ways) -> list[Claim]:
    """The hypotheses about other loss recoveries, three code points and two associations."""
    counting, recoveries = ways.rules.values("rules"), ways.apart.values("rules")
    dropped = [network for network in (*DROPPED, AF41) if network in ways.rules.values("network")]

    def stops(network: str, rules: str, how: str, goes_on: tuple[str, ...], measure: str) -> Part:
        """Whether what has another code point than the one that is dropped stops with it."""
        grid, at = ways.place(network, rules, how)
        name = f"{network}, {rules}: {how}, {measures.NAMES[measure]}"
        value = grid.at(measure, **at)
        return above(name, 95.0, value) if how in goes_on else below(name, 50.0, value)

    def bleached(rules: str, how: str, measure: str, factor: float) -> Part:
        """A way against two associations, seed by seed."""
        (grid, at), (other, place) = ways.place(BLEACHED, rules, how), ways.place(BLEACHED, rules, APART)
        difference = (grid.sample(measure, **at) - other.sample(measure, **place) * factor).estimate
        name = f"{BLEACHED}, {rules}: {how} against {APART}, {measures.NAMES[measure]}"
        return above(name, 0.0, difference) if measure == "total" else below(name, 0.0, difference)

    return [
        builder.claim(
            "DS-22",
            [
                stops(AF41, rules, how, (LEVELS[1],), "audio_in_time")
                for rules in recoveries
                for how in (APART, LEVELS[1])
            ],
        ),
        builder.claim(
            "DS-23",
            [
                stops(
                    network,
                    rules,
                    how,
                    (LEVELS[1], THREE[-1]),
                    "audio_in_time" if network == AF41 else "video_in_time",
                )
                for network in dropped
                for rules, hows in (*((each, (PLAIN, *LEVELS)) for each in counting), (BY_TIME, THREE))
                for how in hows
            ],
        ),
        builder.claim(
            "DS-24",
            [
                bleached(rules, how, measure, factor)
                for rules in recoveries
                for how in LEVELS
                for measure, factor in (("total", 0.95), ("audio_p99", 1.2))
            ],
            note="It holds with RACK-TLP. Where missing reports are counted audio whose retransmission is lost, too, waits for a timeout of "
            "at least 1 s, as in DS-12: alone in its subflow it has no later packets that are reported, in an association with video it "
            "has. With an RTO.Min of 100 ms (six seeds) level 0, level 1 and two associations take 136 ± 24, 102 ± 23 and 105 ± 21 ms with "
            "the rules of RFC 9260, 131 ± 22, 127 ± 31 and 91 ± 19 with those of Linux 6.1.",
        ),
    ]


def figure_of_others(ways: Ways) -> Figure:
    """A panel for each loss recovery, networks side by side, a mark for each way."""
    networks, measure = ways.apart.values("network"), "audio_in_time"
    recoveries = ways.apart.values("rules")
    drawn, panels = plots.panels(len(recoveries), height=4.6)
    for axes, rules, letter in zip(panels, recoveries, "abc", strict=False):
        shown = {}
        for how in (*ways.runs.values("how"), *THREE, APART):
            places = [ways.place(network, rules, how) for network in networks]
            shown[how] = [measures.known(grid, measure, at) for grid, at in places]
        drawing.dots(axes, networks, shown)
        plots.label(
            axes, f"({letter}) {drawing.RECOVERY[rules]}", "what the network does", measures.NAMES[measure]
        )
    drawing.legend(drawn, panels[0])
    return drawn


def figure(runs: Grid) -> Figure:
    """A panel for video, one for everything."""
    networks = runs.values("network")
    drawn, panels = plots.panels(2, height=4.6)
    for axes, measure, letter in zip(panels, ("video_in_time", "total"), "ab", strict=True):
        ways = {
            how: [measures.known(runs, measure, {"network": network, "how": how}) for network in networks]
            for how in runs.values("how")
        }
        drawing.dots(axes, networks, ways)
        plots.label(
            axes, f"({letter}) {measures.NAMES[measure]}", "what the network does", measures.NAMES[measure]
        )
    drawing.legend(drawn, panels[0])
    return drawn
