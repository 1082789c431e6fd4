import concurrent.futures
import dataclasses
import os
import threading

import pytest
from fake import run
from fake import simulate as fake_simulate

from anabranch_lab.plan.plan import load
from anabranch_lab.plan.sequential import parse
from anabranch_lab.run import campaign, estimate, simulation
from anabranch_lab.run.results import Results
from anabranch_lab.run.schedule import Schedule


class Counted:
    """A simulator that counts, and breaks after so many runs."""

    def __init__(self, stop_after=None, error=KeyboardInterrupt):
        self.calls = []
        self.lock = threading.Lock()
        self.stop_after, self.error = stop_after, error

    def __call__(self, scenario, seed, *, trace=False):
        with self.lock:
            if self.stop_after is not None and len(self.calls) >= self.stop_after:
                raise self.error
            self.calls.append(seed)
        return fake_simulate(scenario, seed, trace=trace)


@pytest.fixture
def small(satellite):
    """Two sweeps of the plan, three seeds."""
    kept = tuple(s for s in satellite.sweeps if s.name in ("study", "figure-8"))
    return dataclasses.replace(satellite, sweeps=kept)


def results_of(plan, folder, code="c"):
    return Results(plan, folder, seeds=(1, 2, 3), code=code)


def test_a_second_run_makes_nothing(small, tmp_path):
    first, second = Counted(), Counted()
    assert run(results_of(small, tmp_path), 2, first) == 24
    assert len(first.calls) == 24
    assert run(results_of(small, tmp_path), 2, second) == 0
    assert second.calls == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_an_interrupt_keeps_every_finished_run(small, tmp_path, error):
    broken, rest = Counted(stop_after=10, error=error), Counted()
    with pytest.raises(error):
        run(results_of(small, tmp_path), 2, broken)
    done = list(tmp_path.glob("*/*/*-?.parquet"))
    assert len(done) == len(broken.calls) == 10
    assert not list(tmp_path.glob("**/*.part"))
    assert run(results_of(small, tmp_path), 2, rest) == 14
    assert len(rest.calls) == 14


def test_other_code_another_seed_or_another_value_is_another_run(small, tmp_path):
    run(results_of(small, tmp_path), 1, Counted())
    assert run(results_of(small, tmp_path, "d"), 1, Counted()) == 24
    four = Results(small, tmp_path, seeds=(1, 2, 3, 4), code="c")
    assert run(four, 1, Counted()) == 8
    changed = dataclasses.replace(small.sweeps[0], set={"duration": "999 s"})
    plan = dataclasses.replace(small, sweeps=(changed,))
    assert run(results_of(plan, tmp_path), 1, Counted()) == 21


def test_what_a_killed_process_left_is_made_again(small, tmp_path):
    run(results_of(small, tmp_path), 2, Counted())
    whole = sorted(tmp_path.glob("c/*/*-2.parquet"))[0]
    # No process has this number: it is above the most that Linux gives.
    whole.rename(whole.with_name(whole.name + ".4194305.part"))
    living = whole.with_name(f"other.parquet.{os.getppid()}.part")
    living.touch()
    assert run(results_of(small, tmp_path), 2, Counted()) == 1
    assert whole.is_file()
    assert list(tmp_path.glob("**/*.part")) == [living]


def test_a_recorded_run_without_its_trace_is_made_again(small, tmp_path):
    run(results_of(small, tmp_path), 2, Counted())
    next(tmp_path.glob("c/*/*.trace.parquet")).unlink()
    assert run(results_of(small, tmp_path), 2, Counted()) == 1


def test_one_and_four_workers_write_the_same(small, tmp_path):
    answers = []
    for workers in (1, 4):
        results = results_of(small, tmp_path / str(workers))
        run(results, workers, Counted())
        answers.append(results.rows("study", "SELECT * FROM runs ORDER BY p, seed, kind, name, subflow"))
    assert answers[0] == answers[1]
    assert len(answers[0]) == 7 * 3 * (2 + 2 + 8)


def test_progress_is_told_of_every_run(small, tmp_path):
    class Watch(campaign.Silent):
        def __init__(self):
            self.steps, self.begun = 0, None

        def begin(self, total, on_disk, cost, later=0.0):
            self.begun = (total, on_disk)
            self.cost = cost

        def step(self, name, cost, runs=1, seconds=0.0):
            self.steps += 1
            self.cost -= cost

    watch = Watch()
    run(results_of(small, tmp_path), 2, Counted(), watch)
    # Some are made before anybody is told.
    total, before = watch.begun
    assert (total, before + watch.steps) == (24, 24)
    assert 0 < before < 12
    assert watch.cost == pytest.approx(0)


def test_a_sweep_that_wants_a_trace_and_gets_none_says_so(small, tmp_path):
    def without(scenario, seed, *, trace=False):
        return dataclasses.replace(fake_simulate(scenario, seed, trace=trace), trace=None)

    with pytest.raises(ValueError, match="records none"):
        run(results_of(small, tmp_path), 1, without)


def test_points_with_a_wide_interval_get_more_seeds_and_always_the_same(satellite, tmp_path):
    measure = "sum(sent_unique_payload_bps) FILTER (kind = 'flow' AND name = 'sctp')"

    def noisy(scenario, seed, *, trace=False):
        outcome = fake_simulate(scenario, seed, trace=trace)
        for flow in outcome.summary["flows"]:
            # Three of the seven points hardly vary from seed to seed.
            calm = any(f"p = {p}\n" in scenario for p in (0.008, 0.009, 0.01))
            flow["sent_unique_payload_bps"] = 5.0 if calm else 5.0 + (seed % 2)
        return outcome

    def results(folder, most, half=0.2):
        table = {"first": 30, "step": 10, "together": [], "precise": {"x": {"of": measure, "half": half}}}
        study = dataclasses.replace(
            satellite.sweep("study"), seeds=tuple(range(1, most + 1)), sequential=parse(table)
        )
        plan = dataclasses.replace(satellite, sweeps=(study,))
        return Results(plan, folder, code="c")

    # Zeros and ones: 30 seeds give a half width of 0.28 at 99.3 % (seven looks), 50 give 0.20, 60 give 0.18.
    first, second = results(tmp_path / "1", 100), results(tmp_path / "2", 100)
    assert run(first, 1, noisy) == run(second, 4, noisy) == 3 * 30 + 4 * 60
    assert first.seed_counts(first.plan.sweeps[0]) == "30 to 60"
    assert run(first, 2, noisy) == 0
    assert [job.seed for job in Schedule(first).jobs()] == [job.seed for job in Schedule(second).jobs()]
    assert run(results(tmp_path / "3", 45, 0.1), 2, noisy) == 3 * 30 + 4 * 45


SHORT = """
duration = "9 s"
[[link]]
name = "wire"
from = "a"
to = "b"
rate = "1 Mbit/s"
delay = "1 ms"
both = true
[[flow]]
name = "one"
from = "a"
to = "b"
protocol = "sctp"
engine = "rfc9260"
traffic = { kind = "transfer", bytes = "20 kB", message = "1452 B" }
"""

BATCHED = """
title = "t"
study = "x"
seeds = "1..2"
quick_seeds = "1"
[axes.rate]
keys = { "link.wire.rate" = "{} Mbit/s" }
values = [1, 2]
[axes.delay]
keys = { "link.wire.delay" = "{} ms" }
values = [1, 20, 5]
[[sweep]]
name = "s"
about = "a"
axes = ["rate", "delay"]
skip = [{ rate = 2, delay = 1 }]
"""


def test_a_batch_says_the_same_as_its_runs_one_by_one(tmp_path):
    (tmp_path / "scenario.toml").write_text(SHORT)
    answers, made = [], []
    for batch in ("", 'batch = ["delay"]\n', 'batch = ["rate", "delay"]\n'):
        (tmp_path / "plan.toml").write_text(BATCHED + batch)
        results = Results(load(tmp_path), tmp_path / "results")
        assert sum(job.runs for job in Schedule(results).jobs()) == 10
        made.append(run(results, 2, simulation.simulate))
        assert run(results, 2, simulation.simulate) == 0
        answers.append(
            results.rows("s", "SELECT * FROM runs ORDER BY seed, rate, delay, kind, name, subflow")
        )
        assert answers[-1] == answers[0]
        one = results.grid("s", {"time": "max(completion_s)"}).at("time", rate=2, delay=20)
        assert one.n == 2
        assert one.mean > 0.1
    assert len(answers[0]) == 10 * 4
    assert made == [10, 10, 10]
    # Five points and two seeds; then two batches, then one, for each seed.
    assert len(list((tmp_path / "results").glob("*/*/*.parquet"))) == 10 + 4 + 2
    assert len({row["completion_s"] for row in answers[0] if row["kind"] == "flow"}) == 5


class Slow(campaign.Threads):
    """Runs that take so many times as long as was thought, in time that is made up, by how large they are."""

    def __init__(self, factor):
        super().__init__(1)
        self.factor, self.spent = factor, 0.0

    def submit(self, task):
        done = super().submit(task).result()
        seconds = self.factor(estimate.seconds(task.scenario))
        self.spent += seconds
        finished = concurrent.futures.Future()
        finished.set_result(dataclasses.replace(done, seconds=seconds))
        return finished


class Told(campaign.Silent):
    """Keeps the reports of `begin`, each with the time that the executor had spent by then."""

    def __init__(self, executor):
        self.executor, self.said = executor, []

    def begin(self, total, on_disk, cost, later=0.0):
        self.said.append((on_disk, cost, self.executor.spent))


@pytest.mark.parametrize("factor", [lambda seconds: 18 * seconds, lambda seconds: 0.4 * seconds**1.5])
def test_the_time_that_is_told_is_right_within_30_percent(small, tmp_path, factor):
    executor = Slow(factor)
    told = Told(executor)
    campaign.run([Schedule(results_of(small, tmp_path), fake_simulate)], executor, told)
    on_disk, cost, before = told.said[0]
    took = executor.spent - before
    assert 0 < on_disk < 12, "some runs say how long the others take, and not most of them"
    assert abs(cost - took) < 0.3 * took, (cost, took)
