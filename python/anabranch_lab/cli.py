"""`anabranch-lab list | run | claims | report`."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from . import claims, experiment, plan, report
from .progress import Bar
from .sweep import Runner

STYLE = {claims.REPRODUCED: "green", claims.NOT_REPRODUCED: "red", claims.EXPLAINED: "yellow"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; 0 when it worked, 1 when it did not, 130 when it was interrupted."""
    options = _parser().parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else 150)
    try:
        return options.command(options, console)
    except KeyboardInterrupt:
        console.print("interrupted: every finished run is on disk, the same command goes on from there")
        return 130
    except (plan.PlanError, FileNotFoundError, ValueError) as error:
        print(f"anabranch-lab: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="anabranch-lab", description="Runs experiments and judges claims.")
    parser.set_defaults(experiments=None)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    listing = commands.add_parser("list", help="every experiment, its sweeps and how many runs are on disk")
    listing.set_defaults(command=_list)

    run = commands.add_parser("run", help="make the runs of an experiment that are not on disk yet")
    run.set_defaults(command=_run)
    run.add_argument("name", help="an experiment: see `anabranch-lab list`")
    run.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="runs at the same time")

    judge = commands.add_parser("claims", help="judge the claims of the studies, write claims.json")
    judge.set_defaults(command=_claims)
    judge.add_argument("--study", dest="name", help="one experiment only")
    judge.add_argument("--table", action="store_true", help="print the experiment's own table too")

    html = commands.add_parser("report", help="judge, draw and write one self-contained HTML file")
    html.set_defaults(command=_report)
    html.add_argument("--study", dest="name", help="one experiment only")

    for command in (listing, run, judge, html):
        command.add_argument("--out", type=Path, help="folder for results (default: out in the checkout)")
        command.add_argument("--seeds", help="instead of the plan's, such as 1..30")
        command.add_argument(
            "--quick", action="store_true", help="the plan's few seeds: a look, not a result"
        )
    return parser


def _runners(options: argparse.Namespace) -> list[Runner]:
    root = experiment.root()
    folder = root / "experiments"
    name = getattr(options, "name", None)
    seeds = plan.parse_seeds(options.seeds) if options.seeds else None
    return [
        Runner(
            experiment.find(folder, each),
            _out(options) / "results" / each,
            seeds=seeds,
            quick=options.quick,
        )
        for each in ([name] if name else experiment.names(folder))
    ]


def _out(options: argparse.Namespace) -> Path:
    return options.out or experiment.root() / "out"


def _list(options: argparse.Namespace, console: Console) -> int:
    for runner in _runners(options):
        table = RichTable(
            "sweep", "runs", "on disk", "what", title=f"{runner.plan.name}: {runner.plan.title}"
        )
        for sweep in runner.plan.sweeps:
            jobs = runner.jobs([sweep])
            done = sum(runner.store.has(sweep.name, job.key, job.seed, job.kinds) for job in jobs)
            table.add_row(sweep.name, str(len(jobs)), str(done), escape(sweep.about))
        console.print(table)
    return 0


def _run(options: argparse.Namespace, console: Console) -> int:
    if options.jobs < 1:
        raise ValueError(f"--jobs {options.jobs}: at least 1")
    (runner,) = _runners(options)
    with Bar(runner.plan.name, console) as bar:
        made = runner.run(options.jobs, bar)
    console.print(f"{runner.plan.name}: {made} runs made, all {len(runner.jobs())} on disk")
    return 0


def _claims(options: argparse.Namespace, console: Console) -> int:
    found: list[claims.Claim] = []
    for runner in _runners(options):
        analysis = experiment.analyse(runner)
        found += analysis.claims
        if options.table and analysis.headline:
            console.print(_rich(analysis.headline))
        console.print(claims_table(runner.plan.title, analysis.claims))
    path = _out(options) / "claims.json"
    claims.write(found, path)
    _summary(found, path, console)
    return 0


def _report(options: argparse.Namespace, console: Console) -> int:
    sections = []
    found: list[claims.Claim] = []
    for runner in _runners(options):
        console.print(f"{runner.plan.name}: judging and drawing ...")
        analysis = experiment.analyse(runner)
        sections.append((runner, analysis))
        found += analysis.claims
        if analysis.headline:
            console.print(_rich(analysis.headline))
    claims.write(found, _out(options) / "claims.json")
    path = report.write(sections, _out(options) / "report")
    _summary(found, path, console)
    return 0


def claims_table(title: str, found: Sequence[claims.Claim]) -> RichTable:
    """One line for every part of every claim."""
    table = RichTable(title=f"Claims: {title}", show_lines=False)
    for name in ("claim", "at", "expected", "measured", "± 95 %", "part", "verdict"):
        table.add_column(name, overflow="fold")
    for claim in found:
        for index, part in enumerate(claim.parts):
            first = index == 0
            table.add_row(
                claim.id if first else "",
                escape(part.at),
                escape(_text(part.expected)),
                escape(_text(part.measured)),
                "" if part.ci95 is None else f"{part.ci95:.2f}",
                "holds" if part.holds else "[red]fails[/]",
                f"[{STYLE[claim.verdict]}]{claim.verdict}[/]" if first else "",
            )
        table.add_section()
    return table


def _rich(table: experiment.Table) -> RichTable:
    rich = RichTable(
        *[escape(name) for name in table.head], title=escape(table.title), caption=escape(table.note)
    )
    for row in table.rows:
        rich.add_row(*[escape(cell) for cell in row])
    return rich


def _text(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.2f}"


def _summary(found: Sequence[claims.Claim], path: Path, console: Console) -> None:
    counted = ", ".join(f"{number} {verdict}" for verdict, number in claims.count(found).items())
    console.print(f"{len(found)} claims: {counted}. Written: {path}")


if __name__ == "__main__":
    sys.exit(main())
