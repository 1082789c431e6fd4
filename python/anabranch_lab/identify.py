"""`anabranch-lab identify`: which single configuration agrees with most claims of a study, and what that rests on."""

import argparse
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from . import campaign, claims, configurations, executors, folders, identified, judging, plan, plots
from .configurations import Configuration, Space
from .identified import Score
from .progress import PROGRESS, Recorded
from .results import Results
from .schedule import Schedule

NAME = "configurations"
"""Of the files that it writes, with the name of the study: .json and .svg, .png."""


def add(commands: Any) -> None:
    """The verb and its options."""
    command = commands.add_parser(
        "identify",
        help="which single configuration agrees with most claims of a study",
        description="Runs a study under the configurations of its configurations.toml, from its own on, one choice changed at a time, "
        "until no change makes more claims hold. It goes on where it stopped. Its counts are no verdicts: those come from `studies`.",
    )
    command.set_defaults(command=run)
    command.add_argument("name", help="a study of the checkout, or its folder")
    command.add_argument("--seeds", default="1..5", help="seeds of every point (default: 1..5)")
    command.add_argument(
        "--every", action="store_true", help="all configurations instead of the way to the best one"
    )
    command.add_argument(
        "--factor", action="append", default=[], help="vary only this one (may be given several times)"
    )
    command.add_argument(
        "--also",
        action="append",
        default=[],
        metavar="FACTOR",
        help="for comparison, also the other choices of this one, which the publication prints (may be given several times)",
    )
    command.add_argument("--most", type=int, help="look at no more than so many more configurations")
    command.add_argument(
        "--keep",
        action="store_true",
        help=f"write {identified.FILE} into the study's folder, for its page in the report",
    )
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
    file = out / f"{NAME}-{folder.resolve().name}"
    looked: list[Score] = []
    if options.every and options.factor:
        raise plan.PlanError(
            "--every looks at all configurations, --factor at those of one factor: name one of them"
        )
    names = [factor.name for factor in space.factors]
    printed = [factor.name for factor in space.factors if factor.printed]
    for name in options.factor:
        if name not in names:
            raise plan.PlanError(
                f"--factor {name}: {options.name} has no such factor; there are {', '.join(names)}"
            )
    for name in options.also:
        if name not in printed:
            raise plan.PlanError(
                f"--also {name}: {options.name} has no such factor that is printed; there are {', '.join(printed) or 'none'}"
            )
    waiting = list(space.every()) if options.every else identified.climb(space, looked)
    beside = list(options.also)
    while waiting and (options.most is None or len(looked) < options.most):
        here = waiting.pop(0)
        looked.append(look(space, here, plans, out, seeds, options, console))
        identified.write(space, looked, seeds, file.with_suffix(".json"))
        console.print(table(space, looked))
        if not waiting and not options.every:
            waiting = identified.climb(space, looked, options.factor)
        if not waiting and beside:
            waiting = identified.beside(space, looked, beside)
            beside = []
    draw(looked, file)
    if options.keep:
        identified.write(space, looked, seeds, folder / identified.FILE)
    console.print(identified.told(space, looked), highlight=False)
    console.print(f"Written: {file}.json, .svg and .png", highlight=False)
    return 0


def chosen(folder: Path, space: Space) -> list[plan.Plan]:
    """The plans whose claims are counted."""
    study = folders.study_at(folder)
    found = [
        folders.load(folder.parent / name)
        for name in study.experiments
        if space.counts(name.rsplit("/", 1)[-1])
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
    here = replace(here, searched=True)
    every = [Results(each.configured(here), out / "results", seeds=seeds) for each in plans]
    executor = executors.executor(options, out)
    with Recorded(here.name, console, executor.width, out / PROGRESS) as bar:
        campaign.run([Schedule(results) for results in every], executor, bar)
    found: list[claims.Claim] = []
    for result in judging.analyse_all(every, None, options.jobs):
        if result.missing:
            # They were made a moment ago: a score without them would say of the configuration what is the search's fault.
            raise plan.PlanError(f"{here.name}: {result.name}: {result.problem}")
        if result.analysis is None:
            # A configuration may be one under which there is nothing to measure: that is no agreement.
            console.print(f"{here.name}: {result.name}: {result.problem.splitlines()[0]}", highlight=False)
            continue
        found += result.analysis.claims
    return score(space, here, found)


def score(space: Space, here: Configuration, found: Sequence[claims.Claim]) -> Score:
    """The parts of the counted claims that hold by their means in the runs that are judged, whatever explains the others.

    Every part counts, also one that so few seeds would not judge: a search compares means, and gives no verdict.
    """
    counted = [
        claim for claim in found if claim.id.startswith(space.claims) and claim.counts_as == claims.PUBLISHED
    ]
    return Score(
        here,
        {
            claim.id: (
                sum(part.by_mean for part in claim.parts),
                len(claim.parts),
            )
            for claim in sorted(counted, key=lambda claim: claim.id)
        },
    )


def table(space: Space, looked: Sequence[Score]) -> Table:
    """Every configuration that was looked at, the best first."""
    shown = Table(*(factor.name for factor in space.factors), "claims that hold", "parts, %")
    for one in identified.ranked(looked):
        choices = (choice.name for _, choice in one.configuration.chosen)
        shown.add_row(*choices, f"{one.whole} of {one.judged}", f"{100 * one.share:.1f}")
    return shown


def draw(looked: Sequence[Score], file: Path) -> None:
    """Configurations against claims: how many parts of each hold."""
    rows = identified.ranked(looked)
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
        axes.set_facecolor("0.8")
        choices = ", ".join(f"{factor}: {choice}" for factor, choice in identified.varied(rows).items())
        first = textwrap.fill(f"first row: {choices}", 60)
        names_of_rows = zip(identified.labels(rows), rows, strict=True)
        axes.set_yticks(
            range(len(rows)), [f"{name}: {one.whole} hold" for name, one in names_of_rows], fontsize=7
        )
        axes.set_xticks(range(len(names)), names, rotation=90, fontsize=6)
        axes.grid(visible=False)
        plots.label(
            axes, "Parts of each claim that hold", f"claim (grey: no part of it was judged)\n{first}", ""
        )
        figure.colorbar(image, ax=axes, label="parts that hold")
        plots.save(figure, file.parent, file.name)
