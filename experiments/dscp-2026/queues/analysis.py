"""Queues that look at code points: from runs to verdicts, figures and findings."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from anabranch_lab.judge.claims import Claim, above
from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.run.grid import Grid
from anabranch_lab.run.results import Results
from anabranch_lab.show import plots

from ..common import drawing, measures

ONE = "one code point"
PLAIN = "four code points, plain"
LEVELS = ("four subflows, level 0", "four subflows, level 1")
THREE_PLAIN, TWO_PLAIN = "three code points, plain", "two code points, plain"
THREE = ("three subflows, level 0", "three subflows, level 1")
TWO = ("two subflows, level 0", "two subflows, level 1")
FOR_CALLS = ("priority", "WFQ", "L4S-like")
"""Queues that keep AF41 from waiting behind LE."""
APART = "two associations"
COUNTING = ("rfc9260", "linux-6.1")
BY_TIME = "rfc9260-rack"
SERVED = ("priority", "WFQ", "NQB", "L4S-like")
"""Queues that keep some code points from waiting behind others."""
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
    "spurious",
    "timeouts",
)


def analyse(results: Results) -> Analysis:
    """What the lab asks an experiment for."""
    runs = results.grid("together", measures.MEASURES)
    for sweep in ("fewer", "others", "apart", "tcp"):
        runs = runs.joined(results.grid(sweep, measures.MEASURES))
    by_time = {"rules": BY_TIME}
    return Analysis(
        claims=claims(claim_builder(results), runs),
        tables=[measures.table("Every point", runs, TABLE, shown=False)],
        figures=[
            Entry(
                "figure-dscp-queues-audio",
                "Audio and video beside a file: 99th percentile of their latency",
                "Means and 95 % intervals; RACK-TLP in all associations, TCP as Linux 6.1 has it.",
                lambda: figure(runs, ("audio_p99", "video_p99"), by_time, log=True),
            ),
            Entry(
                "figure-dscp-queues-number",
                "Audio, and what goes through, by number of code points",
                "Means and 95 % intervals; one is one code point, and two to four are as many in a plain association, or as many subflows.",
                lambda: by_number(runs, "priority"),
            ),
            Entry(
                "figure-dscp-queues-spurious",
                "Packets sent again in vain, by queue and loss recovery",
                "Of 1000 packets, four code points in a plain association; means and 95 % intervals.",
                lambda: by_rules(runs, "spurious", PLAIN),
            ),
            Entry(
                "figure-dscp-queues-total",
                "What goes through in all, by queue and loss recovery",
                "User data of call and file, four code points in a plain association; means and 95 % intervals. One code point: 8.6 (CoDel) to 9.6 Mbit/s.",
                lambda: by_rules(runs, "total", PLAIN),
            ),
        ],
        findings=[finding(runs, queue) for queue in runs.values("queue")],
    )


def finding(runs: Grid, queue: str) -> str:
    """Latency of audio, what goes through, what is sent again, for one queue."""

    def at(measure: str, rules: str, how: str) -> str:
        return measures.text(runs, measure, {"queue": queue, "rules": rules, "how": how})

    first = runs.values("rules")[0]
    audio = "; ".join(
        f"{how} {at('audio_p99', rules, how)}"
        for how in runs.values("how")
        for rules in (BY_TIME, "linux-6.1")
        if (queue, rules, how) in runs.cells and (rules == BY_TIME or "TCP" in how)
    )
    return (
        f"{queue}: 99 % of audio takes no longer than, ms: {audio}. With {first} four code points in a plain association carry "
        f"{at('total', first, PLAIN)} Mbit/s instead of {at('total', first, ONE)}, and {at('spurious', first, PLAIN)} of 1000 packets are sent again in vain."
    )


def claims(builder, runs: Grid) -> list[Claim]:
    """The hypotheses of claims.toml that name this experiment."""
    served = [queue for queue in SERVED if queue in runs.values("queue")]
    counting = [rules for rules in COUNTING if rules in runs.values("rules")]

    def place(queue: str, rules: str, how: str) -> dict:
        return {"queue": queue, "rules": rules, "how": how}

    def compare(
        part, measure: str, one: str, other: str, factor: float, queues: Sequence[str], rules: Sequence[str]
    ) -> list:
        return [
            part(
                runs,
                measure,
                place(queue, each, one),
                place(queue, each, other),
                factor,
                f"{queue}, {each}: {one} against {other}",
            )
            for queue in queues
            for each in rules
        ]

    everywhere, all_rules = (
        runs.values("queue"),
        [each for each in (*COUNTING, BY_TIME) if each in runs.values("rules")],
    )
    priority = [queue for queue in ("priority", "L4S-like") if queue in everywhere]
    return [
        builder.claim(
            "DS-6",
            [
                above(
                    f"{queue}, {rules}, {measures.NAMES['spurious']}",
                    0.0,
                    runs.at("spurious", **place(queue, rules, PLAIN)),
                )
                for queue in priority
                for rules in counting
            ]
            + compare(measures.no_more, "total", PLAIN, ONE, 0.9, priority, counting),
        ),
        builder.claim(
            "DS-7",
            [
                part
                for how in LEVELS
                for part in compare(measures.no_more, "audio_p99", how, ONE, 0.7, served, all_rules)
            ],
        ),
        builder.claim(
            "DS-8",
            [
                part
                for how in LEVELS
                for part in (
                    *compare(measures.no_more, "audio_p99", how, APART, 1.1, served, all_rules),
                    *compare(measures.no_less, "total", how, APART, 0.95, everywhere, all_rules),
                )
            ],
        ),
        builder.claim(
            "DS-9",
            [
                part
                for how in LEVELS
                for part in compare(measures.no_less, "total", how, ONE, 0.95, everywhere, all_rules)
            ],
        ),
        builder.claim(
            "DS-25",
            [
                part
                for three, four in zip(THREE, LEVELS, strict=True)
                for part in compare(measures.no_more, "audio_p99", three, four, 1.1, served, all_rules)
            ],
        ),
        builder.claim(
            "DS-26",
            [
                part
                for how in (TWO_PLAIN, THREE_PLAIN)
                for part in (
                    *(
                        above(
                            f"{queue}, {rules}, {how}, {measures.NAMES['spurious']}",
                            0.0,
                            runs.at("spurious", **place(queue, rules, how)),
                        )
                        for queue in priority
                        for rules in counting
                    ),
                    *compare(measures.no_more, "total", how, ONE, 0.9, priority, counting),
                )
            ],
        ),
        builder.claim(
            "DS-27",
            [
                part
                for how in TWO
                for part in (
                    *compare(
                        measures.no_more,
                        "audio_p99",
                        how,
                        APART,
                        1.1,
                        [queue for queue in FOR_CALLS if queue in everywhere],
                        all_rules,
                    ),
                    *compare(measures.no_less, "total", how, APART, 0.95, everywhere, all_rules),
                )
            ],
        ),
    ]


def figure(runs: Grid, shown: Sequence[str], at: dict, *, log: bool) -> Figure:
    """A panel for each measure, queues side by side, a mark for each way."""
    queues = runs.values("queue")
    drawn, panels = plots.panels(len(shown), height=4.2)
    for axes, measure, letter in zip(panels, shown, "abc", strict=False):
        ways = {}
        for how in runs.values("how"):
            rules = at["rules"] if (queues[0], at["rules"], how) in runs.cells else "linux-6.1"
            ways[how] = [
                measures.known(runs, measure, {"queue": queue, "rules": rules, "how": how})
                for queue in queues
            ]
        drawing.dots(axes, queues, ways)
        plots.label(
            axes, f"({letter}) {measures.NAMES[measure]}", "queue", measures.NAMES[measure], log_y=log
        )
    drawing.legend(drawn, panels[0])
    return drawn


def by_rules(runs: Grid, measure: str, how: str) -> Figure:
    """Queues side by side, a mark for each loss recovery."""
    queues = runs.values("queue")
    drawn, (axes,) = plots.panels(1, height=4.2)
    ways = {
        drawing.RECOVERY[rules]: [
            measures.known(runs, measure, {"queue": queue, "rules": rules, "how": how}) for queue in queues
        ]
        for rules in runs.values("rules")
    }
    drawing.dots(axes, queues, ways)
    plots.label(axes, how, "queue", measures.NAMES[measure])
    drawing.legend(drawn, axes)
    return drawn


def by_number(runs: Grid, queue: str) -> Figure:
    """A panel for the audio and one for everything, a curve for each kind of association and loss recovery."""
    kinds = {
        "plain": (ONE, TWO_PLAIN, THREE_PLAIN, PLAIN),
        "subflows, level 0": (ONE, TWO[0], THREE[0], LEVELS[0]),
        "subflows, level 1": (ONE, TWO[1], THREE[1], LEVELS[1]),
    }
    numbers = [1, 2, 3, 4]
    drawn, panels = plots.panels(2, height=4.2)
    for axes, measure, letter in zip(panels, ("audio_p99", "total"), "ab", strict=True):
        ways = {
            f"{kind}, {drawing.RECOVERY[rules]}": [
                measures.known(runs, measure, {"queue": queue, "rules": rules, "how": how}) for how in hows
            ]
            for kind, hows in kinds.items()
            for rules in (COUNTING[0], BY_TIME)
        }
        drawing.curves(axes, numbers, ways)
        plots.label(
            axes,
            f"({letter}) queue by {queue}",
            "number of code points",
            measures.NAMES[measure],
        )
        axes.set_xticks(numbers)
        axes.set_ylim(bottom=0)
    drawing.legend(drawn, panels[0], 3)
    return drawn
