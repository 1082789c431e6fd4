"""Analyses experiments, several at once, and draws their pages; what fails keeps no other from its verdict."""

import concurrent.futures
import multiprocessing
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from . import experiment, report
from .plan import PlanError
from .sweep import Runner


@dataclass(frozen=True)
class Order:
    """An experiment to analyse, in words that another process understands."""

    name: str
    experiments: Path
    results: Path
    seeds: tuple[int, ...] | None
    quick: bool
    page: Path | None
    """The folder of the report, or nothing when no page is wanted."""


@dataclass(frozen=True)
class Answer:
    """What came of it: an analysis without its figures, which are drawn by then, or why there is none."""

    name: str
    analysis: experiment.Analysis | None
    trouble: str = ""


def carry_out(order: Order, analyses: dict[str, experiment.Analysis] | None = None) -> Answer:
    """Analyses one experiment here and writes its page."""
    try:
        runner = Runner(
            experiment.find(order.experiments, order.name),
            order.results,
            seeds=order.seeds,
            quick=order.quick,
            analyses=analyses,
        )
        found = experiment.analyse(runner)
        if order.page is not None:
            report.write_page(order.page, runner, found)
    except (PlanError, FileNotFoundError) as error:
        return Answer(order.name, None, str(error))
    except Exception as error:
        return Answer(order.name, None, f"its analysis failed: {error!r}\n{traceback.format_exc()}")
    return Answer(order.name, replace(found, figures=[]))


def all_of(runners: Sequence[Runner], page: Path | None, jobs: int) -> Iterator[Answer]:
    """Analyses every experiment, `jobs` at a time; answers come in the order of the runners.

    Experiments that compare the others (`compares` in their plan) come after them.
    """
    analyses: dict[str, experiment.Analysis] = {}
    folder = experiment.root() / "experiments"
    first = [runner for runner in runners if not runner.plan.compares]
    last = [runner for runner in runners if runner.plan.compares]
    orders = [_order(runner, folder, page) for runner in first]
    if jobs > 1 and len(orders) > 1:
        # Fresh processes: a fork would copy the threads of DuckDB and Arrow half alive.
        context = multiprocessing.get_context("spawn")
        with concurrent.futures.ProcessPoolExecutor(min(jobs, len(orders)), mp_context=context) as pool:
            answers: Iterator[Answer] = pool.map(carry_out, orders)
            yield from _kept(answers, analyses)
    else:
        yield from _kept((carry_out(order, analyses) for order in orders), analyses)
    yield from _kept((carry_out(_order(runner, folder, page), analyses) for runner in last), analyses)


def _order(runner: Runner, folder: Path, page: Path | None) -> Order:
    return Order(runner.plan.name, folder, runner.folder, runner.given_seeds, runner.quick, page)


def _kept(answers: Iterator[Answer], analyses: dict[str, experiment.Analysis]) -> Iterator[Answer]:
    for answer in answers:
        if answer.analysis is not None:
            analyses[answer.name] = answer.analysis
        yield answer
