"""`anabranch-lab list | plan | run | claims | report | studies | prune`."""

import argparse
import contextlib
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from anabranch import _core

from .judge import analyses, claims, experiment, grades
from .models import command as model
from .plan import catalogue, folders, new, plan
from .run import campaign, executors, simulation, store, sweep
from .run.progress import PROGRESS, Recorded, duration
from .run.results import Results
from .run.schedule import Schedule
from .show import completions, report, serve, tables


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command. 0: done; 1: a run failed, a claim has no verdict, or something could not be written; 2: a wrong option,
    file or plan; 130: interrupted. `anabranch` has the same codes (docs/command-line.md).
    """
    parser = _parser()
    if not (sys.argv[1:] if arguments is None else arguments):
        # Who gives no command knows none.
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
    """SIGTERM ends a command as Ctrl-C does: what is finished is kept."""

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
    parser = argparse.ArgumentParser(prog="anabranch-lab", description="Runs experiments and judges claims.")
    parser.add_argument("--version", action="version", version=f"%(prog)s {_core.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    listing = commands.add_parser("list", help="every experiment, its sweeps and how many runs are on disk")
    listing.set_defaults(command=_list)

    costs = commands.add_parser("plan", help="what would be run, and with --cost how long it takes")
    costs.set_defaults(command=_plan)
    costs.add_argument("--cost", action="store_true", help="processor time of every sweep")

    run = commands.add_parser("run", help="make the runs that are not on disk yet")
    run.set_defaults(command=_run)

    judge = commands.add_parser("claims", help="judge the claims of the studies, write claims.json")
    judge.set_defaults(command=_claims)
    judge.add_argument("--table", action="store_true", help="print the experiment's own table too")

    html = commands.add_parser("report", help="judge, draw and write the pages of the report")
    html.set_defaults(command=_report)

    everything = commands.add_parser("studies", help="run, judge and report: every experiment of every study")
    everything.set_defaults(command=_studies)

    old = commands.add_parser("prune", help="remove the results of other builds of the simulator")
    old.set_defaults(command=_prune)
    old.add_argument(
        "--out", type=Path, help="folder for results (default: out beside the plan, or in the checkout)"
    )

    for command in (html, everything):
        command.add_argument(
            "--readme", action="store_true", help="write the findings into the READMEs of the experiments"
        )
    for command in (listing, costs, run, judge, html, everything):
        command.add_argument(
            "name",
            nargs="?",
            help="the folder of an experiment or of a study, anywhere; or one of the checkout by its name (`anabranch-lab list`); "
            "without it: this folder, or everything in the checkout",
        )
        command.add_argument("--study", help="one study only, such as sf-sctp-2007")
        command.add_argument("--experiment", help="one experiment only, such as exp-04")
        command.add_argument("--claim", help="only the experiment that judges this claim, such as Z-IV-1")
        command.add_argument(
            "--out", type=Path, help="folder for results (default: out beside the plan, or in the checkout)"
        )
        command.add_argument("--seeds", help="instead of the plan's, such as 1..30")
        command.add_argument(
            "--quick", action="store_true", help="the plan's few seeds and short runs: a look, not a result"
        )
    for command in (run, everything):
        executors.add(command)
    for command in (costs, judge, html):
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
    """What a command names: a folder anywhere, or a study or an experiment of the checkout; nothing: this folder, or all."""
    if options.claim is not None:
        return [_of_claim(options)]
    name, study, one = options.name, options.study, options.experiment
    if name is not None and (study is not None or one is not None):
        raise plan.PlanError("name it once: as NAME, or with --study and --experiment")
    if study is None and one is None:
        place = Path(name or ".")
        # The top of a checkout stands for its experiments, not for whatever folders lie in it.
        found = folders.at(place) if place.is_dir() and not (place / "experiments").is_dir() else None
        if found is not None:
            options.whole = len(found) > 1
            return found
        if name is None and folders.checkout() is None:
            raise plan.PlanError(f"no plan.toml here, and this is no checkout of anabranch. {folders.HINT}")
        if name is not None and place.is_dir():
            raise plan.PlanError(f"{name}: no plan.toml in this folder or below it. {folders.HINT}")
    folder = folders.root() / "experiments"
    if name is not None and folders.checkout() is None and name not in folders.names(folder):
        raise plan.PlanError(f"{name}: there is no such folder. {folders.HINT}")
    if name is not None:
        if name in [each.name for each in folders.studies(folder)]:
            study = name
        else:
            one = name
    options.whole = one is None
    chosen = [folders.load(folder / each) for each in folders.select(folder, study, one)]
    if not chosen:
        raise plan.PlanError(f"study `{study}` has no experiment yet")
    return chosen


def _of_claim(options: argparse.Namespace) -> plan.Plan:
    """The experiment that judges a claim: of the study one stands in, or of the checkout."""
    options.whole = False
    here = folders.study_folder(Path.cwd())
    studies = (
        [folders.study_at(here)]
        if (here / "claims.toml").is_file()
        else folders.studies(folders.root() / "experiments")
    )
    known = []
    for study in studies:
        entry = study.claims.get(options.claim)
        if entry is not None:
            return folders.load(study.folder if study.single else study.folder / entry.experiment)
        known += study.claims
    raise plan.PlanError(f"no claim `{options.claim}`; there are {', '.join(known)}")


def _out(options: argparse.Namespace, one: plan.Plan | None = None) -> Path:
    """Where results go: --out, or `out` in the checkout, or beside the plan of an experiment that lies elsewhere."""
    if options.out is not None:
        return options.out
    checkout = folders.checkout()
    if one is not None and (checkout is None or not one.folder.resolve().is_relative_to(checkout.resolve())):
        return folders.study_folder(one.folder) / "out"
    return (checkout or Path.cwd()) / "out"


def _list(options: argparse.Namespace, console: Console) -> int:
    for results in _chosen(options):
        console.print(tables.sweeps(Schedule(results)))
    return 0


def _plan(options: argparse.Namespace, console: Console) -> int:
    executors.check(options)
    schedules = [Schedule(results) for results in _chosen(options)]
    for schedule in schedules:
        console.print(tables.costs(schedule) if options.cost else tables.sweeps(schedule))
    missing, total = campaign.tasks(schedules)
    cost = sum(task.cost for task in missing)
    console.print(
        f"{total} runs, {total - sum(task.runs for task in missing)} of them on disk. The others take {duration(cost)} of one processor, "
        f"about {duration(cost / options.jobs)} with {options.jobs} at a time."
    )
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
    schedules = [Schedule(results) for results in chosen]
    out = _out(options, chosen[0].plan)
    executor = executors.executor(options, out)
    with Recorded(title, console, executor.width, out / PROGRESS) as bar:
        made = campaign.run(schedules, executor, bar)
    console.print(f"{title}: {made} runs made, all {campaign.tasks(schedules)[1]} on disk")


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
        console.print(f"{results.plan.name}: judged and drawn")
        pages.add(results, analysis)
        found += analysis.claims
        if analysis.headline:
            console.print(tables.headline(analysis.headline))
        if options.readme:
            report.write_finding(results.plan.folder / "README.md", analysis.findings)
    path = pages.finish()
    checkout = folders.checkout()
    # Totals are of all studies: those of one alone must not stand in their place.
    if options.readme and checkout is not None and _is_everything(chosen):
        report.write_totals(checkout / "README.md", pages.by_study())
    code = _grades(chosen, found, options, console)
    console.print(f"The report begins at {path}")
    return max(code, int(failed))


def _is_everything(chosen: Sequence[Results]) -> bool:
    """Whether no experiment of the checkout is missing."""
    return len(chosen) == len(folders.select(folders.root() / "experiments", None, None))


def _analyses(
    chosen: Sequence[Results], page: Path | None, options: argparse.Namespace
) -> Iterator[tuple[Results, experiment.Analysis | None]]:
    """What each experiment found; nothing, and a complaint, when it could not be analysed."""
    by_name = {results.plan.name: results for results in chosen}
    seeds: list[dict[str, Any]] = []
    for result in analyses.analyse_all(chosen, page, options.jobs):
        if result.analysis is None:
            print(f"anabranch-lab: {result.name}: {result.problem}", file=sys.stderr)
        seeds += result.seeds
        yield by_name[result.name], result.analysis
    analyses.write_seeds(seeds, _out(options, chosen[0].plan) / "seeds.json")


def _grades(
    chosen: Sequence[Results], found: Sequence[claims.Claim], options: argparse.Namespace, console: Console
) -> int:
    """Writes claims.json and says what is wrong with it; 1 when a claim has no grade."""
    path = _out(options, chosen[0].plan) / "claims.json"
    mine = {study.folder: study for study in (folders.study_of(each.plan) for each in chosen)}
    # What a part of the studies leaves out is told, not hidden.
    out = [claim for study in mine.values() for claim in claims.unjudged(study.claims, study.number, found)]
    claims.write([*found, *out], path)
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
    """What studies are called, by their numbers; those of ours are one."""
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
        missing += catalogue.missing(study.claims, found, wanted)
    return missing


if __name__ == "__main__":
    sys.exit(main())
