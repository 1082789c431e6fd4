"""X-11: whether code points that share a bottleneck have one window, and others have not."""

import functools
import operator

from matplotlib.figure import Figure

from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.run.grid import Grid, Sample, of_flow
from anabranch_lab.run.results import Results
from anabranch_lab.show import plots
from anabranch_lab.stats import Estimate

SUBFLOW = "kind = 'subflow' AND name = 'sf'"
WRONG = {
    "one": "window_of <> 0",
    # The first half of the subflows has the window of subflow 0, the second half that of its own first subflow.
    "alike": "window_of <> CASE WHEN subflow < codes::INT / 2 THEN 0 ELSE codes::INT // 2 END",
}
WRONG["unlike"] = WRONG["alike"]
"""SQL: the condition that a subflow has the window of a wrong group."""
TOLD = {"one": "one bottleneck", "alike": "two that are alike", "unlike": "two that differ"}
GOAL = 0.95


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    runs = {
        sweep: results.grid(
            sweep,
            {
                "right": f"(sum(({wrong})::INT) FILTER ({SUBFLOW}) = 0)::INT",
                "goodput": of_flow("sf", "goodput_payload_run_bps"),
            },
        )
        for sweep, wrong in WRONG.items()
    }
    return Analysis(
        claims=[
            claim_builder(results).claim(
                "X-11",
                {
                    f"{TOLD[sweep]}, level {level}": share(grid, level)
                    for sweep, grid in runs.items()
                    for level in grid.values("level")
                },
            )
        ],
        figures=[
            Entry(
                "right",
                "X-11: share of the runs in which the groups of code points are right at the end",
                "1 is all of them. Rows are links, columns levels, competitors and the number of code points.",
                lambda: figure(runs),
            )
        ],
        findings=findings(runs),
    )


def cells(runs: Grid, level: str) -> list[tuple[str, str, str, Sample]]:
    """Link, competitor, number of code points, and whether the groups were right in each run."""
    return [
        (network, other, codes, runs.sample("right", level=level, network=network, other=other, codes=codes))
        for network in runs.values("network")
        for other in runs.values("other")
        for codes in runs.values("codes")
    ]


def share(runs: Grid, level: str) -> Estimate:
    """Over all cases: the share of those that are right, for each seed that all have, and its mean."""
    found = [sample for *_, sample in cells(runs, level)]
    return (functools.reduce(operator.add, found) / len(found)).estimate


def findings(runs: dict[str, Grid]) -> list[str]:
    """How often the groups are right, and the cases where they are not, in words."""
    told = []
    for sweep, grid, level in [(s, g, level) for s, g in runs.items() for level in g.values("level")]:
        every = cells(grid, level)
        worst = sorted(every, key=lambda cell: cell[3].estimate.mean)
        wrong = [
            f"{network}, beside {other}, {codes} code points: {100 * sample.estimate.mean:.0f} %"
            for network, other, codes, sample in worst
            if sample.estimate.mean < GOAL
        ]
        where = "; ".join(wrong) if wrong else "nowhere less than 95 %"
        told.append(
            f"Groups are right, {TOLD[sweep]}, level {level}: {100 * share(grid, level).mean:.1f} % of the runs of {len(every)} cases ({where})."
        )
    return told


def figure(runs: dict[str, Grid]) -> Figure:
    """One heat map of all cases."""
    rows: list[tuple[str, list[float]]] = []
    columns: list[str] = []
    for sweep, grid in runs.items():
        columns = [
            f"level {level}: {other}, {codes} code points"
            for level in grid.values("level")
            for other in grid.values("other")
            for codes in grid.values("codes")
        ]
        every = [cell for level in grid.values("level") for cell in cells(grid, level)]
        for network in grid.values("network"):
            values = [sample.estimate.mean for name, *_, sample in every if name == network]
            rows.append((f"{TOLD[sweep]}: {network}", values))
    drawn, (axes,) = plots.panels(1, height=1.8 + 0.3 * len(rows))
    drawn.set_figwidth(5.5 + 0.45 * len(columns))
    image = axes.imshow([values for _, values in rows], cmap="RdYlGn", vmin=0, vmax=1, aspect="auto")
    for y, (_, values) in enumerate(rows):
        for x, value in enumerate(values):
            axes.text(x, y, f"{value:.2g}", ha="center", va="center", fontsize=7)
    axes.set_yticks(range(len(rows)), [name for name, _ in rows], fontsize=7)
    axes.set_xticks(range(len(columns)), columns, rotation=90, fontsize=7)
    axes.grid(visible=False)
    drawn.colorbar(image, ax=axes, label="share of the runs", fraction=0.03)
    return drawn
