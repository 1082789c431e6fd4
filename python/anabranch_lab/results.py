"""Results of an experiment: which runs it has, where they are on disk, and questions to them."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from . import grid, simulation, stats, store, work
from .plan import Adaptive, Plan, PlanError, Point, Sweep


class Results:
    """The results of a plan, by one build of the simulator."""

    def __init__(
        self,
        plan: Plan,
        folder: Path,
        *,
        seeds: Sequence[int] | None = None,
        quick: bool = False,
        code: str | None = None,
        analyses: dict[str, Any] | None = None,
    ):
        self.plan = plan
        self.folder = folder
        self.code = simulation.code_version() if code is None else code
        self.store = store.Store(folder, self.code)
        self.quick = quick
        self.analyses = {} if analyses is None else analyses
        """What experiments found, by name: shared by all results of one command, so that each experiment is analysed once."""
        self.given_seeds = tuple(seeds) if seeds is not None else None
        """Seeds instead of the plan's."""
        self._halves: dict[tuple[str, str, int], float] = {}
        self._points: dict[str, list[tuple[Point, str]]] = {}

    def of(self, plan: Plan) -> "Results":
        """The results of another experiment, in the same place with the same seeds and code."""
        return Results(
            plan,
            self.folder,
            seeds=self.given_seeds,
            quick=self.quick,
            code=self.code,
            analyses=self.analyses,
        )

    def seeds(self, sweep: Sweep) -> tuple[int, ...]:
        """The seeds of a sweep in this run."""
        if self.given_seeds is not None:
            return self.given_seeds
        return sweep.quick_seeds if self.quick else sweep.seeds

    def seeds_at(self, sweep: Sweep, point: Point, key: str) -> tuple[int, ...]:
        """The seeds of one point: those of the sweep, and more where its interval is too wide.

        Whether there are more depends on the results of those before alone, so it is the same wherever they were made.
        """
        seeds = self.seeds(sweep)
        rule = sweep.adaptive
        if rule is None or self.quick or self.given_seeds is not None:
            return seeds
        while len(seeds) < rule.upto:
            if not all(self.store.has(key, seed) for seed in seeds):
                break
            if self._half(rule, point, key, seeds) <= rule.half:
                break
            more = min(rule.STEP, rule.upto - len(seeds))
            seeds += tuple(range(max(seeds) + 1, max(seeds) + 1 + more))
        return seeds

    def seed_counts(self, sweep: Sweep) -> str:
        """How many seeds its points have: `30`, or `30 to 70`."""
        counts = [len(self.seeds_at(sweep, point, key)) for point, key in self.points(sweep)]
        low, high = min(counts, default=0), max(counts, default=0)
        return str(low) if low == high else f"{low} to {high}"

    def _half(self, rule: Adaptive, point: Point, key: str, seeds: tuple[int, ...]) -> float:
        place = (rule.measure, key, len(seeds))
        if place not in self._halves:
            files = [self.store.path(key, seed) for seed in seeds]
            table = store.query(files, [point.at] * len(files), grid.sql([], {"measure": rule.measure}))
            values = [row["measure"] for row in table.to_pylist()]
            usable = all(value is not None and math.isfinite(value) for value in values)
            # What cannot be measured does not get narrower with more of it.
            self._halves[place] = stats.estimate(values).half if usable else 0.0
        return self._halves[place]

    def points(self, sweep: Sweep) -> list[tuple[Point, str]]:
        """Every point of a sweep in this run, with the key of its results."""
        if sweep.name not in self._points:
            points = list(sweep.points(self.quick))
            if sweep.batch:
                found = []
                for batch in _batches(points):
                    key = store.key(
                        batch[0].scenario, *(text for p in batch for way in p.overrides for text in way)
                    )
                    found += [(point, key) for point in batch]
            else:
                found = [(point, store.key(point.scenario)) for point in points]
            self._points[sweep.name] = found
        return self._points[sweep.name]

    def run_count(self) -> int:
        """How many runs all points of all sweeps have together."""
        return sum(
            len(self.seeds_at(sweep, point, key))
            for sweep in self.plan.sweeps
            for point, key in self.points(sweep)
        )

    def rows(
        self, sweep: str, sql: str, kind: str = work.RUNS, at: Mapping[str, Any] | None = None
    ) -> list[dict[str, Any]]:
        """A query over the `runs` (or the events, kind `trace`) of one sweep, one dict a row.

        `runs` has the columns of the results and those of the axes. `at` keeps the points with these values.
        """
        return self.table(sweep, sql, kind, at).to_pylist()

    def table(
        self, sweep: str, sql: str, kind: str = work.RUNS, at: Mapping[str, Any] | None = None
    ) -> pa.Table:
        """The same as an Arrow table."""
        found = self.plan.sweep(sweep)
        at = at or {}
        files, points = [], []
        for point, key in self.points(found):
            if any(name not in point.at or point.at[name] != value for name, value in at.items()):
                continue
            for seed in self.seeds_at(found, point, key):
                files.append(self.store.path(key, seed, kind))
                points.append(point.at if point.run is None else {**point.at, "run": point.run})
        if not files:
            raise PlanError(f"{self.plan.name}: sweep `{sweep}` has no point {dict(at)}")
        return store.query(files, points, sql)

    def grid(self, sweep: str, measures: Mapping[str, str], kind: str = work.RUNS) -> grid.Grid:
        """Measures of every run of a sweep: for each name an SQL aggregate over the rows of one run."""
        found = self.plan.sweep(sweep)
        axes = [axis.name for axis in found.axes]
        return grid.load(self.table(sweep, grid.sql(axes, measures), kind), axes, list(measures))


def _batches(points: Iterable[Point]) -> Iterator[list[Point]]:
    """The points of a batched sweep, batch by batch."""
    batch: list[Point] = []
    for point in points:
        if point.run == 0 and batch:
            yield batch
            batch = []
        batch.append(point)
    if batch:
        yield batch
