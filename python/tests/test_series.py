"""Samples as arrays: of traces that were written by hand."""

import numpy as np
import pyarrow as pa
import pytest

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
