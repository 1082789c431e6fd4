"""Harm to a connection of TCP CUBIC: from runs to grades, figures and findings."""

from matplotlib.figure import Figure

from anabranch_lab.judge.claims import Claim, ClaimBuilder
from anabranch_lab.judge.experiment import Analysis, Table, claim_builder
from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.run.grid import Grid, Sample, of_flow
from anabranch_lab.run.results import Results
from anabranch_lab.show import plots
from anabranch_lab.stats import Estimate

from ..common import drawing, measures

MEASURES = {
    "cubic": f"{of_flow('cubic', 'goodput_payload_run_bps')} / 1e6",
    "many": f"{of_flow('many', 'goodput_payload_run_bps')} / 1e6",
}
ONE = "one code point"
INDEPENDENT = "four subflows, independent"
PLAIN = "four code points, plain"
NUMBERS = {"2": "two", "3": "three", "4": "four"}
LEVELS = ("0", "1")
BY_TIME = "rfc9260-rack"
"""The engine of the scenario, where no sweep sets another."""
COUPLED = ("four subflows, Phi = n^2", "four subflows, adaptive")


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
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
    windows, rules, apart = (results.grid(name, MEASURES) for name in ("windows", "rules", "associations"))
    return Analysis(
        claims=claims(claim_builder(results), runs, windows, rules, apart),
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
            *(finding_of_associations(apart, queue) for queue in apart.values("queue")),
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
    """A sentence on the goodput of CUBIC, for each number of windows."""

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
    """A sentence on the goodput of CUBIC where missing reports are counted."""
    told = "; ".join(
        f"{drawing.RECOVERY[rules]}: "
        + ", ".join(
            f"{how} {runs.at('cubic', queue=queue, rules=rules, how=how).text(2)}"
            for how in runs.values("how")
        )
        for rules in runs.values("rules")
    )
    return f"{queue}: TCP CUBIC gets, Mbit/s, beside an association with other rules: {told}."


def finding_of_associations(runs: Grid, queue: str) -> str:
    """A sentence on the goodput of CUBIC beside several associations."""
    told = ", ".join(
        f"{n} {runs.at('cubic', queue=queue, associations=n).text(2)}" for n in runs.values("associations")
    )
    return f"{queue}: TCP CUBIC gets, Mbit/s, beside so many associations of one code point each: {told}."


def finding(runs: Grid, queue: str) -> str:
    """A sentence on the goodput of CUBIC, for each way."""
    told = "; ".join(f"{how} {runs.at('cubic', queue=queue, how=how).text(2)}" for how in runs.values("how"))
    return f"{queue}: TCP CUBIC gets, Mbit/s, beside: {told}."


def shares(one: Grid, at: dict, n: int) -> Sample:
    """CUBIC's goodput beside n windows if each had the goodput ratio of one: a part of the sum that both have beside one window."""
    cubic, many = one.sample("cubic", **at), one.sample("many", **at)
    return (cubic + many) * cubic / (cubic + many * n)


def claims(builder: ClaimBuilder, runs: Grid, windows: Grid, rules: Grid, apart: Grid) -> list[Claim]:
    """The hypotheses of claims.toml that name this experiment."""
    queues, couplings = windows.values("queue"), windows.values("coupling")
    everywhere = [(queue, n, level) for queue in queues for n in NUMBERS for level in LEVELS]

    def one(queue: str, how: str = ONE) -> Sample:
        return runs.sample("cubic", queue=queue, how=how)

    def beside(queue: str, n: str, level: str, coupling: str) -> Sample:
        return windows.sample("cubic", queue=queue, coupling=coupling, windows=n, level=level)

    def counting(queue: str, each: str, how: str) -> Sample:
        return rules.sample("cubic", queue=queue, rules=each, how=how)

    def of_one(queue: str, how: str) -> dict[str, Estimate]:
        return {f"{queue}: {how} over {ONE}: goodput of TCP CUBIC": one(queue, how).over(one(queue))}

    def of_windows(queue: str, n: str, level: str, coupling: str) -> dict[str, Estimate]:
        told = f"{queue}: {n} windows, {coupling}, level {level}, over {ONE}: goodput of TCP CUBIC"
        return {told: beside(queue, n, level, coupling).over(one(queue))}

    law = {
        f"{queue}, {n} windows, level {level}, {BY_TIME}: TCP CUBIC over n shares, less 1": beside(
            queue, n, level, "independent"
        )
        / shares(runs, {"queue": queue, "how": ONE}, int(n))
        - 1
        for queue, n, level in everywhere
    } | {
        f"{queue}, {n} windows, level 0, {each}: TCP CUBIC over n shares, less 1": counting(
            queue, each, f"{word} subflows, independent"
        )
        / shares(rules, {"queue": queue, "rules": each, "how": ONE}, int(n))
        - 1
        for queue in queues
        for each in rules.values("rules")
        for n, word in NUMBERS.items()
    }
    levels = {
        f"{queue}, {n} windows, {coupling}: level 1 over level 0, less 1": beside(queue, n, "1", coupling)
        / beside(queue, n, "0", coupling)
        - 1
        for queue in queues
        for coupling in couplings
        for n in NUMBERS
    }
    plain = {
        f"{queue}, {each}: {PLAIN}: over beside {ONE}, less 1": counting(queue, each, PLAIN)
        / counting(queue, each, ONE)
        - 1
        for queue in queues
        for each in rules.values("rules")
    }
    alone = {}
    for queue in apart.values("queue"):
        for n in apart.values("associations"):
            beside_them = apart.sample("cubic", queue=queue, associations=n)
            if n == max(apart.values("associations")):
                alone[f"{queue}: {n} associations over {ONE}: goodput of TCP CUBIC"] = beside_them.over(
                    one(queue)
                )
            alone[f"{queue}, {n}: associations over independent windows, less 1"] = (
                beside_them / beside(queue, str(n), "0", "independent") - 1
            )
    found = {
        "DS-10": measures.merged(of_one(queue, INDEPENDENT) for queue in queues),
        "DS-11": measures.merged(of_one(queue, how) for queue in queues for how in COUPLED),
        "DS-15": law,
        "DS-16": measures.merged(of_windows(*each, "adaptive") for each in everywhere),
        "DS-17": measures.merged(of_windows(*each, "Phi = n^2") for each in everywhere if each[1] == "2"),
        "DS-18": levels,
        "DS-19": plain,
        "DS-30": alone,
    }
    return [builder.claim(each, parts) for each, parts in found.items()]


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
