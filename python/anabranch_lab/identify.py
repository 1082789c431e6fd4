"""`anabranch-lab identify`: which single configuration agrees with most claims of a study, and what that rests on."""

import argparse
import fnmatch
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from . import campaign, claims, configurations, executors, folders, judging, plan, plots
from .configurations import Configuration, Score, Space
from .progress import PROGRESS, Recorded
from .results import Results
from .schedule import Schedule

NAME = "configurations"
"""Of the files that it writes: .json and .svg, .png."""


def add(commands: Any) -> None:
    """The verb and its options."""
    command = commands.add_parser(
        "identify",
        help="which single configuration agrees with most claims of a study",
        description="Runs a study under the configurations of its configurations.toml, from the plans' own on, one choice changed at a time, "
        "until no change makes more claims hold. It goes on where it stopped. Its counts are no verdicts: those come from `studies`.",
    )
    command.set_defaults(command=run)
    command.add_argument("name", help="a study of the checkout, or its folder")
    command.add_argument("--seeds", default="1..5", help="seeds of every point (default: 1..5)")
    command.add_argument(
        "--every", action="store_true", help="all configurations instead of the way to the best one"
    )
    command.add_argument("--most", type=int, help="look at no more than so many more configurations")
    command.add_argument("--out", type=Path, help="folder for results (default: out in the checkout)")
    executors.add(command)


def run(options: argparse.Namespace, console: Console) -> int:
    """Looks at one configuration after the other; says what it found after each."""
    executors.check(options)
    folder = Path(options.name)
    if not (folder / configurations.FILE).is_file():
        folder = folders.root() / "experiments" / options.name
    space = configurations.load(folder)
    plans = chosen(folder, space)
    checkout = folders.checkout(folder.resolve())
    out = options.out or (checkout or folder) / "out"
    seeds = plan.parse_seeds(options.seeds)
    looked: list[Score] = []
    waiting = list(space.every()) if options.every else configurations.climb(space, looked)
    while waiting and (options.most is None or len(looked) < options.most):
        here = waiting.pop(0)
        looked.append(look(space, here, plans, out, seeds, options, console))
        write(space, looked, seeds, out)
        console.print(table(space, looked))
        if not waiting and not options.every:
            waiting = configurations.climb(space, looked)
    draw(looked, out)
    console.print(told(looked), highlight=False)
    console.print(f"Written: {out / (NAME + '.json')}, .svg and .png")
    return 0


def chosen(folder: Path, space: Space) -> list[plan.Plan]:
    """The plans whose claims are counted."""
    study = folders.study_at(folder)
    found = [
        folders.load(folder.parent / name)
        for name in study.experiments
        if any(fnmatch.fnmatchcase(name.rsplit("/", 1)[-1], pattern) for pattern in space.experiments)
    ]
    if not found:
        raise plan.PlanError(f"{folder / configurations.FILE}: no experiment is called so")
    return found


def look(
    space: Space,
    here: Configuration,
    plans: Sequence[plan.Plan],
    out: Path,
    seeds: Sequence[int],
    options: argparse.Namespace,
    console: Console,
) -> Score:
    """Runs everything under one configuration and counts the parts of claims that hold."""
    every = [Results(each.configured(here), out / "results", seeds=seeds) for each in plans]
    executor = executors.executor(options, out)
    with Recorded(here.name, console, executor.width, out / PROGRESS) as bar:
        campaign.run([Schedule(results) for results in every], executor, bar)
    found: list[claims.Claim] = []
    for result in judging.analyse_all(every, None, options.jobs):
        if result.analysis is None:
            # A configuration may be one under which there is nothing to measure: that is no agreement.
            console.print(f"{here.name}: {result.name}: {result.problem.splitlines()[0]}", highlight=False)
            continue
        found += result.analysis.claims
    return score(space, here, found)


def score(space: Space, here: Configuration, found: Sequence[claims.Claim]) -> Score:
    """The parts of the counted claims that hold in the runs that are judged, whatever explains the others."""
    counted = [
        claim for claim in found if claim.id.startswith(space.claims) and claim.counts_as == claims.PUBLISHED
    ]
    return Score(
        here,
        {
            claim.id: (
                sum(part.holds for part in claim.parts if part.judged),
                sum(part.judged for part in claim.parts),
            )
            for claim in sorted(counted, key=lambda claim: claim.id)
        },
    )


def table(space: Space, looked: Sequence[Score]) -> Table:
    """Every configuration that was looked at, the best first."""
    shown = Table(*(factor.name for factor in space.factors), "claims that hold", "parts, %")
    for one in ranked(looked):
        choices = (choice.name for _, choice in one.configuration.chosen)
        judged = sum(1 for _, judged in one.parts.values() if judged)
        shown.add_row(*choices, f"{one.whole} of {judged}", f"{100 * one.share:.1f}")
    return shown


def ranked(looked: Sequence[Score]) -> list[Score]:
    """The best first; those that agree equally in the order in which they were looked at."""
    return sorted(looked, key=lambda one: one.rank, reverse=True)


def told(looked: Sequence[Score]) -> str:
    """The best, the second best, and the claims that tell them apart."""
    best, *others = ranked(looked)
    text = f"Best: {best.configuration.name}: {best.whole} claims hold."
    if not others:
        return text
    second = others[0]
    parted = [
        f"{claim} ({holds} of {judged} parts instead of {best.parts[claim][0]})"
        for claim, (holds, judged) in second.parts.items()
        if claim in best.parts and (holds, judged) != best.parts[claim]
    ]
    return f"{text} Second: {second.configuration.name}: {second.whole}. What separates them: {', '.join(parted) or 'nothing'}."


def write(space: Space, looked: Sequence[Score], seeds: Sequence[int], out: Path) -> None:
    """Writes configurations.json."""
    document = {
        "engine": space.engine,
        "seeds": list(seeds),
        "factors": [
            {"name": each.name, "about": each.about, "choices": [choice.name for choice in each.choices]}
            for each in space.factors
        ],
        "configurations": [
            {
                "choices": {factor: choice.name for factor, choice in one.configuration.chosen},
                "claims_hold": one.whole,
                "parts_share": round(one.share, 6),
                "claims": {
                    claim: {"parts_hold": holds, "parts_judged": judged}
                    for claim, (holds, judged) in one.parts.items()
                },
            }
            for one in ranked(looked)
        ],
    }
    out.mkdir(parents=True, exist_ok=True)
    part = out / f"{NAME}.json.part"
    part.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    part.replace(out / f"{NAME}.json")


def draw(looked: Sequence[Score], out: Path) -> None:
    """Configurations against claims: how many parts of each hold."""
    rows = ranked(looked)
    names = sorted({claim for one in rows for claim in one.parts})
    values = [
        [
            holds / judged if judged else float("nan")
            for holds, judged in (one.parts.get(n, (0, 0)) for n in names)
        ]
        for one in rows
    ]
    with plots.style():
        figure, axes = plots.plt.subplots(figsize=(6.5 + 0.17 * len(names), 2.4 + 0.28 * len(rows)))
        image = axes.imshow(values, cmap="RdYlGn", vmin=0, vmax=1, aspect="auto")
        axes.set_yticks(
            range(len(rows)), [f"{one.configuration.name}: {one.whole}" for one in rows], fontsize=7
        )
        axes.set_xticks(range(len(names)), names, rotation=90, fontsize=6)
        axes.grid(visible=False)
        plots.label(axes, "Parts of each claim that hold", "claim", "")
        figure.colorbar(image, ax=axes, label="parts that hold")
        plots.save(figure, out, NAME)
