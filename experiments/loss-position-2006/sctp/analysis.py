"""SCTP: from runs to verdicts, figures and a finding."""

from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.run.results import Results

from ..common import flows, pictures
from . import figures, judge, spurious


def analyse(results: Results) -> Analysis:
    """What the lab asks an experiment for."""
    stacks = {"KAME": flows.Table(results, "kame"), "LKSCTP": flows.Table(results, "lksctp")}
    mistakes = {
        "KAME": flows.Table(results, "kame-mistakes"),
        "LKSCTP": flows.Table(results, "lksctp-mistakes"),
    }
    records = {
        point.at["place"]: pictures.recorded(results, "recorded", 1, **point.at)
        for point, _ in results.points(results.plan.sweep("recorded"))
    }
    tried = {name: flows.Table(results, name) for name in ("kame-rules", "kame-values", "client-initial")}
    recorded = {
        (point.at["rule"], point.at["place"]): pictures.recorded(results, sweep, 1, **point.at)
        for sweep in ("kame-rules-recorded", "kame-values-recorded", "lksctp-rules-recorded")
        for point, _ in results.points(results.plan.sweep(sweep))
    }
    races = results.grid("race", {"time": flows.MEASURES["time"]})
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
            *judge.claims(claim_builder(results), stacks, mistakes, tried),
            *spurious.claims(claim_builder(results), stacks, mistakes, records, late, tried, recorded),
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
