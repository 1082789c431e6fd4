"""Queues that look at code points: from runs to grades, figures and findings."""

from collections.abc import Iterable, Sequence

from matplotlib.figure import Figure

from anabranch_lab.judge.claims import Claim, ClaimBuilder
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
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
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
    """Latency of audio, throughput and spurious retransmissions of one queue, in words."""

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


def claims(builder: ClaimBuilder, runs: Grid) -> list[Claim]:
    """The hypotheses of claims.toml that name this experiment."""
    there, known = runs.values("queue"), runs.values("rules")
    served, calls, priority = (
        [queue for queue in names if queue in there]
        for names in (SERVED, FOR_CALLS, ("priority", "L4S-like"))
    )
    rules = [each for each in (*COUNTING, BY_TIME) if each in known]

    def place(queue: str, rules: str, how: str) -> dict:
        return {"queue": queue, "rules": rules, "how": how}

    def over(
        measure: str, pairs: Iterable[tuple[str, str]], queues: Sequence[str], rules: Sequence[str] = rules
    ):
        return [
            measures.over(
                runs,
                measure,
                place(queue, each, one),
                place(queue, each, other),
                f"{queue}, {each}: {one} over {other}",
            )
            for one, other in pairs
            for queue in queues
            for each in rules
        ]

    def reordered(ways: Sequence[str]):
        counting = [each for each in COUNTING if each in known]
        vain = [
            measures.at(runs, "spurious", place(queue, each, how), f"{queue}, {each}: {how}")
            for how in ways
            for queue in priority
            for each in counting
        ]
        return vain + over("total", [(how, ONE) for how in ways], priority, counting)

    beside_one = [(how, ONE) for how in LEVELS]
    found = {
        "DS-6": reordered([PLAIN]),
        "DS-7": over("audio_p99", beside_one, served),
        "DS-8": over("audio_p99", [(how, APART) for how in LEVELS], served)
        + over("total", [(how, APART) for how in LEVELS], there),
        "DS-9": over("total", beside_one, there),
        "DS-25": over("audio_p99", zip(THREE, LEVELS, strict=True), served),
        "DS-26": reordered([TWO_PLAIN, THREE_PLAIN]),
        "DS-27": over("audio_p99", [(how, APART) for how in TWO], calls)
        + over("total", [(how, APART) for how in TWO], there),
    }
    return [builder.claim(each, measures.merged(parts)) for each, parts in found.items()]


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
