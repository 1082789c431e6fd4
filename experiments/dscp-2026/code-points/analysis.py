"""Code points that a network changes or drops: from runs to grades, figures and findings."""

from collections.abc import Iterator
from typing import NamedTuple

from matplotlib.figure import Figure

from anabranch_lab.judge.claims import Claim, ClaimBuilder
from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.run.grid import Grid
from anabranch_lab.run.results import Results
from anabranch_lab.show import plots
from anabranch_lab.stats import Estimate

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
"""The engine of the scenario, where no sweep sets another."""
NOTES = {
    "DS-12": "Several windows burst into one queue. Where missing reports are counted, and a retransmission is lost, too, audio waits for a "
    "timeout of at least 1 s.",
    "DS-24": "Where missing reports are counted audio whose retransmission is lost, too, waits for a timeout of at least 1 s: alone in its "
    "subflow it has no later packets that are reported, in an association with video it has.",
}
"""Remarks on claims, by their identifiers."""
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
        """The grid that has these runs, and their point in it."""
        at = {"network": network, "how": how}
        if how == APART:
            return self.apart, {**at, "rules": rules}
        if rules != BY_TIME:
            return self.rules, {**at, "rules": rules}
        if how in THREE:
            return self.three, at
        return (self.dropped if network == AF41 else self.runs), at


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    runs = results.grid("treatments", measures.MEASURES)
    further = ("rules", "dropped", "three", "apart")
    ways = Ways(runs, *(results.grid(sweep, measures.MEASURES) for sweep in further))
    others = results.grid("others", measures.MEASURES)
    return Analysis(
        claims=claims(claim_builder(results), ways),
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
    """A sentence on the shares of audio and video that arrive in time, for each way."""
    about = f", {told}" if told else ""

    def at(measure: str, how: str) -> str:
        return measures.text(runs, measure, {"network": network, "how": how, **(place or {})})

    ways = "; ".join(
        f"{how} {at('audio_in_time', how)} and {at('video_in_time', how)}, {at('total', how)} Mbit/s in all"
        for how in runs.values("how")
    )
    return f"A network that {network}{about}: audio and video in time, %: {ways}."


def claims(builder: ClaimBuilder, ways: Ways) -> list[Claim]:
    """The hypotheses of claims.toml that name this experiment."""
    networks, further = ways.runs.values("network"), ways.rules.values("network")
    changed = [network for network in CHANGED if network in networks]
    counting, recoveries = ways.rules.values("rules"), ways.apart.values("rules")

    def in_time(network: str, rules: str, how: str, measure: str) -> dict[str, Estimate]:
        grid, at = ways.place(network, rules, how)
        return measures.at(grid, measure, at, f"{network}, {rules}: {how}")

    def over(network: str, rules: str, how: str, other: str) -> Iterator[dict[str, Estimate]]:
        (grid, at), (beside, place) = ways.place(network, rules, how), ways.place(network, rules, other)
        for measure in ("total", "audio_p99"):
            told = f"{network}, {rules}: {how} over {other}, {measures.NAMES[measure]}"
            yield {told: grid.sample(measure, **at).over(beside.sample(measure, **place))}

    found = {
        "DS-12": [part for network in changed for how in LEVELS for part in over(network, BY_TIME, how, ONE)],
        "DS-13": [
            in_time(network, BY_TIME, how, "video_in_time")
            for network in DROPPED
            if network in networks
            for how in (PLAIN, *LEVELS)
        ],
        "DS-22": [
            in_time(AF41, each, how, "audio_in_time") for each in recoveries for how in (APART, LEVELS[1])
        ],
        "DS-23": [
            in_time(network, rules, how, "audio_in_time" if network == AF41 else "video_in_time")
            for network in (*DROPPED, AF41)
            if network in further
            for rules, hows in (*((each, (PLAIN, *LEVELS)) for each in counting), (BY_TIME, THREE))
            for how in hows
        ],
        "DS-24": [
            part for rules in recoveries for how in LEVELS for part in over(BLEACHED, rules, how, APART)
        ],
    }
    return [
        builder.claim(each, measures.merged(parts), note=NOTES.get(each, "")) for each, parts in found.items()
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
    """A panel for video, one for all user data."""
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
