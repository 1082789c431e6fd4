"""The estimated time of a run: only relations are tested, no clock is looked at."""

import pytest
from fake import simulate

from anabranch_lab.plan import folders
from anabranch_lab.run import costs, estimate
from anabranch_lab.run import work as work_module

COMMON = folders.root() / "experiments" / "sf-sctp-2007" / "common"
BOTTLENECK = (COMMON / "fig-5.8.toml").read_text(encoding="utf-8")
LOSSY = (COMMON / "fig-5.25.toml").read_text(encoding="utf-8")


def work(scenario):
    return estimate.seconds(scenario) - estimate.PER_RUN


def test_twice_as_long_costs_twice_as_much():
    assert work(BOTTLENECK.replace('"200 s"', '"400 s"')) == pytest.approx(2 * work(BOTTLENECK))


def test_a_bottleneck_bounds_all_flows_together():
    flow = BOTTLENECK[BOTTLENECK.index("[[flow]]") :]
    two = BOTTLENECK + flow.replace('"sf"', '"other"')
    assert work(two) == pytest.approx(work(BOTTLENECK))
    assert work(BOTTLENECK.replace('"10 Mbit/s"', '"20 Mbit/s"')) == pytest.approx(2 * work(BOTTLENECK))


def test_losses_bound_by_their_root():
    assert work(LOSSY.replace("p = 1e-4", "p = 1e-2")) == pytest.approx(work(LOSSY) / 10)


@pytest.mark.parametrize(
    ("coupling", "factor"),
    [("independent", 4), ("fcc(n)", 2), ("fcc(n^2)", 1), ("fcc(16)", 1), ("shared", 1)],
)
def test_subflows_and_couplings(coupling, factor):
    four = LOSSY.replace("[flow.options]", f'subflows = 4\ncoupling = "{coupling}"\n[flow.options]')
    assert work(four) == pytest.approx(factor * work(LOSSY))
    listed = four.replace("subflows = 4", "subflows = [{}, {}, {}, {}]")
    assert work(listed) == pytest.approx(work(four))


def test_what_was_measured_replaces_the_guess(tmp_path):
    first = costs.Costs(tmp_path / "costs.json")
    guess = first.of("key", BOTTLENECK)
    assert guess == estimate.seconds(BOTTLENECK)
    first.learn("key", 7.0)
    first.save()
    other = costs.Costs(tmp_path / "costs.json")
    assert (other.of("key", BOTTLENECK), other.known("key")) == (7.0, True)
    # Two processes that learn at the same time keep each other's times.
    first.learn("a", 1.0)
    other.learn("b", 2.0)
    first.save()
    other.save()
    both = costs.Costs(tmp_path / "costs.json")
    assert (both.of("a", ""), both.of("b", "")) == (1.0, 2.0)


def test_a_broken_file_of_costs_is_no_obstacle(tmp_path):
    (tmp_path / "costs.json").write_text("{ half")
    assert not costs.Costs(tmp_path / "costs.json").known("key")


@pytest.mark.parametrize("text", ["", "duration = 3", "not toml", '[[link]]\nname = "x"\n'])
def test_a_scenario_that_is_not_understood_is_left_to_the_simulator(text):
    assert estimate.seconds(text) == estimate.UNKNOWN


def test_other_points_of_a_sweep_are_guessed_by_those_that_were_run(tmp_path):
    found = costs.Costs(tmp_path / "costs.json")
    short, long = ('duration = "5 s"', 'duration = "500 s"')
    texts = {
        name: BOTTLENECK.replace('duration = "200 s"', text) for name, text in (("a", short), ("b", long))
    }
    before = {name: found.of(name, text, sweep="s") for name, text in texts.items()}
    found.saw("a", "s", 3 * before["a"])
    found.saw("b", "s", 0.5 * before["b"])
    # A point like the short one is off as it was, one like the long one as that was; another sweep is guessed as ever.
    assert found.of("c", texts["a"], sweep="s") == pytest.approx(3 * before["a"])
    assert found.of("d", texts["b"], sweep="s") == pytest.approx(0.5 * before["b"])
    assert found.of("e", texts["a"], sweep="other") == pytest.approx(before["a"])


def test_the_clock_of_the_first_run_starts_when_the_libraries_are_there(monkeypatch):
    """The first table of a process takes ten times a short run: it was counted as that run's, and 2 s were foretold as 11."""
    happened = []
    encode, clock = work_module.store.encode, work_module.time.perf_counter
    monkeypatch.setattr(work_module.store, "encode", lambda table: happened.append("table") or encode(table))
    monkeypatch.setattr(work_module.time, "perf_counter", lambda: happened.append("clock") or clock())
    work_module._warm.cache_clear()
    for _ in range(2):
        work_module.execute(BOTTLENECK, 1, (work_module.RUNS,), simulate=simulate)
    assert happened == ["table", "clock", "table", "clock", "clock", "table", "clock"]
