"""The same sweep here and on a Dask cluster of two worker processes."""

import os
import re
import signal
import subprocess
import sys

import pytest

from anabranch_lab import cli
from anabranch_lab.plan import folders, plan
from anabranch_lab.run import campaign, cluster
from anabranch_lab.run.results import Results
from anabranch_lab.run.schedule import Schedule

PLAN = """
title = "Small"
study = "0"
seeds = "1..4"
quick_seeds = "1"
engines = ["ns2-2.28", "rfc9260"]
[axes.p]
keys = ["link.wire.loss.p"]
values = [0.0, 0.01]
[[sweep]]
name = "plain"
about = "Short transfers."
axes = ["p"]
[[sweep]]
name = "recorded"
about = "The same, recorded."
trace = true
axes = ["p"]
set = { record = { trace = ["sent", "window"] } }
"""

SCENARIO = """
duration = "5 s"
[[link]]
name = "wire"
from = "a"
to = "b"
both = true
rate = "2 Mbit/s"
delay = "20 ms"
queue = { kind = "droptail", packets = 20 }
loss = { kind = "bernoulli", p = 0.0, applies = "data" }
[[flow]]
name = "one"
from = "a"
to = "b"
protocol = "sctp"
engine = "rfc9260"
traffic = { kind = "greedy", message = "1000 B" }
"""

SCHEDULER = """
import distributed, sys, time
cluster = distributed.LocalCluster(
    n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, scheduler_port=0
)
print("address", cluster.scheduler_address, flush=True)
sys.stdin.read()
cluster.close()
"""


@pytest.fixture(scope="module")
def address():
    """A cluster of two worker processes, as another program would run it."""
    pytest.importorskip("distributed")
    process = subprocess.Popen(
        [sys.executable, "-c", "if __name__ == '__main__':\n" + re.sub("(?m)^", "    ", SCHEDULER)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )
    line = process.stdout.readline()
    assert line.startswith("address "), line
    yield line.split()[1]
    process.stdin.close()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
    process.stdout.close()


@pytest.fixture
def small(tmp_path):
    folder = tmp_path / "small"
    folder.mkdir()
    (folder / "plan.toml").write_text(PLAN)
    (folder / "scenario.toml").write_text(SCENARIO)
    return plan.load(folder)


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in sorted(folder.glob("**/*.parquet"))}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_here_and_there_are_the_same_bytes(small, tmp_path, address):
    here, there = (Schedule(Results(small, tmp_path / place)) for place in ("here", "there"))
    assert campaign.run([here], campaign.Threads(2)) == 2 * 2 * 2 * 4
    workers = cluster.Cluster(address)
    assert workers.width == 2
    assert campaign.run([there], workers) == 2 * 2 * 2 * 4
    first, second = contents(tmp_path / "here"), contents(tmp_path / "there")
    # Plain and recorded runs differ in their scenario, so each has a summary of its own.
    assert len(first) == 2 * 2 * 2 * 4 + 2 * 2 * 4
    assert first == second
    assert campaign.run([there], cluster.Cluster(address)) == 0


RULED = """
title = "Seeds by a rule"
study = "0"
seeds = "1..16"
[sequential]
first = 10
step = 3
together = []
precise = { goodput = { of = "sum(goodput_wire_run_bps) FILTER (kind = 'flow')", half = "2 %" } }
[axes.p]
keys = ["link.wire.loss.p"]
values = [0.0, 0.02]
[[sweep]]
name = "s"
about = "One point that hardly varies, one that does."
axes = ["p"]
"""


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_rule_for_seeds_wants_the_same_here_and_there(small, tmp_path, address):
    (small.folder / "plan.toml").write_text(RULED)
    ruled = plan.load(small.folder)
    made = {}
    for place, executor in (
        ("one", campaign.Threads(1)),
        ("two", campaign.Threads(2)),
        ("there", cluster.Cluster(address)),
    ):
        results = Results(ruled, tmp_path / place)
        assert campaign.run([Schedule(results)], executor) == 10 + 16
        assert [stop.reason for _, _, stop in results.stops()] == ["precise", "most"]
        made[place] = contents(tmp_path / place)
    assert made["one"] == made["two"] == made["there"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_run_that_fails_there_says_why_here(small, tmp_path, address, monkeypatch):
    monkeypatch.setattr(campaign, "check", lambda missing: None)
    (small.folder / "scenario.toml").write_text(SCENARIO.replace("2 Mbit/s", "2 apples"))
    with pytest.raises(ValueError, match="apples"):
        campaign.run([Schedule(Results(small, tmp_path / "out"))], cluster.Cluster(address))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_worker_with_another_simulator_makes_nothing(small, tmp_path, address):
    other = Schedule(Results(small, tmp_path / "out", code="another"))
    with pytest.raises(ValueError, match="another simulator"):
        campaign.run([other], cluster.Cluster(address))
    assert contents(tmp_path / "out") == {}


@pytest.mark.filterwarnings("ignore")
def test_nobody_at_the_address_is_one_line(capsys, monkeypatch):
    monkeypatch.setattr(cluster.Cluster, "TIMEOUT", 1.0)
    pytest.importorskip("distributed")
    name = folders.names(folders.root() / "experiments")[0]
    assert cli.main(["run", name, "--dask", "tcp://127.0.0.1:1", "--quick"]) == 2
    error = capsys.readouterr().err
    assert "no scheduler answers" in error
