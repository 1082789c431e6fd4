"""Results that are made up, for judges: a value for every measure at every point, and one thing bent at a time.

A world is a function of sweep, measure and place. The judges of an experiment see it as the results of 30 seeds that hardly differ. A bend
moves one measure of one sweep: by a factor, at one value of an axis, or with an axis turned round, as when somebody confuses a sign.
With a spread the seeds differ as those of a simulator do, and are as many as the plan has.
"""

import functools
import itertools
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from anabranch_lab import stats
from anabranch_lab.judge import experiment
from anabranch_lab.judge.experiment import Analysis
from anabranch_lab.plan import folders
from anabranch_lab.run import grid

World = Callable[[str, str, Mapping[str, object]], float | None]
SEEDS = tuple(range(1, 31))
RECORD = "record"
"""Instead of a measure: the events of a recorded run."""


@dataclass(frozen=True)
class Bend:
    """A fault in the made-up results."""

    sweep: str | None
    """The sweep that is changed; None: all of them."""
    measure: str
    factor: float = 1.0
    axis: str = ""
    """The axis at one value of which the measure is changed, or along which its values are reversed."""
    value: object = None
    turned: bool = False
    alike: bool = False
    """Whether all values of the seeds are the first one, as when the seed makes no difference."""


@dataclass(frozen=True)
class Spread:
    """The spread of the seeds of a right replica: a normal share of each value, drawn anew for each measure, point and seed.

    Points are independent of each other. Common random numbers of a simulator make differences of points narrower than that, so this is the
    harder case: differences, maxima and orders of points vary the most.
    """

    relative: float
    """The standard deviation of a value, as a share of it."""
    draw: int
    """Which draw: the same number gives the same values."""
    rare: float = 0.0
    """The share of runs in which something is 1 that is 0 in the world: an event that happens now and then."""

    def column(self, sweep, measure: str, at: Mapping[str, object], value: float | tuple | None) -> list:
        """A value for each seed of the sweep."""
        n = len(sweep.seeds)
        if isinstance(value, tuple):
            return list(itertools.islice(itertools.cycle(value), n))
        if value is None or n < stats.LEAST:
            # Where nothing is drawn a plan has fewer seeds than a mean takes.
            return [value] * n
        drawn = random.Random(
            repr((self.draw, self.relative, sweep.name, measure, sorted(at.items(), key=repr)))
        )
        if value == 0:
            return [float(drawn.random() < self.rare) for _ in range(n)]
        return [value * (1 + self.relative * drawn.gauss(0, 1)) for _ in range(n)]


@dataclass
class Made:
    """The made-up results of one experiment, and the values that were asked for."""

    world: World
    bend: Bend | None = None
    asked: dict[tuple[str, str], None] = field(default_factory=dict)
    spread: Spread | None = None

    def value(self, sweep, measure: str, at: Mapping[str, object]) -> float | None:
        """One value, bent if it is to be."""
        self.asked[sweep.name, measure] = None
        bend = self.bend
        if bend is None or bend.measure != measure or bend.sweep not in (None, sweep.name):
            return self.world(sweep.name, measure, at)
        if bend.turned and bend.axis in at:
            values = next(axis.values for axis in sweep.axes if axis.name == bend.axis)
            turned = values[len(values) - 1 - values.index(at[bend.axis])]
            return self.world(sweep.name, measure, {**at, bend.axis: turned})
        value = self.world(sweep.name, measure, at)
        if value is None or (bend.axis and at.get(bend.axis) != bend.value):
            return value
        if bend.alike:
            return tuple(value[0] for _ in value) if isinstance(value, tuple) else value
        if isinstance(value, tuple):
            # A wrong sign is set for one of the seeds only.
            return tuple(v * bend.factor if i == 0 or bend.factor > 0 else v for i, v in enumerate(value))
        # A value of 0 is moved, too.
        return value * bend.factor if value else bend.factor

    def events(self, sweep, place) -> list:
        """The events of a recorded run; a bend gives those of a run that went otherwise."""
        self.asked[sweep.name, RECORD] = None
        bend = self.bend
        bad = bend is not None and (bend.sweep, bend.measure, bend.value) == (sweep.name, RECORD, place)
        return self.world.records(place, bad)


def affects(bend: Bend | None, sweep, measure: str) -> bool:
    """Whether a measure of a sweep is another one than in the world as it is."""
    return bend is not None and bend.measure == measure and bend.sweep in (None, sweep.name)


@functools.cache
def plain_points(plan_name: str, sweep_name: str) -> list["Point"]:
    """The points of a sweep. Of a large grid of short flows, those that are judged."""
    sweep = plan(plan_name).sweep(sweep_name)
    few = sweep.quick.axes if sweep.batch else {}
    names = [axis.name for axis in sweep.axes]
    every = itertools.product(*(few.get(axis.name, axis.values) for axis in sweep.axes))
    found = [dict(zip(names, values, strict=True)) for values in every]
    return [
        Point(at) for at in found if not any(all(at[k] in v for k, v in rule.items()) for rule in sweep.skip)
    ]


@functools.cache
def plain_rows(world: World, plan_name: str, sweep_name: str) -> list[dict]:
    """A row for each point with every measure that a world has, where nothing is wrong: a bend changes one measure of it."""
    measures = world(sweep_name, "", {})
    return [
        {**point.at, "seed": 1, **{each: world(sweep_name, each, point.at) for each in measures}}
        for point in plain_points(plan_name, sweep_name)
    ]


def column(value: float | tuple | None) -> list:
    """A value for each seed."""
    if isinstance(value, tuple):
        return list(value)
    # Symmetrical, so that the mean is the value.
    return [None if value is None else value * (1 + (1e-7 if seed % 2 else -1e-7)) for seed in SEEDS]


class Cell(dict):
    """One point: every measure that anybody asks for, a value for each seed."""

    known: ClassVar[dict[tuple, list]] = {}
    """The values that do not change with a fault elsewhere."""

    def __init__(self, made: Made, sweep, at):
        super().__init__(seed=list(SEEDS if made.spread is None else sweep.seeds))
        self._made, self._sweep, self._at = made, sweep, at

    def __missing__(self, measure):
        made, sweep = self._made, self._sweep
        if made.spread is not None:
            value = made.value(sweep, measure, self._at)
            self[measure] = made.spread.column(sweep, measure, self._at, value)
            return self[measure]
        if affects(made.bend, sweep, measure):
            self[measure] = column(made.value(sweep, measure, self._at))
            return self[measure]
        made.asked[sweep.name, measure] = None
        key = (made.world, sweep.name, measure, tuple(self._at.items()))
        if key not in self.known:
            self.known[key] = column(made.world(sweep.name, measure, self._at))
        self[measure] = self.known[key]
        return self[measure]


class Results:
    """Stands in for `anabranch_lab.run.results.Results`, as far as analyses need it."""

    quick = False

    def __init__(self, plan, worlds, made=None, analyses=None, everywhere=None, spread=None):
        self.plan, self._worlds, self._everywhere, self._spread = plan, worlds, everywhere, spread
        self.made = {} if made is None else made
        self.analyses = {} if analyses is None else analyses

    def of(self, plan):
        return Results(plan, self._worlds, self.made, self.analyses, self._everywhere, self._spread)

    @property
    def mine(self) -> Made:
        name = self.plan.name
        if name not in self.made:
            self.made[name] = Made(self._worlds[name], self._everywhere, spread=self._spread)
        return self.made[name]

    def rule(self, sweep):
        return sweep.sequential

    def points(self, sweep):
        for point in plain_points(self.plan.name, sweep.name):
            yield point, ""

    def grid(self, name, measures, kind=""):
        sweep = self.plan.sweep(name)
        axes = tuple(axis.name for axis in sweep.axes)
        cells = {
            tuple(point.at.values()): Cell(self.mine, sweep, point.at) for point, _ in self.points(sweep)
        }
        return grid.Grid(axes, (), cells)

    def rows(self, name, sql, kind="", at=None):
        """A row for each point, with every measure that the world has."""
        sweep = self.plan.sweep(name)
        if kind == "trace" and at:
            return self.mine.events(sweep, at["place"])
        measures = self.mine.world(name, "", {})
        self.mine.asked.update(dict.fromkeys((name, each) for each in measures))
        rows = [dict(row) for row in plain_rows(self.mine.world, self.plan.name, name)]
        bend = self.mine.bend
        if bend is not None and bend.measure in measures and affects(bend, sweep, bend.measure):
            for row, (point, _) in zip(rows, self.points(sweep), strict=True):
                row[bend.measure] = self.mine.value(sweep, bend.measure, point.at)
        return rows


@dataclass(frozen=True)
class Point:
    """A place in a grid."""

    at: Mapping[str, object]


@functools.cache
def plan(name: str):
    """The plan of an experiment of the checkout."""
    return folders.find(folders.root() / "experiments", name)


def judged(
    name: str, worlds: Mapping[str, World], bend: tuple[str | None, Bend] | None = None
) -> tuple[Analysis, dict]:
    """The experiment's own analysis of these worlds; `bend` says in which experiment (nothing: in all) there is which fault."""
    where, what = bend or (None, None)
    results = Results(plan(name), worlds, everywhere=what if where is None else None)
    if where is not None:
        results.made[where] = Made(worlds[where], what)
    return experiment.analyse(results), results.made


def drawn(name: str, worlds: Mapping[str, World], spread: Spread) -> Analysis:
    """The experiment's own analysis of these worlds where the seeds have a spread."""
    return experiment.analyse(Results(plan(name), worlds, spread=spread))


def bends(made: Mapping[str, Made]) -> Iterator[tuple[str | None, Bend]]:
    """All changes of the measures that were asked for; first those that make most parts fail: a measure in all sweeps at once."""
    places = [(where, sweep, measure) for where, mine in made.items() for sweep, measure in mine.asked]
    whole = list(dict.fromkeys((where, measure) for where, _, measure in places if measure != RECORD))

    def axes(where: str, *sweeps: str) -> list[tuple[str, list]]:
        found: dict[str, dict] = {}
        for axis in (axis for sweep in sweeps for axis in plan(where).sweep(sweep).axes):
            found.setdefault(axis.name, {}).update(dict.fromkeys(axis.values))
        return [(axis, list(values)) for axis, values in found.items() if len(values) > 1]

    for factor in (-1.0, 5.0, 0.2, 1.3):
        for where, measure in whole:
            yield where, Bend(None, measure, factor)
        if len(made) > 1:
            for measure in dict.fromkeys(measure for _, measure in whole):
                yield None, Bend(None, measure, factor)
    for where, measure in whole:
        yield where, Bend(None, measure, alike=True)
    for where, sweep, measure in places:
        if measure == RECORD:
            for _, values in axes(where, sweep):
                for value in values:
                    yield where, Bend(sweep, RECORD, value=value)
    for where, measure in whole:
        mine = [sweep for w, sweep, m in places if (w, m) == (where, measure)]
        for axis, _ in axes(where, *mine):
            yield where, Bend(None, measure, axis=axis, turned=True)
    for factor in (5.0, 0.2, -1.0):
        for where, sweep, measure in places:
            yield where, Bend(sweep, measure, factor)
    for factor in (5.0, 0.2):
        for where, measure in whole:
            mine = [sweep for w, sweep, m in places if (w, m) == (where, measure)]
            for axis, values in axes(where, *mine):
                for value in values:
                    yield where, Bend(None, measure, factor, axis, value)
    for where, sweep, measure in places:
        for axis, values in axes(where, sweep):
            yield where, Bend(sweep, measure, axis=axis, turned=True)
            for value, factor in itertools.product(values, (0.2, 5.0)):
                yield where, Bend(sweep, measure, factor, axis, value)
