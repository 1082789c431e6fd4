"""A sweep that is killed or interrupted goes on where it stopped: with real processes and real signals."""

import json
import signal
import subprocess
import sys
import time

import pytest

SCENARIO = """
duration = "30 s"
[[link]]
name = "wire"
from = "a"
to = "b"
both = true
rate = "50 Mbit/s"
delay = "20 ms"
queue = { kind = "droptail", packets = 50 }
[[flow]]
name = "one"
from = "a"
to = "b"
protocol = "sctp"
engine = "rfc9260"
traffic = { kind = "greedy", message = "1000 B" }
start = "uniform(0 s, 1 s)"
"""

PLAN = """
title = "Small"
study = "0"
seeds = "1..12"
quick_seeds = "1"
[[sweep]]
name = "only"
about = "Long enough to be interrupted."
"""

RUNS = 12


@pytest.fixture
def checkout(tmp_path):
    folder = tmp_path / "experiments" / "small"
    folder.mkdir(parents=True)
    (tmp_path / "pyproject.toml").touch()
    (folder / "plan.toml").write_text(PLAN)
    (folder / "scenario.toml").write_text(SCENARIO)
    return tmp_path


def start(checkout):
    return subprocess.Popen(
        [sys.executable, "-m", "anabranch_lab.cli", "run", "small", "--jobs", "2"],
        cwd=checkout,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # A shell starts background commands with SIGINT ignored, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def made(checkout):
    return {
        path.name: path.read_bytes() for path in sorted((checkout / "out" / "results").glob("*/*/*.parquet"))
    }


def wait_for(checkout, runs):
    deadline = time.monotonic() + 60
    while len(made(checkout)) < runs:
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 130), (signal.SIGKILL, -signal.SIGKILL)]
)
def test_what_was_finished_is_kept_and_the_rest_is_made(checkout, number, code):
    first = start(checkout)
    wait_for(checkout, 3)
    first.send_signal(number)
    output, _ = first.communicate(timeout=60)
    assert first.returncode == code
    kept = made(checkout)
    assert 3 <= len(kept) < RUNS
    if number != signal.SIGKILL:
        assert "the same command goes on from there" in output
        assert "Traceback" not in output

    second = start(checkout)
    output, _ = second.communicate(timeout=120)
    assert second.returncode == 0
    assert f"{len(kept)} of {RUNS} runs are on disk already" in output
    whole = made(checkout)
    assert len(whole) == RUNS
    assert {name: whole[name] for name in kept} == kept
    assert not list((checkout / "out").glob("**/*.part"))
    # Only the time that runs take was learned, and no result depends on it.
    assert len(json.loads((checkout / "out" / "results" / "costs.json").read_text())) == 1
