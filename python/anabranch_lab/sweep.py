"""Runs a plan: grid times seeds, several runs at once, everything that is finished on disk."""

import concurrent.futures
import itertools
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from . import simulation, store
from .plan import Plan, Point, Sweep


class Progress(Protocol):
    """Somebody who is told how far a sweep is."""

    def begin(self, total: int, on_disk: int) -> None:
        """So many runs, of which so many need not be made."""

    def step(self, name: str) -> None:
        """One more run is on disk."""


class Silent:
    """Nobody looks."""

    def begin(self, total: int, on_disk: int) -> None:
        """Says nothing."""

    def step(self, name: str) -> None:
        """Says nothing."""


@dataclass(frozen=True)
class Job:
    """One run that is or will be a file."""

    sweep: Sweep
    point: Point
    seed: int
    key: str

    @property
    def kinds(self) -> tuple[str, ...]:
        """Which files it writes; the one that says that it is done comes last."""
        return ("trace", "runs") if self.sweep.trace else ("runs",)


Simulate = Callable[..., simulation.Outcome]


class Runner:
    """A plan, where its results are, and which code makes them."""

    def __init__(
        self,
        plan: Plan,
        folder: Path,
        *,
        seeds: Sequence[int] | None = None,
        quick: bool = False,
        code: str | None = None,
        simulate: Simulate = simulation.simulate,
    ):
        self.plan = plan
        self.store = store.Store(folder)
        self.code = simulation.code_version() if code is None else code
        self.quick = quick
        self._seeds = tuple(seeds) if seeds is not None else None
        self._simulate = simulate

    def seeds(self, sweep: Sweep) -> tuple[int, ...]:
        """The seeds of a sweep in this run."""
        if self._seeds is not None:
            return self._seeds
        return sweep.quick_seeds if self.quick else sweep.seeds

    def jobs(self, sweeps: Iterable[Sweep] | None = None) -> list[Job]:
        """Every run of the plan, in the order in which they are made."""
        jobs = []
        for sweep in self.plan.sweeps if sweeps is None else sweeps:
            for point in sweep.points():
                key = self._key(sweep, point)
                jobs.extend(Job(sweep, point, seed, key) for seed in self.seeds(sweep))
        return jobs

    def run(self, workers: int | None = None, progress: Progress | None = None) -> int:
        """Makes what is not on disk yet; returns how many runs that were.

        Interrupted (KeyboardInterrupt), it lets the runs under way finish and starts no more.
        """
        progress = progress or Silent()
        self.store.clean()
        jobs = self.jobs()
        todo = [job for job in jobs if not self.store.has(job.sweep.name, job.key, job.seed, job.kinds)]
        progress.begin(len(jobs), len(jobs) - len(todo))
        # Threads are enough: the simulator works without the interpreter's lock.
        stop = threading.Event()
        queue = iter(todo)
        workers = workers or os.cpu_count() or 1
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            try:
                running = {
                    pool.submit(self._one, job, stop): job for job in itertools.islice(queue, 2 * workers)
                }
                while running:
                    done, _ = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
                    for future in done:
                        job = running.pop(future)
                        future.result()
                        progress.step(job.sweep.name)
                        for following in itertools.islice(queue, 1):
                            running[pool.submit(self._one, following, stop)] = following
            except BaseException:
                stop.set()
                raise
        return len(todo)

    def paths(self, sweep: str, kind: str = "runs") -> list[Path]:
        """The files of one sweep."""
        return [
            self.store.path(sweep, job.key, job.seed, kind) for job in self.jobs([self.plan.sweep(sweep)])
        ]

    def paths_at(self, sweep: Sweep, point: Point, kind: str = "runs") -> list[Path]:
        """The files of one point of a sweep."""
        key = self._key(sweep, point)
        return [self.store.path(sweep.name, key, seed, kind) for seed in self.seeds(sweep)]

    def rows(self, sweep: str, sql: str, kind: str = "runs") -> list[dict[str, Any]]:
        """A query over the `runs` (or the events, kind `trace`) of one sweep."""
        return self.store.rows(self.paths(sweep, kind), sql)

    def table(self, sweep: str, sql: str, kind: str = "runs") -> pa.Table:
        """The same as an Arrow table."""
        return self.store.table(self.paths(sweep, kind), sql)

    def _key(self, sweep: Sweep, point: Point) -> str:
        return store.key(self.code, sweep.name, point.scenario)

    def _one(self, job: Job, stop: threading.Event) -> None:
        if stop.is_set():
            return
        outcome = self._simulate(job.point.scenario, job.seed, trace=job.sweep.trace)
        if job.sweep.trace:
            trace = outcome.trace
            if trace is None:
                raise ValueError(f"sweep `{job.sweep.name}` wants a trace, but its scenario records none")
            trace = trace.append_column("seed", pa.array([job.seed] * trace.num_rows, pa.int64()))
            self.store.write(trace, self.store.path(job.sweep.name, job.key, job.seed, "trace"))
        self.store.write(rows_of(job, outcome), self.store.path(job.sweep.name, job.key, job.seed))


def rows_of(job: Job, outcome: simulation.Outcome) -> pa.Table:
    """The summary of a run as rows: one for each flow and each link, with the point and the seed."""
    rows = []
    for kind in ("flow", "link"):
        for entity in outcome.summary[f"{kind}s"]:
            row = {"sweep": job.sweep.name, "seed": job.seed, "kind": kind}
            row.update(job.point.at)
            # What is nested (subflows) stays in the JSON of `anabranch simulate`.
            row.update({name: value for name, value in entity.items() if not isinstance(value, list | dict)})
            rows.append(row)
    columns = list(dict.fromkeys(name for row in rows for name in row))
    return pa.table({name: pa.array([row.get(name) for row in rows]) for name in columns})
