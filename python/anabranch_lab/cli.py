"""`anabranch-lab new | list | plan | run | claims | report | studies | bundle | rerun | prune`."""

import argparse
import contextlib
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from .judge import analyses, claims, experiment, grades, toml_claims
from .models import command as model
from .plan import catalogue, folders, lookup, new, plan
from .run import campaign, executors, simulation, store, sweep, usual_seeds
from .run.progress import PROGRESS, Recorded, duration
from .run.results import Results
from .run.schedule import Schedule
from .show import bundle, completions, report, serve, tables
from .verbs import VERBS, top


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command. 0: done; 1: a run failed, a claim has no grade, or something could not be written; 2: a wrong option,
    file or plan; 130: interrupted. `anabranch` has the same codes (docs/reference/command-line.md).
    """
    parser = _parser()
    if not (sys.argv[1:] if arguments is None else arguments):
        # Without a command the program prints its help, for users who know no command.
        parser.print_help(sys.stderr)
        return 2
    options = parser.parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else 150)
    try:
        with _terminable():
            return options.command(options, console)
    except KeyboardInterrupt:
        console.print("interrupted: every finished run is on disk, the same command goes on from there")
        return 130
    except (plan.PlanError, FileNotFoundError, ValueError, KeyError) as error:
        text = error.args[0] if isinstance(error, KeyError) and error.args else error
        print(f"anabranch-lab: {text}", file=sys.stderr)
        return 2
    except (OSError, RuntimeError) as error:
        print(f"anabranch-lab: {error}", file=sys.stderr)
        return 1


@contextlib.contextmanager
def _terminable() -> Iterator[None]:
    """SIGTERM ends a command as Ctrl-C does: the finished runs are kept."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGTERM, stop)
    except ValueError:  # not the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _parser() -> argparse.ArgumentParser:
    parser, commands = top()

    listing = commands.add_parser("list", help=VERBS["list"])
    listing.set_defaults(command=_list)

    costs = commands.add_parser("plan", help=VERBS["plan"])
    costs.set_defaults(command=_plan)
    costs.add_argument("--cost", action="store_true", help="processor time of every sweep")

    run = commands.add_parser("run", help=VERBS["run"])
    run.set_defaults(command=_run)

    judge = commands.add_parser("claims", help=VERBS["claims"])
    judge.set_defaults(command=_claims)
    judge.add_argument("--table", action="store_true", help="print the experiment's own table too")

    html = commands.add_parser("report", help=VERBS["report"])
    html.set_defaults(command=_report)

    everything = commands.add_parser("studies", help=VERBS["studies"])
    everything.set_defaults(command=_studies)

    packed = commands.add_parser(
        "bundle",
        help=VERBS["bundle"],
        description="Judges what is on disk and packs it with all that it came from. `anabranch-lab rerun FILE` makes the runs again, on any "
        "machine of the kind, and compares the grades.",
    )
    packed.set_defaults(command=_bundle)

    again = commands.add_parser("rerun", help=VERBS["rerun"])
    again.set_defaults(command=_rerun)
    again.add_argument(
        "bundle", type=Path, metavar="BUNDLE", help="the file, or the folder that it was unpacked to"
    )
    again.add_argument("--out", type=Path, help="folder for results (default: BUNDLE-rerun here)")

    old = commands.add_parser("prune", help=VERBS["prune"])
    old.set_defaults(command=_prune)
    old.add_argument(
        "--out", type=Path, help="folder for results (default: out beside the plan, or in the checkout)"
    )

    for command in (html, everything):
        command.add_argument(
            "--readme", action="store_true", help="write the findings into the READMEs of the experiments"
        )
        command.add_argument(
            "--table", action="store_true", help="print the tables, not only what was found in a few lines"
        )
    for command in (listing, costs, run, judge, html, everything, packed):
        command.add_argument(
            "name",
            nargs="?",
            help="the folder of an experiment or of a study, anywhere; or the name of one that lies here or in the checkout "
            "(`anabranch-lab list`); without it: the one that you stand in, or everything in the checkout",
        )
        command.add_argument(
            "--study", help="one study only: yours, or one of the checkout such as sf-sctp-2007"
        )
        command.add_argument("--experiment", help="one experiment only, such as exp-04")
        command.add_argument("--claim", help="only the experiment that judges this claim, such as Z-IV-1")
        command.add_argument(
            "--out", type=Path, help="folder for results (default: out beside the plan, or in the checkout)"
        )
        command.add_argument("--seeds", help="instead of the plan's, such as 1..30")
        command.add_argument(
            "--quick", action="store_true", help="the plan's few seeds and short runs: a look, not a result"
        )
    packed.add_argument("file", type=Path, metavar="OUT.tar.gz", help="the bundle")
    for command in (run, everything, again):
        executors.add(command)
    for command in (costs, judge, html, packed):
        executors.add_jobs(command)
    new.add(commands)
    sweep.add(commands)
    serve.add(commands)
    model.add(commands)
    completions.add(commands)
    completions.describe(parser, commands)
    return parser


def _chosen(options: argparse.Namespace) -> list[Results]:
    plans = _plans(options)
    out = _out(options, plans[0])
    seeds = plan.parse_seeds(options.seeds) if options.seeds else None
    return [Results(each, out / "results", seeds=seeds, quick=options.quick) for each in plans]


def _plans(options: argparse.Namespace) -> list[plan.Plan]:
    """The plans that a command names (`lookup`)."""
    chosen, options.whole = lookup.plans(options.name, options.study, options.experiment, options.claim)
    for each in chosen:
        toml_claims.check(each, folders.study_of(each).claims)
    return chosen


def _out(options: argparse.Namespace, one: plan.Plan | None = None) -> Path:
    """The folder for results: `--out`, or the default one (`lookup.out`)."""
    return options.out if options.out is not None else lookup.out(None if one is None else one.folder)


def _list(options: argparse.Namespace, console: Console) -> int:
    for results in _chosen(options):
        console.print(tables.sweeps(Schedule(results)))
    return 0


def _plan(options: argparse.Namespace, console: Console) -> int:
    executors.check(options)
    chosen = _chosen(options)
    schedules = [Schedule(results) for results in [*chosen, *experiment.used(chosen)]]
    missing, total = campaign.tasks(schedules)
    campaign.check(missing)
    for schedule in schedules:
        console.print(tables.costs(schedule) if options.cost else tables.sweeps(schedule))
        schedule.results.looks.save()
    cost, later = sum(task.cost for task in missing), sum(schedule.later() for schedule in schedules)
    more = f" {duration(later)} of this for seeds that are likely to be added." if later else ""
    console.print(
        f"{total} runs, {total - sum(task.runs for task in missing)} of them on disk. The others take {duration(cost + later)} of one "
        f"processor, about {duration((cost + later) / options.jobs)} with {options.jobs} at a time.{more}"
    )
    return 0


def _bundle(options: argparse.Namespace, console: Console) -> int:
    executors.check(options)
    chosen = _chosen(options)
    bundle.check(options.file, chosen)
    found: list[claims.Claim] = []
    for _, analysis in _analyses(chosen, None, options):
        if analysis is None:
            return 1
        found += analysis.claims
    files = bundle.write(options.file, chosen, found)
    size = options.file.stat().st_size / 1e6
    unjudged = sum(claim.grade == grades.NOT_JUDGED for claim in found)
    told = f"{len(found)} claims" + (f" ({unjudged} of them not judged)" if unjudged else "")
    console.print(f"{options.file}: {len(files)} files, {told}, {size:.1f} MB", highlight=False)
    return 0


def _rerun(options: argparse.Namespace, console: Console) -> int:
    """Makes the runs of a bundle again; 1 when a grade is another one."""
    executors.check(options)
    with bundle.opened(options.bundle) as folder:
        head = bundle.head(folder)
        if options.out is None:
            options.out = Path(f"{bundle.stem(options.bundle)}-rerun")
        chosen = bundle.results_of(folder, head, options.out)
        if bundle.build(head):
            console.print(f"[yellow]{bundle.build(head)}[/]")
        options.quick, options.seeds, options.readme, options.whole = (
            head["quick"],
            head["seeds"],
            False,
            False,
        )
        options.table = True
        _make(chosen, options, console)
        _draw(chosen, options, console)
        then, now = bundle.grades_of(folder / bundle.CLAIMS), bundle.grades_of(options.out / "claims.json")
        same = [each for results in chosen for each in bundle.same_rows(folder, results).values()]
    now = {claim: now[claim] for claim in then if claim in now}
    console.print(tables.grades_again(then, now))
    console.print(f"{sum(same)} of {len(same)} sweeps have the same runs, value by value")
    others = [each for each in then if then[each] != now.get(each)]
    if others:
        console.print(f"[red]{len(others)} claims have another grade:[/] {', '.join(others)}")
        return 1
    console.print(f"all {len(then)} claims have the grades of the bundle")
    return 0


def _prune(options: argparse.Namespace, console: Console) -> int:
    removed = store.prune(_out(options) / "results", simulation.code_version())
    console.print(f"results of {removed} other builds removed")
    return 0


def _run(options: argparse.Namespace, console: Console) -> int:
    executors.check(options)
    _make(_chosen(options), options, console)
    return 0


def _make(chosen: Sequence[Results], options: argparse.Namespace, console: Console) -> None:
    title = chosen[0].plan.name if len(chosen) == 1 else f"{len(chosen)} experiments"
    schedules = [Schedule(results) for results in [*chosen, *experiment.used(chosen)]]
    out = _out(options, chosen[0].plan)
    executor = executors.executor(options, out)
    with Recorded(title, console, executor.width, out / PROGRESS) as bar:
        made = campaign.run(schedules, executor, bar)
    console.print(f"{title}: {made} runs made, all {campaign.tasks(schedules)[1]} on disk{bar.took()}")


def _claims(options: argparse.Namespace, console: Console) -> int:
    executors.check(options)
    chosen = _chosen(options)
    found: list[claims.Claim] = []
    failed = False
    for results, analysis in _analyses(chosen, None, options):
        if analysis is None:
            failed = True
            continue
        found += analysis.claims
        if options.table and analysis.headline:
            console.print(tables.headline(analysis.headline))
        console.print(tables.claims(results.plan.title, analysis.claims))
    return max(_grades(chosen, found, options, console), int(failed))


def _report(options: argparse.Namespace, console: Console) -> int:
    executors.check(options)
    return _draw(_chosen(options), options, console)


def _studies(options: argparse.Namespace, console: Console) -> int:
    executors.check(options)
    chosen = _chosen(options)
    _make(chosen, options, console)
    return _draw(chosen, options, console)


def _draw(chosen: Sequence[Results], options: argparse.Namespace, console: Console) -> int:
    folder = _out(options, chosen[0].plan) / "report"
    pages = report.Pages(folder)
    found: list[claims.Claim] = []
    failed = False
    for results, analysis in _analyses(chosen, folder, options):
        if analysis is None:
            failed = True
            continue
        pages.add(results, analysis)
        found += analysis.claims
        # Without claims the table is the result.
        if analysis.headline and (options.table or not analysis.claims):
            console.print(tables.headline(analysis.headline))
        for line in tables.found(results, analysis, alone=len(chosen) == 1):
            console.print(line, highlight=False)
        if options.readme:
            report.write_finding(results.plan.folder / "README.md", analysis.findings)
    path = pages.finish()
    checkout = folders.checkout()
    # Totals are written for all studies only: those of one study must not replace them.
    if options.readme and checkout is not None and _is_everything(chosen):
        report.write_totals(checkout / "docs" / "reviewers.md", pages.by_study())
        if not options.quick and not options.seeds:
            usual_seeds.write(chosen, checkout / "experiments" / usual_seeds.FILE)
    code = _grades(chosen, found, options, console, brief=not options.table)
    console.print(f"The report: {path} (open it in a browser)", highlight=False)
    return max(code, int(failed))


def _is_everything(chosen: Sequence[Results]) -> bool:
    """Whether no experiment of the checkout is missing."""
    return len(chosen) == len(folders.names(folders.root() / "experiments"))


def _analyses(
    chosen: Sequence[Results], page: Path | None, options: argparse.Namespace
) -> Iterator[tuple[Results, experiment.Analysis | None]]:
    """The analysis of each experiment; None, and a complaint, when it could not be analysed."""
    by_name = {results.plan.name: results for results in chosen}
    seeds: list[dict[str, Any]] = []
    for result in analyses.analyse_all(chosen, page, options.jobs):
        if result.missing:
            # Where a run is missing because its scenario is wrong, that error is reported first.
            campaign.check(campaign.tasks([Schedule(by_name[result.name])])[0])
        if result.analysis is None:
            print(f"anabranch-lab: {result.name}: {result.problem}", file=sys.stderr)
        seeds += result.seeds
        yield by_name[result.name], result.analysis
    analyses.write_seeds(seeds, _out(options, chosen[0].plan) / "seeds.json")


def _grades(
    chosen: Sequence[Results],
    found: Sequence[claims.Claim],
    options: argparse.Namespace,
    console: Console,
    *,
    brief: bool = False,
) -> int:
    """Writes claims.json and prints the claims that lack a grade; returns 1 when there are any. `brief`: the totals in one line."""
    path = _out(options, chosen[0].plan) / "claims.json"
    mine = {study.folder: study for study in (folders.study_of(each.plan) for each in chosen)}
    # Claims that the chosen part of the studies does not judge are listed as well.
    out = [claim for study in mine.values() for claim in claims.unjudged(study.claims, study.number, found)]
    claims.write([*found, *out], path)
    if brief:
        console.print(tables.in_a_line([*found, *out]), highlight=False)
    else:
        console.print(tables.totals([*found, *out], _names(mine.values())))
        console.print(f"{len(found) + len(out)} claims, {len(found)} of them looked at here. Written: {path}")
    code = 0
    missing = _missing(chosen, found, options)
    if missing:
        console.print(f"[red]{len(missing)} claims have no grade:[/] {', '.join(missing)}")
        code = 1
    unjudged = [claim.id for claim in found if claim.grade == grades.NOT_JUDGED]
    if unjudged and not options.quick and not options.seeds:
        # The plan's own seeds are to be enough for its claims.
        console.print(
            f"[red]{len(unjudged)} claims have too few seeds to be judged:[/] {', '.join(unjudged)}"
        )
        code = 1
    return code


def _names(studies: Iterable[folders.Study]) -> dict[str, str]:
    """The names of studies by their numbers; our own share one."""
    return {study.number: "our own" if study.own else study.short for study in studies}


def _missing(
    chosen: Sequence[Results], found: Sequence[claims.Claim], options: argparse.Namespace
) -> list[str]:
    """Claims without a grade: of whole studies, or only of the experiments that the command names."""
    names = {results.plan.name for results in chosen}
    missing = []
    for study in {
        folders.study_folder(each.plan.folder): folders.study_of(each.plan) for each in chosen
    }.values():
        mine = [name for name in study.experiments if name in names]
        whole = set(mine) == set(study.experiments) and options.whole
        short = [name.rpartition("/")[2] for name in mine]
        wanted = [entry.experiment for entry in study.claims.values()] if whole else short
        there = [name.rpartition("/")[2] for name in study.experiments]
        for identifier in catalogue.missing(study.claims, found, wanted):
            asked = study.claims[identifier].experiment
            told = "" if asked in there else f" (no experiment `{asked}`; there are {', '.join(there)})"
            missing.append(identifier + told)
    return missing


if __name__ == "__main__":
    sys.exit(main())
