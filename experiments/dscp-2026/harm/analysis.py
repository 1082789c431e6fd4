"""Harm to a connection of TCP CUBIC: from runs to verdicts, figures and findings."""

from matplotlib.figure import Figure

from anabranch_lab.judge.claims import Claim, Part, above, below, within
from anabranch_lab.judge.experiment import Analysis, Table, claim_builder
from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.run.grid import Grid, Sample, of_flow
from anabranch_lab.run.results import Results
from anabranch_lab.show import plots

from ..common import drawing

MEASURES = {
    "cubic": f"{of_flow('cubic', 'goodput_payload_run_bps')} / 1e6",
    "many": f"{of_flow('many', 'goodput_payload_run_bps')} / 1e6",
}
ONE = "one code point"
INDEPENDENT = "four subflows, independent"
SHARED = ("drop-tail", "CoDel")
"""Queues in which everybody waits for everybody."""
PLAIN = "four code points, plain"
NUMBERS = {"2": "two", "3": "three", "4": "four"}
LEVELS = ("0", "1")
BY_TIME = "rfc9260-rack"
"""What the scenario has by itself."""
TRIED = ("linux-rules", "reno", "every-packet")
"""Sweeps of what might be the cause of a hypothesis that does not hold."""
COUPLED = ("four subflows, Phi = n^2", "four subflows, adaptive")


def analyse(results: Results) -> Analysis:
    """What the lab asks an experiment for."""
    runs = results.grid("competing", MEASURES)
    rows = [
        [
            queue,
            how,
            runs.at("cubic", queue=queue, how=how).text(2),
            runs.at("many", queue=queue, how=how).text(2),
        ]
        for queue in runs.values("queue")
        for how in runs.values("how")
    ]
    windows, rules = results.grid("windows", MEASURES), results.grid("rules", MEASURES)
    tried = {name: results.grid(name, MEASURES) for name in TRIED}
    builder = claim_builder(results)
    return Analysis(
        claims=[*claims(builder, runs), *claims_of_windows(builder, runs, windows, rules, tried)],
        tables=[
            Table("What each gets", ["queue", "how", "TCP CUBIC, Mbit/s", "the association, Mbit/s"], rows),
            every("What each gets, by number of windows and level (RACK-TLP)", windows),
            every("What each gets, where missing reports are counted", rules),
        ],
        figures=[
            Entry(
                "figure-dscp-harm",
                "What a connection of TCP CUBIC gets beside an association with several code points",
                "Means and 95 % intervals; the link has 20 Mbit/s.",
                lambda: figure(runs),
            ),
            Entry(
                "figure-dscp-harm-windows",
                "What a connection of TCP CUBIC gets beside an association with one to four windows",
                "Means and 95 % intervals; the link has 20 Mbit/s; RACK-TLP. The line: n windows with the share that one has, each.",
                lambda: figure_of_windows(runs, windows),
            ),
        ],
        findings=[
            *(finding(runs, queue) for queue in runs.values("queue")),
            *(finding_of_windows(windows, queue) for queue in windows.values("queue")),
            *(finding_of_rules(rules, queue) for queue in rules.values("queue")),
        ],
    )


def every(title: str, runs: Grid) -> Table:
    """A row for each point."""
    rows = []
    for place in runs.cells:
        at = dict(zip(runs.axes, place, strict=True))
        rows.append([*place, runs.at("cubic", **at).text(2), runs.at("many", **at).text(2)])
    return Table(title, [*runs.axes, "TCP CUBIC, Mbit/s", "the association, Mbit/s"], rows, open=False)


def finding_of_windows(runs: Grid, queue: str) -> str:
    """What CUBIC gets, for each number of windows."""

    def at(coupling: str, windows: str) -> str:
        return " and ".join(
            runs.at("cubic", queue=queue, coupling=coupling, windows=windows, level=level).text(2)
            for level in LEVELS
        )

    told = "; ".join(
        f"{coupling} " + ", ".join(f"n = {n} {at(coupling, n)}" for n in runs.values("windows"))
        for coupling in runs.values("coupling")
    )
    return f"{queue}: TCP CUBIC gets, Mbit/s, beside n windows at level 0 and level 1: {told}."


def finding_of_rules(runs: Grid, queue: str) -> str:
    """What CUBIC gets where missing reports are counted."""
    told = "; ".join(
        f"{drawing.RECOVERY[rules]}: "
        + ", ".join(
            f"{how} {runs.at('cubic', queue=queue, rules=rules, how=how).text(2)}"
            for how in runs.values("how")
        )
        for rules in runs.values("rules")
    )
    return f"{queue}: TCP CUBIC gets, Mbit/s, beside an association with other rules: {told}."


def finding(runs: Grid, queue: str) -> str:
    """What CUBIC gets, for each way."""
    told = "; ".join(f"{how} {runs.at('cubic', queue=queue, how=how).text(2)}" for how in runs.values("how"))
    return f"{queue}: TCP CUBIC gets, Mbit/s, beside: {told}."


def claims(builder, runs: Grid) -> list[Claim]:
    """The hypotheses of claims.toml that name this experiment."""
    shared = [queue for queue in SHARED if queue in runs.values("queue")]

    def cubic(queue: str, how: str):
        return runs.sample("cubic", queue=queue, how=how)

    return [
        builder.claim(
            "DS-10",
            [
                below(
                    f"{queue}: TCP CUBIC beside {INDEPENDENT}, less 0.7 times beside {ONE}, Mbit/s",
                    0.0,
                    (cubic(queue, INDEPENDENT) - cubic(queue, ONE) * 0.7).estimate,
                )
                for queue in shared
            ],
        ),
        builder.claim(
            "DS-11",
            [
                above(
                    f"{queue}: TCP CUBIC beside {how}, less 0.85 times beside {ONE}, Mbit/s",
                    0.0,
                    (cubic(queue, how) - cubic(queue, ONE) * 0.85).estimate,
                )
                for queue in shared
                for how in COUPLED
            ],
            note="One window for all that share a bottleneck (adaptive) is within the bound at both queues; Phi = n^2 at drop-tail only.",
        ),
    ]


def shares(one: Grid, at: dict, n: int) -> Sample:
    """What CUBIC would get beside n windows each of which has what one has, of what both have beside one."""
    cubic, many = one.sample("cubic", **at), one.sample("many", **at)
    return (cubic + many) * cubic / (cubic + many * n)


def of_shares(tried: Grid, how: str, **at: str) -> str:
    """What CUBIC gets beside independent windows, of what it would get beside so many shares; as text."""
    number = next(int(n) for n, word in NUMBERS.items() if how.startswith(word))
    found = tried.sample("cubic", how=how, **at) / shares(tried, {"how": ONE, **at}, number)
    return found.estimate.text(2)


def claims_of_windows(builder, runs: Grid, windows: Grid, rules: Grid, tried: dict[str, Grid]) -> list[Claim]:
    """The hypotheses about the number of windows, the level and the loss recovery."""
    queues = windows.values("queue")

    def cubic(queue: str, coupling: str, n: str, level: str) -> Sample:
        return windows.sample("cubic", queue=queue, coupling=coupling, windows=n, level=level)

    def enough(queue: str, coupling: str, n: str, level: str) -> Part:
        one = runs.sample("cubic", queue=queue, how=ONE)
        return above(
            f"{queue}: TCP CUBIC beside {n} windows, {coupling}, level {level}, less 0.85 times beside {ONE}, Mbit/s",
            0.0,
            (cubic(queue, coupling, n, level) - one * 0.85).estimate,
        )

    def counting(queue: str, each: str, how: str) -> Sample:
        return rules.sample("cubic", queue=queue, rules=each, how=how)

    law = [
        within(
            f"{queue}: TCP CUBIC beside {n} independent windows, level {level}, {BY_TIME}, of n shares",
            0.8,
            1.2,
            (
                cubic(queue, "independent", n, level) / shares(runs, {"queue": queue, "how": ONE}, int(n))
            ).estimate,
        )
        for queue in queues
        for n in NUMBERS
        for level in LEVELS
    ] + [
        within(
            f"{queue}: TCP CUBIC beside {n} independent windows, level 0, {each}, of n shares",
            0.8,
            1.2,
            (
                counting(queue, each, f"{word} subflows, independent")
                / shares(rules, {"queue": queue, "rules": each, "how": ONE}, int(n))
            ).estimate,
        )
        for queue in queues
        for each in rules.values("rules")
        for n, word in NUMBERS.items()
    ]
    return [
        builder.claim(
            "DS-15",
            law,
            note="At CoDel four windows take more than four shares: the smaller a window of CUBIC, the less it has of what sets it "
            f"apart from Reno. A TCP with Reno's window has {of_shares(tried['reno'], INDEPENDENT)} of the law there. At drop-tail three "
            "and four windows of Linux 6.1 take less than their shares. With one of its rules as RFC 9260 has it the TCP has, beside three and "
            "four windows: "
            + "; ".join(
                f"{rule} "
                + " and ".join(
                    of_shares(tried["linux-rules"], f"{NUMBERS[n]} subflows, independent", rule=rule)
                    for n in ("3", "4")
                )
                for rule in tried["linux-rules"].values("rule")
            )
            + " of the law; none of them alone is the cause.",
        ),
        builder.claim(
            "DS-16",
            [enough(queue, "adaptive", n, level) for queue in queues for n in NUMBERS for level in LEVELS],
        ),
        builder.claim(
            "DS-17",
            [enough(queue, "Phi = n^2", "2", level) for queue in queues for level in LEVELS],
            note="At CoDel two windows leave CUBIC 86 % of what one does at both levels, and the interval reaches below 85 %.",
        ),
        builder.claim(
            "DS-18",
            [
                within(
                    f"{queue}: TCP CUBIC beside {n} windows, {coupling}, level 1 over level 0",
                    0.9,
                    1.1,
                    (cubic(queue, coupling, n, "1") / cubic(queue, coupling, n, "0")).estimate,
                )
                for queue in queues
                for coupling in windows.values("coupling")
                for n in NUMBERS
            ],
            note="At level 0 there is a SACK for every second packet of the association, at level 1 for every second of a subflow. With "
            "one for each packet four windows under Phi = n^2 at drop-tail leave CUBIC "
            + " and ".join(
                f"{tried['every-packet'].at('cubic', level=level).text(1)} Mbit/s at level {level}"
                for level in LEVELS
            )
            + ", instead of "
            + " and ".join(cubic("drop-tail", "Phi = n^2", "4", level).estimate.text(1) for level in LEVELS)
            + ".",
        ),
        builder.claim(
            "DS-19",
            [
                within(
                    f"{queue}: TCP CUBIC beside {PLAIN}, {each}, over beside {ONE}",
                    0.9,
                    1.1,
                    (counting(queue, each, PLAIN) / counting(queue, each, ONE)).estimate,
                )
                for queue in queues
                for each in rules.values("rules")
            ],
            note="Where the queue keeps the order the packets of both leave at the same times: no run differs.",
        ),
    ]


def figure_of_windows(runs: Grid, windows: Grid) -> Figure:
    """A panel for each queue, a curve for each coupling and level."""
    queues = windows.values("queue")
    numbers = [1, *(int(n) for n in windows.values("windows"))]
    drawn, panels = plots.panels(len(queues), height=4.2)
    for axes, queue, letter in zip(panels, queues, "ab", strict=False):
        one = runs.at("cubic", queue=queue, how=ONE)
        ways = {
            f"{coupling}, level {level}": [
                one,
                *(
                    windows.at("cubic", queue=queue, coupling=coupling, windows=n, level=level)
                    for n in windows.values("windows")
                ),
            ]
            for coupling in windows.values("coupling")
            for level in LEVELS
        }
        drawing.curves(axes, numbers, ways)
        law = [shares(runs, {"queue": queue, "how": ONE}, n).estimate.mean for n in numbers]
        axes.plot(numbers, law, label="n shares", color="grey", linestyle="--")
        plots.label(axes, f"({letter}) {queue}", "number of windows", "goodput of TCP CUBIC, Mbit/s")
        axes.set_xticks(numbers)
        axes.set_ylim(bottom=0)
    drawing.legend(drawn, panels[0])
    return drawn


def figure(runs: Grid) -> Figure:
    """Queues side by side, a mark for each way."""
    queues = runs.values("queue")
    drawn, (axes,) = plots.panels(1, height=4.2)
    drawing.dots(
        axes,
        queues,
        {how: [runs.at("cubic", queue=queue, how=how) for queue in queues] for how in runs.values("how")},
    )
    plots.label(axes, "one bottleneck of 20 Mbit/s", "queue", "goodput of TCP CUBIC, Mbit/s")
    axes.set_ylim(bottom=0)
    drawing.legend(drawn, axes)
    return drawn
