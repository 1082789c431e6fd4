"""Makes the missing runs of one or more experiments, several at once, the longest first."""

import concurrent.futures
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from . import simulation, work
from .schedule import Schedule


class Progress(Protocol):
    """Receives reports on how many runs are done. Times are seconds of a processor where nothing else is said."""

    def tried(self, runs: int, seconds: float, elapsed: float) -> None:
        """`runs` pilot runs are made, to see how long the others take: `seconds` of a processor, and `elapsed` by the clock."""

    def begin(self, total: int, on_disk: int, cost: float, later: float = 0.0) -> None:
        """A campaign begins: `total` runs, `on_disk` of them made already; the others cost `cost`, and the further runs that rules for seeds ask for
        are likely to cost `later`."""

    def step(self, name: str, cost: float, runs: int = 1, seconds: float = 0.0) -> None:
        """`runs` more runs are on disk; their expected cost was `cost`, the measured one is `seconds`."""


class Silent:
    """Ignores the reports."""

    def tried(self, runs: int, seconds: float, elapsed: float) -> None:
        """Says nothing."""

    def begin(self, total: int, on_disk: int, cost: float, later: float = 0.0) -> None:
        """Says nothing."""

    def step(self, name: str, cost: float, runs: int = 1, seconds: float = 0.0) -> None:
        """Says nothing."""


@dataclass(frozen=True)
class Task:
    """One run, or one batch of them, that must be made, for all experiments that need it."""

    schedule: Schedule
    name: str
    scenario: str
    key: str
    seed: int
    kinds: tuple[str, ...]
    cost: float
    batch: tuple[tuple[tuple[str, str], ...], ...] = ()
    """Of a batch: the settings of each of its runs over the scenario."""
    sweep: str = ""
    file: Path | None = None
    """The file that the scenario was made from."""

    @property
    def runs(self) -> int:
        """The number of runs of the task."""
        return max(1, len(self.batch))

    def paths(self) -> list[tuple[str, Path]]:
        """The files that it writes, the one that says that it is done last."""
        return [(kind, self.schedule.results.store.path(self.key, self.seed, kind)) for kind in self.kinds]


class Executor(Protocol):
    """A place where runs are made, such as threads or a cluster."""

    width: int
    """The number of runs at the same time."""

    def submit(self, task: Task) -> Any:
        """Begins a run; returns a future of `work.RunResult`."""

    def wait(self, futures: Sequence[Any]) -> Sequence[Any]:
        """Returns those that are done, at least one."""

    def stop(self, futures: Sequence[Any]) -> Sequence[tuple[Any, work.RunResult]]:
        """Ends while these runs are under way or waiting: begins no more, and returns those that are done all the same."""


class Threads:
    """Runs in threads of this process, which are enough: the simulator works without the interpreter's lock."""

    def __init__(self, workers: int | None = None):
        self.width = workers or os.cpu_count() or 1
        self._pool = concurrent.futures.ThreadPoolExecutor(self.width)

    def submit(self, task: Task) -> concurrent.futures.Future:
        """Begins a run when a thread is free."""
        return self._pool.submit(
            work.execute,
            task.scenario,
            task.seed,
            task.kinds,
            batch=task.batch,
            simulate=task.schedule.simulate,
            code=task.schedule.results.code,
        )

    def wait(self, futures: Sequence[concurrent.futures.Future]) -> Sequence[concurrent.futures.Future]:
        """Returns those that are done, at least one."""
        return list(concurrent.futures.wait(futures, return_when=concurrent.futures.FIRST_COMPLETED).done)

    def stop(self, futures: Sequence[concurrent.futures.Future]) -> Sequence[tuple[Any, work.RunResult]]:
        """Waits for the runs under way: they cannot be broken off, and seconds of work are worth keeping."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        done = [each for each in futures if not each.cancelled() and each.exception() is None]
        return [(each, each.result()) for each in done]


def tasks(schedules: Sequence[Schedule]) -> tuple[list[Task], int]:
    """The runs that are missing, the longest first, and how many there are with those on disk."""
    wanted: dict[tuple[Path, int], Task] = {}
    for schedule in schedules:
        for job in schedule.jobs():
            place = (schedule.results.store.path(job.key, job.seed), job.seed)
            known = wanted.get(place)
            if known is None or set(job.kinds) - set(known.kinds):
                name = f"{job.experiment}: {job.sweep.name}" if len(schedules) > 1 else job.sweep.name
                wanted[place] = Task(
                    schedule,
                    name,
                    job.point.scenario,
                    job.key,
                    job.seed,
                    job.kinds,
                    schedule.cost(job),
                    job.batch,
                    job.sweep.name,
                    job.sweep.scenario,
                )
    missing = [task for task in wanted.values() if not all(path.is_file() for _, path in task.paths())]
    missing.sort(key=lambda task: -task.cost)
    return missing, sum(task.runs for task in wanted.values())


def run(
    schedules: Sequence[Schedule], executor: Executor | None = None, progress: Progress | None = None
) -> int:
    """Makes the runs that are not on disk yet; returns their number.

    Interrupted (KeyboardInterrupt), it keeps every run that is finished, the ones under way included, and starts no
    more.
    """
    progress = progress or Silent()
    executor = executor or Threads()
    for schedule in schedules:
        schedule.results.store.clean()
    made, told, seconds, elapsed = 0, False, 0.0, 0.0
    running: dict[Any, Task] = {}
    try:
        missing, _ = tasks(schedules)
        check(missing)
        queue = iter(_pilots(missing))
        _fill(running, executor, queue)
        while running:
            for future in executor.wait(list(running)):
                task, done = running.pop(future), future.result()
                _keep(task, done)
                task.schedule.costs.saw(task.key, task.sweep, done.seconds)
                made += task.runs
                seconds += done.seconds
                elapsed += done.elapsed
            _fill(running, executor, queue)
        while True:
            missing, total = tasks(schedules)
            if told and not missing:
                break
            check(missing)
            to_make = sum(task.runs for task in missing)
            if not told:
                progress.tried(made, seconds, elapsed)
            later = sum(schedule.later() for schedule in schedules)
            progress.begin(total, total - to_make, sum(task.cost for task in missing), later)
            told = True
            if not missing:
                break
            queue = iter(missing)
            _fill(running, executor, queue)
            while running:
                for future in executor.wait(list(running)):
                    task, done = running.pop(future), future.result()
                    _keep(task, done)
                    progress.step(task.name, task.cost, task.runs, done.seconds)
                    made += task.runs
                _fill(running, executor, queue)
            # Points whose interval is still too wide ask for more seeds now.
    finally:
        for future, done in executor.stop(list(running)):
            _keep(running[future], done)
        for schedule in schedules:
            schedule.costs.save()
            schedule.results.looks.save()
    return made


PILOTS = 8
"""Pilot runs of a sweep, at most, that are made before the time of the others is told."""
FEWEST = 3
"""The number to which the pilot runs of a sweep are reduced, at most, where there are many sweeps: their errors differ in direction."""
ALL_PILOTS = 64
"""Pilot runs of all sweeps together, unless FEWEST of each are more: no time is told before they are done."""


def _pilots(missing: Sequence[Task]) -> list[Task]:
    """Returns the pilot runs, which are made before the time of the others is told: of each sweep with points that were never run up to a quarter, the
    shortest and the longest among them. A guess from the scenario alone is off by a factor of twenty where the machine is slow or busy.
    """
    sweeps: dict[tuple[int, str], list[Task]] = {}
    for task in missing:
        if not task.schedule.costs.known(task.key):
            sweeps.setdefault((id(task.schedule), task.sweep), []).append(task)
    chosen: dict[int, Task] = {}
    most = min(PILOTS, max(FEWEST, ALL_PILOTS // max(1, len(sweeps))))
    for mine in sweeps.values():
        count = min(most, len(mine) // 4)
        for place in range(count):
            each = mine[place * (len(mine) - 1) // max(1, count - 1)]
            chosen[id(each)] = each
    return list(chosen.values())


def check(missing: Sequence[Task]) -> None:
    """Checks the scenarios of all missing runs, so that a wrong one is an error before the first run, not after an hour."""
    seen = set()
    for task in missing:
        if task.key not in seen and task.schedule.simulate is simulation.simulate:
            seen.add(task.key)
            # Only the first and the last run of a batch are checked: to check thousands would take longer than to make them.
            for overrides in {task.batch[0], task.batch[-1]} if task.batch else [()]:
                try:
                    simulation.check(task.scenario, f"{task.file or task.name}", overrides)
                except ValueError as error:
                    raise _at_its_line(task, error) from None


def _at_its_line(task: Task, error: ValueError) -> ValueError:
    """The error with its place in the scenario file; where only the settings of a sweep are wrong, with the name of the sweep."""
    if task.file is None:
        return error
    try:
        simulation.check(task.file.read_text(encoding="utf-8"), str(task.file))
    except ValueError as own:
        if _what(own) == _what(error):
            return own
    plan = task.schedule.results.plan.folder / "plan.toml"
    return ValueError(f"{plan}: what sweep `{task.sweep}` sets over {task.file.name}: {_what(error)}")


def _what(error: ValueError) -> str:
    """An error of a scenario without its place."""
    return re.sub(r"^.*?:\d+:\d+: ", "", str(error))


def _fill(running: dict[Any, Task], executor: Executor, queue: Iterator[Task]) -> None:
    # Two runs for each worker: the next one is there when a run ends.
    while len(running) < 2 * executor.width:
        task = next(queue, None)
        if task is None:
            return
        running[executor.submit(task)] = task


def _keep(task: Task, made: work.RunResult) -> None:
    if made.code != task.schedule.results.code:
        raise ValueError(
            f"a worker has another simulator (build {made.code}) than this process (build {task.schedule.results.code}): "
            "install the same one everywhere"
        )
    for kind, path in task.paths():
        task.schedule.results.store.write(made.files[kind], path)
    task.schedule.costs.learn(task.key, made.seconds)
