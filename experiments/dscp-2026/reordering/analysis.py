"""Reordering between code points: from runs to verdicts, figures and findings."""

from matplotlib.figure import Figure

from anabranch_lab.judge.claims import Claim, above, below
from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.run.grid import Grid
from anabranch_lab.run.results import Results
from anabranch_lab.show import plots
from anabranch_lab.stats import Estimate

from ..common import drawing, measures

SHORT = 20
"""Delay of the call's way, ms: what the file's way has beyond it is the reordering."""
PLAIN = "two code points, plain"
ONE = "one code point"
LEVELS = ("two subflows, level 0", "two subflows, level 1")
COUNTING = ("rfc9260", "linux-6.1")
"""Loss recovery that counts missing reports."""
BY_TIME = "rfc9260-rack"


def analyse(results: Results) -> Analysis:
    """What the lab asks an experiment for."""
    runs = results.grid("delays", measures.MEASURES)
    start, builder = results.grid("start", measures.MEASURES), claim_builder(results)
    shown = ("spurious", "total", "audio_p99", "video_p99", "video_in_time")
    return Analysis(
        claims=[*claims(builder, runs), start_claim(builder, start)],
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
    """The outcome for somebody in a hurry."""
    later = runs.values("later")[-1]

    def at(measure: str, how: str) -> str:
        return measures.text(runs, measure, {"later": later, "rules": COUNTING[0], "how": how})

    return (
        f"An association with two code points, of which one has a path that is {later - SHORT:g} ms longer, carries {at('total', PLAIN)} "
        f"Mbit/s and sends {at('spurious', PLAIN)} of 1000 packets again in vain, though nothing is lost; with a subflow for each "
        f"code point it carries {at('total', LEVELS[0])} Mbit/s, and sends {at('spurious', LEVELS[0])} in vain."
    )


def finding(runs: Grid, rules: str, begins: str = "Losses") -> str:
    """What remains at the largest difference."""
    later = runs.values("later")[-1]

    def at(measure: str, how: str) -> str:
        return measures.text(runs, measure, {"later": later, "rules": rules, "how": how})

    told = "; ".join(
        f"{how} {at('total', how)} Mbit/s, {at('spurious', how)} of 1000 packets sent again in vain"
        for how in runs.values("how")
    )
    return f"{begins} found as in {rules}, the file's path {later - SHORT:g} ms longer than the call's, nothing lost: {told}."


def claims(builder, runs: Grid) -> list[Claim]:
    """The hypotheses of claims.toml that name this experiment."""
    later = [each for each in runs.values("later") if each - SHORT >= 10]
    counting = [rules for rules in COUNTING if rules in runs.values("rules")]

    def place(delay: float, rules: str, how: str) -> dict:
        return {"later": delay, "rules": rules, "how": how}

    def told(delay: float, rules: str) -> str:
        return f"{rules}, {delay - SHORT:g} ms"

    return [
        builder.claim(
            "DS-1",
            [
                above(
                    f"{told(delay, rules)}, {measures.NAMES['spurious']}",
                    0.0,
                    runs.at("spurious", **place(delay, rules, PLAIN)),
                )
                for delay in later
                for rules in counting
            ],
        ),
        builder.claim(
            "DS-2",
            [
                measures.no_more(
                    runs,
                    "total",
                    place(delay, rules, PLAIN),
                    place(delay, rules, ONE),
                    0.8,
                    told(delay, rules),
                )
                for delay in later
                for rules in counting
            ],
        ),
        builder.claim(
            "DS-3",
            [
                measures.no_less(
                    runs,
                    "total",
                    place(delay, BY_TIME, PLAIN),
                    place(delay, BY_TIME, ONE),
                    0.95,
                    told(delay, BY_TIME),
                )
                for delay in runs.values("later")
            ]
            + [
                part
                for delay in runs.values("later")
                for part in (
                    below(
                        f"{told(delay, BY_TIME)}, {measures.NAMES['spurious']}",
                        1.0,
                        runs.at("spurious", **place(delay, BY_TIME, PLAIN)),
                    ),
                    measures.no_more(
                        runs,
                        "audio_p99",
                        place(delay, BY_TIME, PLAIN),
                        place(delay, BY_TIME, ONE),
                        1.1,
                        told(delay, BY_TIME),
                    ),
                )
            ],
            note="Where more than one code point carries is measured, it is what had waited since the first ten seconds (DS-28).",
        ),
        builder.claim(
            "DS-4",
            [
                measures.no_less(
                    runs,
                    "total",
                    place(delay, rules, how),
                    place(delay, rules, ONE),
                    0.99,
                    f"{told(delay, rules)}, {how}",
                )
                for delay in runs.values("later")
                for rules in runs.values("rules")
                for how in LEVELS
            ],
        ),
        builder.claim(
            "DS-5",
            [
                measures.no_more(
                    runs,
                    "video_p99",
                    place(delay, rules, how),
                    place(SHORT, rules, how),
                    1.2,
                    f"{told(delay, rules)}, {how}",
                )
                for delay in later
                for rules in runs.values("rules")
                for how in LEVELS
            ],
            note="Max.Burst: of a frame of 12 kB four packets leave at once, and the rest wait a round trip for a "
            "SACK. At level 0 any other subflow's SACK comes before. Tried at level 1 behind a priority "
            "queue, one seed each: no Max.Burst, pacing, a SACK for each packet, the rules of Linux 6.1; each "
            "has 26 ms instead of 51.",
        ),
    ]


def start_claim(builder, start: Grid) -> Claim:
    """The hypothesis about the first ten seconds."""
    later = start.values("later")[-1]

    def place(how: str) -> dict:
        return {"later": later, "rules": BY_TIME, "how": how}

    told = f"the first ten seconds, {BY_TIME}, {later - SHORT:g} ms"
    return builder.claim(
        "DS-28",
        [
            above(f"{told}, {measures.NAMES['spurious']}", 0.0, start.at("spurious", **place(PLAIN))),
            measures.no_more(start, "total", place(PLAIN), place(ONE), 0.8, f"{told}, {PLAIN}"),
            *(
                measures.no_less(start, "total", place(how), place(ONE), 0.99, f"{told}, {how}")
                for how in LEVELS
            ),
        ],
    )


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
        # What differs by a tenth is not to look as if it were everything.
        axes.set_ylim(bottom=0)
    drawing.legend(drawn, panels[0])
    return drawn
