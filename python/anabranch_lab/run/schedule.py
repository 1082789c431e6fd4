"""The schedule of an experiment: the runs that it needs, and how long they take."""

from collections.abc import Iterable
from dataclasses import dataclass

from ..plan import sequential
from ..plan.plan import Point, Sweep
from . import costs, simulation, usual_seeds, work
from .results import Results


@dataclass(frozen=True)
class Job:
    """One run, or one batch of them, that is or will be a file."""

    experiment: str
    sweep: Sweep
    point: Point
    seed: int
    key: str

    batch: tuple[tuple[tuple[str, str], ...], ...] = ()
    """Of a batch: the settings of each of its runs over the scenario; empty for a run by itself."""

    @property
    def runs(self) -> int:
        """The number of runs of the job."""
        return max(1, len(self.batch))

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of files that the job writes."""
        return (work.TRACE, work.RUNS) if self.sweep.trace else (work.RUNS,)


class Schedule:
    """The runs behind the results of a plan, and the simulator that makes them."""

    def __init__(self, results: Results, simulate: work.Simulate = simulation.simulate):
        self.results = results
        self.simulate = simulate
        self.costs = costs.Costs(results.folder / "costs.json")

    def jobs(self, sweeps: Iterable[Sweep] | None = None) -> list[Job]:
        """Every run of the plan, in the order of the plan."""
        jobs = []
        for sweep in self.results.plan.sweeps if sweeps is None else sweeps:
            points = self.results.points(sweep)
            batches: dict[str, list[Point]] = {}
            for point, key in points if sweep.batch else ():
                if point.run == 0:
                    batches[key] = []
                batches[key].append(point)
            for point, key in points:
                if point.run:
                    continue
                batch = tuple(each.overrides for each in batches.get(key, ()))
                jobs += [
                    Job(self.results.plan.name, sweep, point, seed, key, batch)
                    for seed in self.results.seeds_at(sweep, point, key)
                ]
        return jobs

    def later(self) -> float:
        """The expected time of the seeds that rules will ask for later, seconds of a processor: points of a sweep use as many as
        they did in the last whole run of the checkout's studies (`usual_seeds`). Nothing is expected of other sweeps.
        """
        total = 0.0
        for sweep in self.results.plan.sweeps:
            usual = usual_seeds.of(self.results.plan.name, sweep.name)
            if usual is None or self.results.rule(sweep) is None:
                continue
            for point, key in self.results.points(sweep):
                stop = self.results.stop_of(sweep, point)
                if stop.reason == sequential.OPEN:
                    more = max(0.0, usual - len(stop.seeds))
                    total += more * self.costs.of(key, point.scenario, sweep=sweep.name)
        return total

    def cost(self, job: Job) -> float:
        """The expected time of a job, seconds of a processor."""
        return self.costs.of(job.key, job.point.scenario, job.runs, job.sweep.name)
