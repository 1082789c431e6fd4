"""SCTP: from runs to grades, figures and a finding."""

from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.run.results import Results

from ..common import flows, pictures
from . import figures, judge


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    stacks = {"KAME": flows.Table(results, "kame"), "LKSCTP": flows.Table(results, "lksctp")}
    whole = results.grid("nothing-lost", {"time": flows.MEASURES["time"]})
    records = pictures.all_recorded(results, "recorded", 1)
    claims = judge.claims(
        claim_builder(results),
        stacks["KAME"],
        stacks["LKSCTP"],
        whole,
        results.grid("race", {name: flows.MEASURES[name] for name in ("time", "again")}),
        records,
    )
    more = figures.surplus(whole)
    medium = {
        name: table.at(stack="as it was", case="baseline", display="medium") for name, table in stacks.items()
    }
    return Analysis(
        claims=claims,
        figures=figures.all_figures(stacks, whole, records, {claim.id: claim for claim in claims}),
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
