"""The module itself: its arguments, its results, and that its stubs agree with them."""

import ast
import inspect
import threading
from pathlib import Path

import pytest

import anabranch
from anabranch import _core, tables
from anabranch_lab.plan import folders
from anabranch_lab.run import simulation, work

SCENARIO = """
duration = "20 s"
[[link]]
name = "there"
from = "a"
to = "b"
both = true
rate = "1 Mbit/s"
delay = "20 ms"
queue = { kind = "droptail", packets = 20 }
[[flow]]
name = "one"
from = "a"
to = "b"
protocol = "sctp"
engine = "rfc9260"
traffic = { kind = "greedy", message = "1000 B" }
[record]
trace = true
pcap = true
"""


def test_every_run_of_the_laboratory_watches_the_formal_properties() -> None:
    assert _core.watched()


def test_a_run_has_a_summary_and_a_trace():
    outcome = simulation.simulate(SCENARIO, 1, trace=True)
    (flow,) = outcome.summary["flows"]
    trace = outcome.trace
    assert outcome.summary["seed"] == 1
    assert flow["packets_sent"] > 1000
    times = trace.column("time_ns").to_pylist()
    assert times == sorted(times)
    sent = [row for row in trace.to_pylist() if row["kind"] == "sent"]
    assert {row["entity"] for row in sent} == {"one:sender"}
    assert sum(row["reason"] == "" for row in sent) * 1000 == sum(
        row["size"] for row in sent if row["reason"] == ""
    )
    # Sequence numbers count chunks from 0, each once as new.
    assert [row["seq"] for row in sent if row["reason"] == ""] == list(
        range(len({row["seq"] for row in sent}))
    )


def test_samples_come_as_events_and_counts_flow_by_flow_as_rows():
    background = """
[[flow]]
name = "background"
count = 2
from = "a"
to = "b"
protocol = "cbr"
traffic = { rate = "0.2 Mbit/s", packet = "500 B" }
[record]
sample = "0.5 s"
sample_from = "10 s"
by_flow = ["there"]
"""
    scenario = SCENARIO.split("[record]")[0] + background
    outcome = simulation.simulate(scenario, 1, trace=True)
    rows = outcome.trace.to_pylist()
    assert {row["kind"] for row in rows} == {"sample"}
    of = lambda entity: [row for row in rows if row["entity"] == entity]  # noqa: E731
    # Twenty intervals of half a second, in each of which a source sends 25 packets.
    assert [row["seq"] for row in of("background-1:sender")] == [25] * 20
    assert len(of("one:sender")) == len(of("link:there")) == 20
    assert all(row["a"] > 1500 for row in of("one:sender"))
    table = work.rows_of(outcome.summary, 1).to_pylist()
    shares = {row["flow"]: row for row in table if row["kind"] == "share"}
    assert list(shares) == ["one", "background-1", "background-2"]
    assert all(row["name"] == "there" for row in shares.values())
    assert sum(row["share"] for row in shares.values()) == pytest.approx(1, abs=0.03)
    (group,) = [row for row in table if row["kind"] == "group"]
    assert (group["name"], group["flows"], group["packets_sent"]) == ("background", 2, 2000)
    assert group["timeouts"] is None
    # Without a trace there are no samples, but the summary is the same.
    assert simulation.simulate(scenario, 1).summary == outcome.summary


def test_the_same_seed_gives_the_same_bytes():
    first, second = (_core.simulate(SCENARIO, 7, trace=True, pcap=True) for _ in range(2))
    assert first.summary == second.summary
    assert first.columns == second.columns
    assert first.pcapng == second.pcapng
    assert first.pcapng[:4] == b"\x0a\x0d\x0d\x0a"


def test_nothing_is_recorded_unless_asked_for():
    outcome = _core.simulate(SCENARIO, 1)
    assert outcome.columns == []
    assert outcome.pcapng is None
    assert simulation.simulate(SCENARIO, 1).trace is None


def test_overrides():
    slow = _core.simulate(SCENARIO, 1, overrides=[("link.there.rate", "500 kbit/s")])
    fast = _core.simulate(SCENARIO, 1)
    assert len(slow.summary) > 0
    assert slow.summary != fast.summary


def test_what_belongs_to_no_flow_is_null():
    outcome = _core.simulate(
        SCENARIO, 1, trace=True, overrides=[("record.trace", '["queue"]'), ("record.queue_interval", "1 s")]
    )
    table = tables.of_columns(outcome.columns)
    assert table.num_rows > 0
    assert table.column("flow").null_count == table.num_rows


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("1 Mbit/s", "1 furlong"),
        ('engine = "rfc9260"', 'engine = "no-such"'),
        ('to = "b"\nprotocol', 'to = "c"\nprotocol'),
    ],
)
def test_a_wrong_scenario_is_one_line_that_says_where(old, new):
    wrong = SCENARIO.replace(old, new)
    assert wrong != SCENARIO
    for use in (
        lambda: _core.check(wrong, origin="f.toml"),
        lambda: _core.simulate(wrong, 1, origin="f.toml"),
    ):
        with pytest.raises(ValueError, match=r"^f\.toml") as error:
            use()
        assert "\n" not in str(error.value)


def test_other_threads_go_on_during_a_run():
    ticks, done = 0, threading.Event()

    def run():
        _core.simulate(SCENARIO.replace('"20 s"', '"2000 s"'), 1)
        done.set()

    worker = threading.Thread(target=run)
    worker.start()
    # With the interpreter's lock held, this thread would not come round before the run is over.
    while not done.wait(0.001):
        ticks += 1
    worker.join()
    assert ticks > 1


def test_every_scenario_of_the_repository_is_accepted():
    root = Path(__file__).parents[2]
    files = [*root.glob("experiments/**/*.toml"), *root.glob("python/tests/**/*.toml")]
    checked = 0
    for file in files:
        if file.name not in ("plan.toml", "study.toml", "claims.toml", "report.toml", "usual-seeds.toml"):
            _core.check(file.read_text(), origin=str(file))
            checked += 1
    assert checked >= 4


EXPERIMENTS = folders.root() / "experiments"


@pytest.mark.parametrize("name", folders.names(EXPERIMENTS))
@pytest.mark.parametrize("quick", [False, True])
def test_every_point_of_every_plan_is_accepted(name, quick):
    for sweep in folders.find(EXPERIMENTS, name).sweeps:
        for point in sweep.points(quick):
            where = f"{name}, {sweep.name}, {dict(point.at)}"
            _core.check(point.scenario, origin=where, overrides=list(point.overrides))


def test_the_stubs_match_the_module():
    tree = ast.parse((Path(anabranch.__file__).parent / "_core.pyi").read_text())
    stubs = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    public = {name for name in vars(_core) if not name.startswith("_")}
    assert public == set(stubs)
    for name, node in stubs.items():
        real = getattr(_core, name)
        if isinstance(node, ast.ClassDef):
            members = {item.name for item in node.body if isinstance(item, ast.FunctionDef)} - {"__new__"}
            assert members == {member for member in vars(real) if not member.startswith("_")}
        else:
            parameters = inspect.signature(real).parameters.values()
            positional = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
            keyword = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
            assert positional == [a.arg for a in node.args.args]
            assert keyword == [a.arg for a in node.args.kwonlyargs]
