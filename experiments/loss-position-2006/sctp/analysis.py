"""SCTP: from runs to verdicts, figures and a finding."""

from anabranch_lab.experiment import Analysis, book
from anabranch_lab.sweep import Runner

from ..common import flows, pictures
from . import figures, judge, spurious


def analyse(runner: Runner) -> Analysis:
    """What the lab asks an experiment for."""
    stacks = {"KAME": flows.Table(runner, "kame"), "LKSCTP": flows.Table(runner, "lksctp")}
    mistakes = {
        "KAME": flows.Table(runner, "kame-mistakes"),
        "LKSCTP": flows.Table(runner, "lksctp-mistakes"),
    }
    records = {
        point.at["place"]: pictures.recorded(runner, "recorded", 1, **point.at)
        for point, _ in runner.points(runner.plan.sweep("recorded"))
    }
    races = runner.grid("race", {"time": flows.MEASURES["time"]})
    late = {
        case: (
            races.sample("time", case=case, position=2) - races.sample("time", case=case, position=0)
        ).values
        for case in ("baseline", "minimum RTO 200 ms")
    }
    more = figures.surplus(stacks)
    medium = {
        name: table.at(stack="as it was", case="baseline", set="medium") for name, table in stacks.items()
    }
    return Analysis(
        claims=[
            *judge.claims(book(runner), stacks, mistakes),
            *spurious.claims(book(runner), stacks, mistakes, records, late),
        ],
        figures=figures.all_figures(stacks, records),
        tables=[
            pictures.ours(
                table,
                {case: {"stack": "as it was", "case": case} for case in judge.CASES},
                f"Our own transmission times: {name} as it was",
            )
            for name, table in stacks.items()
        ],
        findings=[
            f"Without a loss KAME needs {min(min(cells.values()) for cells in more.values()):.0f} to "
            f"{max(max(cells.values()) for cells in more.values()):.0f} % more than LKSCTP; {more[10000][5]:.0f} % at 10 Mbit/s "
            "and 5 ms.",
            *(
                f"{name} waits for a timer at medium when one of {flows.text(row.waits())} is lost."
                for name, row in medium.items()
            ),
        ],
    )
