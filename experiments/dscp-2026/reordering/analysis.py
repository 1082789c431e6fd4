"""Reordering between code points: from runs to grades, figures and findings."""

from matplotlib.figure import Figure

from anabranch_lab.judge.claims import Claim, ClaimBuilder
from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.run.grid import Grid
from anabranch_lab.run.results import Results
from anabranch_lab.show import plots
from anabranch_lab.stats import Estimate

from ..common import drawing, measures

SHORT = 20
"""Delay of the call's way, ms: the further delay of the file's way causes the reordering."""
PLAIN = "two code points, plain"
ONE = "one code point"
LEVELS = ("two subflows, level 0", "two subflows, level 1")
COUNTING = ("rfc9260", "linux-6.1")
"""Loss recovery that counts missing reports."""
BY_TIME = "rfc9260-rack"
NOTES = {
    "DS-3": "Where more than one code point carries is measured, it is what had waited since the first ten seconds (DS-28).",
    "DS-5": "Max.Burst: of a frame of 12 kB four packets leave at once, and the rest wait a round trip for a SACK. At level 0 any other "
    "subflow's SACK comes before.",
}


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    runs = results.grid("delays", measures.MEASURES)
    start = results.grid("start", measures.MEASURES)
    shown = ("spurious", "total", "audio_p99", "video_p99", "video_in_time")
    return Analysis(
        claims=claims(claim_builder(results), runs, start),
        tables=[
            measures.table(
                "Every point",
                runs,
                shown,
                f"later: delay of the file's way, ms; the call's has {SHORT} ms. Nothing is lost by the network.",
                shown=False,
            ),
            measures.table("The first ten seconds, RACK-TLP", start, shown, shown=False),
        ],
        figures=[
            Entry(
                "figure-dscp-reordering-goodput",
                "What a plain association loses when two code points have different ways",
                "User data of call and file over the difference in delay, from 10 to 60 s; means and 95 % intervals; nothing is lost by the "
                "network, and 9.96 Mbit/s are offered. More than that in (c) is what had waited since the first ten seconds.",
                lambda: figure(runs, "total"),
                front=True,
            ),
            Entry(
                "figure-dscp-reordering-spurious",
                "Packets sent again in vain when two code points have different ways",
                "Of 1000 packets; means and 95 % intervals over the difference in delay. The network loses nothing.",
                lambda: figure(runs, "spurious"),
            ),
            Entry(
                "figure-dscp-reordering-video",
                "How long video takes when two code points have different ways",
                "99th percentile; means and 95 % intervals over the difference in delay. Video takes the shorter way.",
                lambda: figure(runs, "video_p99"),
            ),
        ],
        findings=[
            *(finding(runs, rules) for rules in runs.values("rules")),
            finding(start, BY_TIME, "In the first ten seconds, losses"),
        ],
        sentence=sentence(runs),
    )


def sentence(runs: Grid) -> str:
    """The main findings in words."""
    later = runs.values("later")[-1]

    def at(measure: str, how: str) -> str:
        return measures.text(runs, measure, {"later": later, "rules": COUNTING[0], "how": how})

    return (
        f"An association with two code points, of which one has a path that is {later - SHORT:g} ms longer, carries {at('total', PLAIN)} "
        f"Mbit/s and sends {at('spurious', PLAIN)} of 1000 packets again in vain, though nothing is lost; with a subflow for each "
        f"code point it carries {at('total', LEVELS[0])} Mbit/s, and sends {at('spurious', LEVELS[0])} in vain."
    )


def finding(runs: Grid, rules: str, begins: str = "Losses") -> str:
    """A sentence on throughput and spurious retransmissions at the largest difference of delay."""
    later = runs.values("later")[-1]

    def at(measure: str, how: str) -> str:
        return measures.text(runs, measure, {"later": later, "rules": rules, "how": how})

    told = "; ".join(
        f"{how} {at('total', how)} Mbit/s, {at('spurious', how)} of 1000 packets sent again in vain"
        for how in runs.values("how")
    )
    return f"{begins} found as in {rules}, the file's path {later - SHORT:g} ms longer than the call's, nothing lost: {told}."


def claims(builder: ClaimBuilder, runs: Grid, start: Grid) -> list[Claim]:
    """The hypotheses of claims.toml that name this experiment."""
    every, rules = runs.values("later"), runs.values("rules")
    later = [each for each in every if each - SHORT >= 10]
    counting = [(delay, each) for delay in later for each in COUNTING if each in rules]
    subflows = [(delay, each, how) for delay in every for each in rules for how in LEVELS]

    def place(delay: float, rules: str, how: str) -> dict:
        return {"later": delay, "rules": rules, "how": how}

    def over(
        measure: str, delay: float, rules: str, how: str, other: dict | None = None
    ) -> dict[str, Estimate]:
        other = other or place(delay, rules, ONE)
        told = f"{rules}, {delay - SHORT:g} ms: {how} over {other['how'] if other['how'] == ONE else 'no difference'}"
        return measures.over(runs, measure, place(delay, rules, how), other, told)

    def vain(delay: float, rules: str) -> dict[str, Estimate]:
        return measures.at(runs, "spurious", place(delay, rules, PLAIN), f"{rules}, {delay - SHORT:g} ms")

    latest = start.values("later")[-1]
    first = {how: place(latest, BY_TIME, how) for how in (ONE, PLAIN, *LEVELS)}
    told = f"the first ten seconds, {latest - SHORT:g} ms"
    found = {
        "DS-1": [vain(*each) for each in counting],
        "DS-2": [over("total", *each, PLAIN) for each in counting],
        "DS-3": [
            part
            for delay in every
            for part in (
                over("total", delay, BY_TIME, PLAIN),
                vain(delay, BY_TIME),
                over("audio_p99", delay, BY_TIME, PLAIN),
            )
        ],
        "DS-4": [over("total", *each) for each in subflows],
        "DS-5": [
            over("video_p99", delay, each, how, place(SHORT, each, how))
            for delay, each, how in subflows
            if delay in later
        ],
        "DS-28": [
            measures.at(start, "spurious", first[PLAIN], f"{told}: {PLAIN}"),
            *(
                measures.over(start, "total", first[how], first[ONE], f"{told}: {how} over {ONE}")
                for how in (PLAIN, *LEVELS)
            ),
        ],
    }
    return [
        builder.claim(each, measures.merged(parts), note=NOTES.get(each, "")) for each, parts in found.items()
    ]


def figure(runs: Grid, measure: str) -> Figure:
    """A panel for each recovery, a curve for each way."""
    rules = runs.values("rules")
    drawn, panels = plots.panels(len(rules))
    later = runs.values("later")
    for axes, one, letter in zip(panels, rules, "abc", strict=False):
        ways: dict[str, list[Estimate | None]] = {
            how: [measures.known(runs, measure, {"later": each, "rules": one, "how": how}) for each in later]
            for how in runs.values("how")
        }
        drawing.curves(axes, [each - SHORT for each in later], ways)
        plots.label(
            axes,
            f"({letter}) {drawing.RECOVERY[one]}",
            "the file's way is longer by, ms",
            measures.NAMES[measure],
        )
        # The axis begins at 0, so that a difference of a tenth does not look larger than it is.
        axes.set_ylim(bottom=0)
    drawing.legend(drawn, panels[0])
    return drawn
