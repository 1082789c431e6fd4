"""Analyses experiments, several at once, and draws their pages; an experiment that fails does not keep another from its grades."""

import concurrent.futures
import json
import multiprocessing
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..plan import folders
from ..plan.plan import PlanError
from ..run.results import Results
from ..show import report
from . import experiment


@dataclass(frozen=True)
class AnalysisJob:
    """An experiment to analyse, in values that another process can be sent."""

    name: str
    folder: Path
    """The folder of the plan."""
    results: Path
    seeds: tuple[int, ...] | None
    quick: bool
    page: Path | None
    """The folder of the report, or nothing when no page is wanted."""
    names: tuple[str, ...] = ()
    """Every experiment of the report."""


@dataclass(frozen=True)
class AnalysisResult:
    """The analysis of an experiment, without its figures (they have been drawn), or why there is none."""

    name: str
    analysis: experiment.Analysis | None
    problem: str = ""
    missing: bool = False
    """Whether there is none because results are not on disk."""
    seeds: tuple[dict[str, Any], ...] = ()
    """How many seeds each point has that has a rule for them, and why no more."""


def run_job(job: AnalysisJob, analyses: dict[str, experiment.Analysis] | None = None) -> AnalysisResult:
    """Analyses one experiment in this process and writes its page."""
    try:
        plan = folders.load(job.folder)
        results = Results(plan, job.results, seeds=job.seeds, quick=job.quick, analyses=analyses)
        found = experiment.analyse(results)
        if job.page is not None:
            report.write_page(job.page, results, found, job.names)
        results.looks.save()
    except FileNotFoundError as error:
        return AnalysisResult(job.name, None, str(error), missing=True)
    except PlanError as error:
        return AnalysisResult(job.name, None, str(error))
    except Exception as error:
        return AnalysisResult(job.name, None, f"its analysis failed: {error!r}\n{traceback.format_exc()}")
    return AnalysisResult(job.name, replace(found, figures=[]), seeds=tuple(seeds_of(results)))


def seeds_of(results: Results) -> Iterator[dict[str, Any]]:
    """The entries of seeds.json: how many seeds each point has that has a rule for them, and why no more."""
    for sweep, point, stop in results.stops():
        yield {
            "experiment": results.plan.name,
            "sweep": sweep.name,
            "point": dict(point.at),
            "seeds": len(stop.seeds),
            "why": stop.reason,
            "too_wide": list(stop.wide),
        }


def write_seeds(found: Sequence[dict[str, Any]], path: Path) -> None:
    """Writes seeds.json; nothing where no plan has a rule."""
    if not found:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_text(
        json.dumps(list(found), indent=1, ensure_ascii=False, default=str) + "\n", encoding="utf-8"
    )
    part.replace(path)


def analyse_all(every: Sequence[Results], page: Path | None, jobs: int) -> Iterator[AnalysisResult]:
    """Analyses every experiment, `jobs` at a time, and gives the analyses in the order of the experiments.

    Experiments that compare the others (`compares` in their plan) come after them.
    """
    analyses: dict[str, experiment.Analysis] = {}
    names = tuple(results.plan.name for results in every)
    first = [_job(results, page, names) for results in every if not results.plan.compares]
    last = [_job(results, page, names) for results in every if results.plan.compares]
    if jobs > 1 and len(first) > 1:
        # Fresh processes: a fork would copy the threads of DuckDB and Arrow half alive.
        context = multiprocessing.get_context("spawn")
        with concurrent.futures.ProcessPoolExecutor(min(jobs, len(first)), mp_context=context) as pool:
            yield from _remembered(pool.map(run_job, first), analyses)
    else:
        yield from _remembered((run_job(job, analyses) for job in first), analyses)
    yield from _remembered((run_job(job, analyses) for job in last), analyses)


def _job(results: Results, page: Path | None, names: tuple[str, ...]) -> AnalysisJob:
    return AnalysisJob(
        results.plan.name,
        results.plan.folder,
        results.folder,
        results.given_seeds,
        results.quick,
        page,
        names,
    )


def _remembered(
    found: Iterator[AnalysisResult], analyses: dict[str, experiment.Analysis]
) -> Iterator[AnalysisResult]:
    """The results of analyses as they come, each kept in `analyses` for the experiments that compare."""
    for result in found:
        if result.analysis is not None:
            analyses[result.name] = result.analysis
        yield result
