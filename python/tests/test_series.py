"""Samples as arrays: of traces that were written by hand."""

import numpy as np
import pyarrow as pa
import pytest

from anabranch_lab import stats
from anabranch_lab.plan import plan
from anabranch_lab.run import campaign, grid, series, work
from anabranch_lab.run.results import Results
from anabranch_lab.run.schedule import Schedule
from anabranch_lab.run.simulation import Outcome

PLAN = """
title = "t"
study = "0"
seeds = "1..2"
quick_seeds = "1"
[axes.n]
keys = ["flow.sf.subflows"]
values = [1, 2]
[[sweep]]
name = "s"
about = "a"
axes = ["n"]
trace = true
"""
SCENARIO = (
    'duration = "1 s"\n[[link]]\nname = "wire"\n[[flow]]\nname = "sf"\nprotocol = "sctp"\nsubflows = 1\n'
)


def sample(k, entity, subflow, *values):
    numbers = dict(zip(("seq", "size", "a", "b", "c"), (*values, 0, 0, 0, 0, 0), strict=False))
    return {
        "time_ns": (k + 1) * 100_000_000,
        "entity": entity,
        "kind": "sample",
        "flow": None if entity.startswith("link") else "sf",
        "subflow": subflow,
        "path": 0,
        "reason": "",
    } | numbers


def simulate(scenario, seed, *, trace=False):
    subflows = 2 if "subflows = 2" in scenario else 1
    events = []
    for k in range(5):
        events.append(sample(k, "link:wire", 0, 10, 12_500, seed, 1000 * k, k))
        for number in range(subflows):
            events.append(sample(k, "sf:sender", number, 4 + number, 6000, 3000 + k, 1500, 50_000_000))
            events.append(sample(k, "sf:receiver", number, 3, 4500))
    # Other events of the trace are not samples.
    events.append(sample(9, "sf:sender", 0, 99, 99) | {"kind": "sent"})
    events.sort(key=lambda event: event["time_ns"])
    summary = {
        "flows": [{"name": "sf", "protocol": "sctp", "engine": "e", "subflows": [{"index": 0, "x": 1.0}]}],
        "groups": [{"name": "many", "flows": 3, "jain": 0.75}],
        "links": [{"name": "wire", "arrivals": 5, "flows": [{"name": "sf", "arrivals": 4, "share": 0.5}]}],
    }
    return Outcome(summary, pa.Table.from_pylist(events))


@pytest.fixture
def results(tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN)
    (tmp_path / "scenario.toml").write_text(SCENARIO)
    made = Results(plan.load(tmp_path), tmp_path / "out", code="c")
    campaign.run([Schedule(made, simulate)], campaign.Threads(2))
    return made


def test_every_seed_has_its_series(results):
    found = series.load(results, "s", {"n": 1})
    assert sorted(found) == [1, 2]
    link = found[2].link("wire")
    assert link.time.tolist() == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5])
    assert link.interval == pytest.approx(0.1)
    assert link.rate.tolist() == pytest.approx([1e6] * 5)
    assert link.queue.tolist() == [2] * 5
    assert link.drops.tolist() == [0, 1, 2, 3, 4]


def test_subflows_are_summed_or_asked_for(results):
    samples = series.load(results, "s", {"n": 2})[1]
    assert samples.subflows("sf") == [0, 1]
    both, second = samples.sender("sf"), samples.sender("sf", 1)
    assert both.cwnd.tolist() == [6000 + 2 * k for k in range(5)]
    assert second.cwnd.tolist() == [3000 + k for k in range(5)]
    assert both.packets.tolist() == [9] * 5
    assert both.srtt.tolist() == pytest.approx([0.05] * 5)
    assert samples.receiver("sf").rate.tolist() == pytest.approx([8 * 9000 / 0.1] * 5)
    assert isinstance(both.time, np.ndarray)


def test_what_was_not_sampled_is_named(results):
    samples = series.load(results, "s", {"n": 1})[1]
    with pytest.raises(KeyError, match=r"no samples of `link:nothing`.*link:wire"):
        samples.link("nothing")
    with pytest.raises(KeyError, match="no samples of a sender `x`"):
        samples.sender("x")
    with pytest.raises(plan.PlanError, match=r"no point \{'n': 7\}"):
        series.load(results, "s", {"n": 7})


def test_groups_and_shares_are_rows_too(results):
    found = results.grid(
        "s",
        {
            "jain": grid.of_group("many", "jain"),
            "share": grid.of_share("wire", "sf", "share"),
            "arrivals": grid.of_link("wire", "arrivals"),
            "of_sf": grid.of_share("wire", "sf", "arrivals"),
            "x": grid.of_subflow("sf", 0, "x"),
        },
    )
    values = [found.at(name, n=1).mean for name in ("jain", "share", "arrivals", "of_sf", "x")]
    assert values == [0.75, 0.5, 5, 4, 1]


def test_rows_of_a_summary_without_any_of_these():
    table = work.rows_of({"flows": [], "links": [{"name": "l", "arrivals": 1}]}, 3)
    assert table.to_pylist() == [{"seed": 3, "kind": "link", "subflow": None, "name": "l", "arrivals": 1}]


def sawtooth(rng, seconds):
    """Windows of a sender that grows and is halved, with a cycle of some ten seconds: one sample in 0.1 s."""
    values, window = [], 60.0
    while len(values) < 10 * seconds:
        top = rng.normal(100.0, 8.0)
        while window < top:
            values.append(window)
            window += 0.5
        window /= 2
    return np.array(values[: int(10 * seconds)])


def samples_of(window):
    columns = {name: np.zeros(window.size) for name in ("seq", "size", "b", "c")}
    columns |= {"a": window, "time_ns": 1e8 * (1 + np.arange(window.size))}
    return series.Samples(1, {("sf:sender", 0): columns}, {("timeout", "sf:sender"): [0.5, 40.0, 59.0]})


def test_stretches_of_a_run_are_the_whole_run():
    whole = samples_of(np.arange(600.0))
    stretches = series._stretches(whole, 4)
    found = [stretch.sender("sf").cwnd for stretch in stretches]
    assert all(abs(each.size - 150) <= 1 for each in found)
    assert list(np.concatenate(found)) == list(range(1, 600))
    assert [len(stretch.times("timeout", "sf")) for stretch in stretches] == [1, 0, 1, 1]
    assert series._stretches(whole, 1) == [whole]


def test_intervals_of_stretches_cover_the_mean():
    """Ten stretches of four cycles of one run after one warm-up, as ten runs would: 95 % of the intervals have the mean in them."""
    rng = np.random.default_rng(5)
    truth = float(sawtooth(rng, 200_000).mean())
    covered = 0
    for _ in range(400):
        run = samples_of(sawtooth(rng, 450))
        stretches = series._stretches(run.between(50.0, 450.0), 10)
        found = stats.estimate([float(each.sender("sf").cwnd.mean()) for each in stretches])
        covered += found.low <= truth <= found.high
    assert 0.92 * 400 <= covered <= 0.98 * 400, covered
