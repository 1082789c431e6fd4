"""Results of an experiment: its runs, their files on disk, and queries over them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from .. import stats
from ..plan import sequential
from ..plan.plan import ENGINE, Plan, PlanError, Point, Sweep
from . import grid, looks, simulation, store, work


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
        """Analyses of experiments by name: shared by all results of one command, so that each experiment is analysed once."""
        self.given_seeds = tuple(seeds) if seeds is not None else None
        """Seeds instead of the plan's."""
        self.looks = looks.Looks(self.store.folder)
        self._looks: dict[tuple[str, int], dict[tuple[Any, ...], tuple[str, ...]]] = {}
        """The quantities whose intervals were too wide, by sweep, number of seeds and group."""
        self._grouped: dict[str, dict[tuple[Any, ...], list[tuple[Point, str]]]] = {}
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
        """The seeds of one point: those of the sweep, or as many of them as the rule of its plan wants."""
        return self.stop_of(sweep, point).seeds

    def stop_of(self, sweep: Sweep, point: Point) -> sequential.Stop:
        """How many seeds a point has, and why no more.

        Whether there are more depends on the results of those before alone, so it is the same wherever and in which order
        they were made.
        """
        seeds = self.seeds(sweep)
        rule = self.rule(sweep)
        if rule is None:
            return sequential.Stop(seeds, sequential.FIXED)
        if _beside(sweep, rule, point):
            return sequential.Stop(seeds[: rule.beside], sequential.BESIDE)
        group = self._group(sweep, rule, point)
        wide: tuple[str, ...] = ()
        for look in rule.looks(len(seeds)):
            seen = self._wide(sweep, rule, group, seeds[:look])
            if seen is None:
                return sequential.Stop(seeds[:look], sequential.OPEN)
            if not seen:
                return sequential.Stop(seeds[:look], sequential.PRECISE)
            wide = seen
        return sequential.Stop(seeds, sequential.MOST, wide)

    def rule(self, sweep: Sweep) -> sequential.Rule | None:
        """The rule that the seeds of a sweep follow in this run: none for a quick look, none for seeds that somebody names."""
        return None if self.quick or self.given_seeds is not None else sweep.sequential

    def seed_counts(self, sweep: Sweep) -> str:
        """How many seeds its points have: `30`, or `10 to 30`."""
        counts = [len(self.seeds_at(sweep, point, key)) for point, key in self.points(sweep)]
        low, high = min(counts, default=0), max(counts, default=0)
        return str(low) if low == high else f"{low} to {high}"

    def rules(self) -> list[tuple[str, list[str]]]:
        """The rules that seeds followed, in words, and the sweeps of each, with how many points stopped for which reason."""
        found: dict[str, list[str]] = {}
        for sweep in self.plan.sweeps:
            rule = self.rule(sweep)
            if rule is not None:
                reasons = [self.stop_of(sweep, point).reason for point, _ in self.points(sweep)]
                counted = ", ".join(
                    f"{reasons.count(reason)} {told}"
                    for reason, told in sequential.TOLD.items()
                    if reason in reasons
                )
                found.setdefault(rule.text(len(sweep.seeds)), []).append(f"{sweep.name} ({counted})")
        return list(found.items())

    def stops(self) -> Iterator[tuple[Sweep, Point, sequential.Stop]]:
        """Every point of every sweep that has a rule for its seeds, with the number of seeds at which it stopped."""
        for sweep in self.plan.sweeps:
            if self.rule(sweep) is not None:
                for point, _ in self.points(sweep):
                    yield sweep, point, self.stop_of(sweep, point)

    def _group(self, sweep: Sweep, rule: sequential.Rule, point: Point) -> tuple[Any, ...]:
        """The values that are equal for all points that stop together with this one."""
        together = rule.together
        return tuple(
            (axis.name, point.at[axis.name])
            for axis in sweep.axes
            if (axis.name == ENGINE if together is None else axis.name not in together)
        )

    def _wide(
        self, sweep: Sweep, rule: sequential.Rule, group: tuple[Any, ...], seeds: tuple[int, ...]
    ) -> tuple[str, ...] | None:
        """The quantities that are too wide at the points of a group with these seeds; empty when all are narrow, None while runs are missing."""
        found = self._looks.setdefault((sweep.name, len(seeds)), {})
        if group not in found:
            groups = self._groups(sweep, rule)
            if not self._there(groups[group], seeds):
                return None
            # One query for many groups: its fixed cost is more than that of its rows. Groups that stopped earlier are not looked at again.
            before = [look for look in rule.looks(len(self.seeds(sweep))) if look < len(seeds)]
            mine = [
                each
                for each, members in groups.items()
                if each not in found
                and (each == group or all(self._looks[sweep.name, look].get(each) for look in before))
                and self._there(members, seeds)
            ]
            found.update(self._look(sweep, rule, {each: groups[each] for each in mine}, seeds))
        return found[group]

    def _groups(self, sweep: Sweep, rule: sequential.Rule) -> dict[tuple[Any, ...], list[tuple[Point, str]]]:
        """The points of a sweep by the groups that stop together, without those whose number of seeds is fixed."""
        if sweep.name not in self._grouped:
            found: dict[tuple[Any, ...], list[tuple[Point, str]]] = {}
            for point, key in self.points(sweep):
                if not _beside(sweep, rule, point):
                    found.setdefault(self._group(sweep, rule, point), []).append((point, key))
            self._grouped[sweep.name] = found
        return self._grouped[sweep.name]

    def _there(self, members: Sequence[tuple[Point, str]], seeds: Sequence[int]) -> bool:
        return all(self.store.has(key, seed) for _, key in members for seed in seeds)

    def _look(
        self,
        sweep: Sweep,
        rule: sequential.Rule,
        groups: Mapping[tuple[Any, ...], Sequence[tuple[Point, str]]],
        seeds: tuple[int, ...],
    ) -> dict[tuple[Any, ...], tuple[str, ...]]:
        """The quantities that are too wide in each of these groups: from a look that is kept, or read from the results now."""
        most = len(self.seeds(sweep))
        keys = {
            group: looks.key(rule, most, seeds, (key for _, key in members))
            for group, members in groups.items()
        }
        unknown = {group: groups[group] for group, key in keys.items() if self.looks.of(key) is None}
        if unknown:
            for group, wide in self._read_look(sweep, rule, unknown, seeds).items():
                self.looks.learn(keys[group], wide)
        return {group: self.looks.of(key) or () for group, key in keys.items()}

    def _read_look(
        self,
        sweep: Sweep,
        rule: sequential.Rule,
        groups: Mapping[tuple[Any, ...], Sequence[tuple[Point, str]]],
        seeds: tuple[int, ...],
    ) -> dict[tuple[Any, ...], tuple[str, ...]]:
        most = len(self.seeds(sweep))
        mine = [(point, key, seed) for members in groups.values() for point, key in members for seed in seeds]
        axes = [axis.name for axis in sweep.axes]
        found = grid.load(
            store.query(
                [self.store.path(key, seed) for _, key, seed in mine],
                [point.at for point, _, _ in mine],
                grid.sql(axes, {figure.name: figure.of for figure in rule.figures}),
            ),
            axes,
            [figure.name for figure in rule.figures],
        )
        try:
            return {
                group: tuple(
                    told
                    for point, _ in members
                    for told in rule.wide(found.cells[tuple(point.at[axis] for axis in axes)], most)
                )
                for group, members in groups.items()
            }
        except ValueError as error:
            raise PlanError(f"{self.plan.name}: sweep `{sweep.name}`: sequential: {error}") from None

    def points(self, sweep: Sweep) -> list[tuple[Point, str]]:
        """Every point of a sweep in this run, with the key of its results."""
        if sweep.name not in self._points:
            try:
                points = list(sweep.points(self.quick))
            except PlanError as error:
                raise PlanError(f"{self.plan.folder / 'plan.toml'}: sweep `{sweep.name}`: {error}") from None
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
        """A query over the `runs` of one sweep, as `rows` makes it, as an Arrow table."""
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
        return grid.load(
            self.table(sweep, grid.sql(axes, measures), kind), axes, list(measures), self.least(found)
        )

    def least(self, sweep: Sweep) -> int:
        """Seeds that it takes to judge a mean of a sweep."""
        rule = self.rule(sweep)
        if rule is not None:
            return min(rule.first, rule.beside or rule.first)
        return stats.LEAST


def _beside(sweep: Sweep, rule: sequential.Rule, point: Point) -> bool:
    """Whether a point is of an engine that only stands beside the judged one, and has seeds of its own."""
    return rule.beside is not None and sweep.judged not in (None, point.at.get(ENGINE))


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
