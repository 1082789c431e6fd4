"""The rule for the number of seeds: it asks how wide intervals are, and never where they lie."""

import dataclasses
import json
import random
import tomllib

import pytest
from fake import run
from fake import simulate as fake_simulate

from anabranch_lab import stats
from anabranch_lab.judge import analyses as judging
from anabranch_lab.plan import plan, sequential
from anabranch_lab.run import looks, store, usual_seeds
from anabranch_lab.run.results import Results
from anabranch_lab.run.schedule import Schedule

GOODPUT = "sum(sent_unique_payload_bps) FILTER (kind = 'flow' AND name = 'sctp')"
TABLE = {"first": 10, "step": 10, "precise": {"goodput": {"of": GOODPUT, "half": 0.5}}}


def rule_of(**changes):
    return sequential.parse({**TABLE, **changes})


def simulator(mean=lambda scenario: 5.0, sd=lambda scenario: 1.0):
    """A simulator whose goodput is normal: mean and deviation by the scenario."""

    def simulate(scenario, seed, *, trace=False):
        outcome = fake_simulate(scenario, seed, trace=trace)
        for flow in outcome.summary["flows"]:
            drawn = random.Random(seed).gauss(0, 1)
            flow["sent_unique_payload_bps"] = mean(scenario) + sd(scenario) * drawn
        return outcome

    return simulate


def noisy(scenario):
    """The last of three points has losses of 3 %, so its runs vary from seed to seed."""
    return 2.0 if "p = 0.03\n" in scenario else 0.1


@pytest.fixture
def study(satellite):
    """One sweep of three points with 30 seeds, with a rule."""

    def make(folder, rule, **changes):
        sweep = dataclasses.replace(satellite.sweep("study"), seeds=tuple(range(1, 31)), **changes)
        axes = tuple(axis.only([0.008, 0.01, 0.03]) if axis.name == "p" else axis for axis in sweep.axes)
        sweep = dataclasses.replace(sweep, sequential=rule, axes=axes)
        return Results(dataclasses.replace(satellite, sweeps=(sweep,)), folder, code="c")

    return make


def counts(results):
    return {point.at["p"]: len(stop.seeds) for _, point, stop in results.stops()}


def test_points_stop_by_themselves_or_together(study, tmp_path):
    alone = study(tmp_path / "alone", rule_of(together=[]))
    assert run(alone, 2, simulator(sd=noisy)) == 2 * 10 + 30
    assert list(counts(alone).values()) == [10] * 2 + [30]
    assert [stop.reason for _, _, stop in alone.stops()] == ["precise"] * 2 + ["most"]
    assert alone.seed_counts(alone.plan.sweeps[0]) == "10 to 30"
    # Compared seed by seed, all have the seeds of the widest.
    together = study(tmp_path / "together", rule_of())
    assert run(together, 2, simulator(sd=noisy)) == 3 * 30
    assert run(together, 2, simulator(sd=noisy)) == 0


def test_an_estimate_knows_how_many_seeds_are_usual_and_the_rule_does_not(study, tmp_path, monkeypatch):
    results = study(tmp_path, rule_of(together=[]))
    sweep = results.plan.sweeps[0]
    schedule = Schedule(results)
    monkeypatch.setattr(usual_seeds, "of", lambda plan, name: None)
    assert schedule.later() == 0
    monkeypatch.setattr(usual_seeds, "of", lambda plan, name: 14.0 if name == sweep.name else None)
    one = sum(
        schedule.costs.of(key, point.scenario, sweep=sweep.name) for point, key in results.points(sweep)
    )
    assert schedule.later() == pytest.approx(4 * one)
    assert run(results, 2, simulator(sd=noisy)) == 2 * 10 + 30, "the rule goes its own way"
    assert schedule.later() == 0
    usual_seeds.write([results], tmp_path / "usual.toml")
    mean = tomllib.loads((tmp_path / "usual.toml").read_text("utf-8"))[results.plan.name][sweep.name]
    assert 10 < mean < 30


@pytest.mark.parametrize("mean", [-100.0, 0.0, 4.9, 5.0, 1e6])
def test_it_stops_by_width_whatever_is_measured(study, tmp_path, mean):
    """Claims that hold, that fail and that nearly fail get the same seeds: only the spread decides."""
    results = study(tmp_path, rule_of(together=[]))
    run(results, 2, simulator(mean=lambda _: mean, sd=noisy))
    assert list(counts(results).values()) == [10] * 2 + [30]


def test_looks_are_paid_for(study, tmp_path):
    # 30 seeds in steps of 5 from 10: four looks, each with an interval of 98.75 %.
    rule = rule_of(step=5)
    assert rule.looks(30) == (10, 15, 20, 25)
    assert rule.level(30) == pytest.approx(1 - 0.05 / 4)
    values = [float(value % 3) for value in range(10)]
    half = stats.estimate(values).half_at(rule.level(30))
    assert half > stats.estimate(values).half
    for enough, wide in ((half * 1.001, []), (half * 0.999, [f"goodput ± {half:.3g}"])):
        figure = sequential.Figure("goodput", GOODPUT, enough)
        assert dataclasses.replace(rule, figures=(figure,)).wide({"goodput": values}, 30) == wide
    # The plain 95 % interval would have been narrow enough for less.
    assert stats.estimate(values).half_at(0.95) == pytest.approx(stats.estimate(values).half)


def test_intervals_still_cover(tmp_path):
    """Stopping by width costs intervals little of their coverage where ten seeds come first (at worst: test_grades.py)."""
    rule = rule_of(precise={"goodput": {"of": "x", "half": 0.6}})
    rng = random.Random(7)
    covered, stopped = 0, []
    for _ in range(2000):
        values = [rng.gauss(5, 1) for _ in range(30)]
        look = next((n for n in rule.looks(30) if not rule.wide({"goodput": values[:n]}, 30)), 30)
        stopped.append(look)
        found = stats.estimate(values[:look])
        covered += found.low <= 5 <= found.high
    assert min(stopped) == 10
    assert max(stopped) > 10
    assert 0.935 < covered / 2000 < 0.97


def test_it_is_the_same_in_any_order_and_after_an_interrupt(study, tmp_path):
    def broken(after):
        left = [after]
        inner = simulator(sd=noisy)

        def simulate(scenario, seed, *, trace=False):
            if left[0] == 0:
                raise KeyboardInterrupt
            left[0] -= 1
            return inner(scenario, seed, trace=trace)

        return simulate

    first, second, third = (study(tmp_path / name, rule_of(together=[])) for name in "abc")
    assert run(first, 1, simulator(sd=noisy)) == run(second, 4, simulator(sd=noisy)) == 50
    for after in (15, 20):
        with pytest.raises(KeyboardInterrupt):
            run(third, 1, broken(after))
    again = study(tmp_path / "c", rule_of(together=[]))
    assert run(again, 2, simulator(sd=noisy)) == 50 - 35
    names = [sorted(path.name for path in (tmp_path / name).glob("*/*/*.parquet")) for name in "abc"]
    assert names[0] == names[1] == names[2]
    assert [job.seed for job in Schedule(first).jobs()] == [job.seed for job in Schedule(again).jobs()]


def test_what_is_open_says_so(study, tmp_path):
    results = study(tmp_path, rule_of(together=[]))
    assert {stop.reason for _, _, stop in results.stops()} == {"open"}
    assert set(counts(results).values()) == {10}


def test_an_engine_beside_has_its_own_number(satellite, study, tmp_path):
    axis = plan.Axis("engine", ("one", "two"), ({"random": "common"}, {"random": "apart"}), "engine")
    sweep = satellite.sweep("study")
    results = study(tmp_path, rule_of(beside=10), axes=(axis, *sweep.axes[-1:]), judged="one")
    run(results, 2, simulator(sd=lambda _: 3.0))
    assert [
        (stop.reason, len(stop.seeds)) for _, point, stop in results.stops() if point.at["engine"] == "two"
    ] == [("beside", 10)] * 3
    assert {stop.reason for _, point, stop in results.stops() if point.at["engine"] == "one"} == {"most"}


def test_all_seeds_of_the_judged_engine_and_ten_beside_it(satellite, study, tmp_path):
    axis = plan.Axis("engine", ("one", "two"), ({"random": "common"}, {"random": "apart"}), "engine")
    rule = sequential.parse({"first": 30, "beside": 10})
    results = study(
        tmp_path,
        rule,
        axes=(axis, *satellite.sweep("study").axes[-1:]),
        judged="one",
        set={"duration": "9 s"},
    )
    assert run(results, 2, simulator()) == 3 * 30 + 3 * 10
    assert results.rules() == [
        (
            "All 30 seeds; 10 seeds of an engine that is not judged.",
            ["study (3 with all seeds of the plan, 3 beside what is judged)"],
        )
    ]


def test_few_seeds_judge_only_under_the_rule(study, tmp_path):
    calm = simulator(sd=lambda _: 0.1)
    ruled = study(tmp_path / "a", rule_of())
    run(ruled, 2, calm)
    found = ruled.grid("study", {"goodput": GOODPUT})
    curve = found.curve("goodput", over="p")
    for estimate in (
        found.at("goodput", p=0.01),
        curve.at(0.01),
        curve.slope(),
        (curve - curve).rise(0.008, 0.03),
    ):
        assert (estimate.n, estimate.least) == (10, 10)
    # Four seeds without a stopping rule judge nothing, nor together with points that have enough.
    plain = Results(ruled.plan, tmp_path / "a", code="c", seeds=range(1, 5))
    few = plain.grid("study", {"goodput": GOODPUT}).at("goodput", p=0.01)
    assert (few.n, few.least) == (4, stats.LEAST)
    other = dataclasses.replace(found.sample("goodput", p=0.01), least=40)
    assert (found.sample("goodput", p=0.01) - other).least == 40


def test_the_files_say_why(study, tmp_path):
    results = study(tmp_path / "r", rule_of(together=[]))
    run(results, 2, simulator(sd=noisy))
    told = list(judging.seeds_of(results))
    judging.write_seeds(told, tmp_path / "seeds.json")
    read = json.loads((tmp_path / "seeds.json").read_text())
    assert read[0] == {
        "experiment": "satellite-2005",
        "sweep": "study",
        "point": {"p": 0.008},
        "seeds": 10,
        "why": "precise",
        "too_wide": [],
    }
    assert read[-1]["why"] == "most"
    assert "goodput ± " in read[-1]["too_wide"][0]
    ((text, sweeps),) = results.rules()
    assert "looked at after 10 and 20 seeds with 97.5 % intervals, at most 30 seeds" in text
    assert sweeps == ["study (2 narrow enough, 1 with all seeds of the plan)"]


def test_shares_of_the_mean_and_what_is_not_there(study, tmp_path):
    precise = {
        "goodput": {"of": GOODPUT, "half": "10 %"},
        "other": {"of": "sum(arrivals) FILTER (name = 'none')", "half": 1},
    }
    results = study(tmp_path / "a", rule_of(precise=precise))
    assert run(results, 2, simulator(mean=lambda _: 50.0)) == 30
    nothing = study(tmp_path / "b", rule_of(precise={"other": precise["other"]}))
    with pytest.raises(plan.PlanError, match="none of other is there"):
        run(nothing, 2, simulator())


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"first": 4}, "at least 5"),
        ({"step": 0}, "steps of 1"),
        ({"beside": 3}, "at least 5"),
        ({"precise": {}}, "is missing"),
        ({"precise": {"x": {"of": "1"}}}, "needs `of`"),
        ({"precise": {"x": {"of": "1", "half": "few"}}}, "a number or"),
        ({"precise": {"x": {"of": "1", "half": 0}}}, "more than 0"),
        ({"upto": 100}, "no `upto`"),
    ],
)
def test_wrong_rules(change, problem):
    with pytest.raises(ValueError, match=problem):
        rule_of(**change)


PLAN = """
title = "t"
study = "0"
seeds = "1..30"
[sequential]
first = 10
precise = { utilisation = { of = "sum(utilisation) FILTER (kind = 'link')", half = 0.01 } }
[axes.n]
keys = ["flow.one.count"]
values = [1, 2]
"""


@pytest.mark.parametrize(
    ("sweep", "first"),
    [
        ("", 10),
        ("sequential = false", None),
        ('seeds = "1..10"', None),
        ("trace = true", None),
        ('batch = ["n"]', None),
        ('sequential = { first = 20, precise = { x = { of = "1", half = 1 } } }', 20),
    ],
)
def test_which_sweeps_follow_the_rule_of_a_plan(tmp_path, sweep, first):
    (tmp_path / "scenario.toml").write_text("[[flow]]\nname = 'one'\nprotocol = 'sctp'\n")
    (tmp_path / "plan.toml").write_text(PLAN + f'[[sweep]]\nname = "s"\nabout = "a"\naxes = ["n"]\n{sweep}\n')
    rule = plan.load(tmp_path).sweep("s").sequential
    assert (None if rule is None else rule.first) == first


def test_a_sweep_cannot_stop_points_together_over_an_axis_that_it_has_not(tmp_path):
    (tmp_path / "scenario.toml").write_text("[[flow]]\nname = 'one'\nprotocol = 'sctp'\n")
    wrong = 'sequential = { together = ["m"], precise = { x = { of = "1", half = 1 } } }'
    (tmp_path / "plan.toml").write_text(PLAN + f'[[sweep]]\nname = "s"\nabout = "a"\naxes = ["n"]\n{wrong}\n')
    with pytest.raises(plan.PlanError, match="no axis `m`"):
        plan.load(tmp_path)


def test_what_a_look_found_is_kept(study, tmp_path, monkeypatch):
    """Each look at the seeds of three groups reads the results once, and no later command reads them again."""
    made = study(tmp_path, rule_of(together=[]))
    run(made, 2, simulator(sd=noisy))
    found, asked = list(made.stops()), []
    monkeypatch.setattr(store, "query", lambda *arguments: asked.append(arguments))
    assert list(study(tmp_path, rule_of(together=[])).stops()) == found
    assert asked == []
    # Another rule needs another look, and so does another build.
    monkeypatch.undo()
    question = store.query

    def query(files, *arguments):
        asked.append(len(files))
        return question(files, *arguments)

    monkeypatch.setattr(store, "query", query)
    wider = study(tmp_path, rule_of(together=[], precise={"goodput": {"of": GOODPUT, "half": 50}}))
    assert {stop.reason for _, _, stop in wider.stops()} == {"precise"}
    # One query reads all groups of a look.
    assert asked == [30]


def test_a_broken_file_of_looks_is_no_obstacle(study, tmp_path):
    made = study(tmp_path, rule_of(together=[]))
    run(made, 2, simulator(sd=noisy))
    found = list(made.stops())
    for broken in ("", "[]", '{"a": 1}'):
        (made.store.folder / looks.FILE).write_text(broken)
        assert list(study(tmp_path, rule_of(together=[])).stops()) == found
