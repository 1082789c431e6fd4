"""Runs in jobs of Slurm, by the stand-in: programs called like Slurm's that run a job as a process of this machine."""

import dataclasses
import os
import time

import pytest

from anabranch_lab import cli
from anabranch_lab.plan import folders, new, plan, sequential
from anabranch_lab.run import campaign, slurm
from anabranch_lab.run.results import Results
from anabranch_lab.run.schedule import Schedule

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def small(tmp_path):
    new.make(tmp_path / "small")
    return folders.load(tmp_path / "small")


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in sorted(folder.glob("**/*.parquet"))}


def test_in_jobs_and_here_are_the_same_bytes(small, tmp_path):
    pytest.importorskip("dask_jobqueue")
    here, there = (Schedule(Results(small, tmp_path / place, quick=True)) for place in ("here", "there"))
    assert campaign.run([here], campaign.Threads(2)) == 6
    before = os.environ["PATH"]
    jobs = slurm.Slurm(slurm.settings("stand-in,jobs=2,cores=1,memory=1GB"), tmp_path / "logs")
    assert os.environ["PATH"] == before
    assert jobs.width == 2
    assert campaign.run([there], jobs) == 6
    assert contents(tmp_path / "here") == contents(tmp_path / "there")
    # The scheduler has gone, and with it the jobs: none is left behind.
    said = [path.read_text() for path in (tmp_path / "logs").glob("stand-in-*.out")]
    assert len(said) == 2
    assert any("Registered to" in text for text in said)
    for _ in range(100):
        if not workers(tmp_path):
            break
        time.sleep(0.2)
    assert not workers(tmp_path)


def test_a_rule_for_seeds_wants_the_same_in_jobs(small, tmp_path):
    pytest.importorskip("dask_jobqueue")
    of = "sum(goodput_wire_run_bps) FILTER (kind = 'flow')"
    table = {"first": 10, "step": 2, "precise": {"goodput": {"of": of, "half": "0.1 %"}}}
    sweep = dataclasses.replace(
        small.sweeps[0], seeds=tuple(range(1, 13)), sequential=sequential.parse(table), axes=()
    )
    ruled = dataclasses.replace(small, sweeps=(sweep,))
    here, there = (Schedule(Results(ruled, tmp_path / place)) for place in ("here", "there"))
    jobs = slurm.Slurm(slurm.settings("stand-in,jobs=2,cores=1,memory=1GB"), tmp_path / "logs")
    assert campaign.run([here], campaign.Threads(2)) == campaign.run([there], jobs)
    assert here.results.seed_counts(sweep) == there.results.seed_counts(sweep)
    assert contents(tmp_path / "here") == contents(tmp_path / "there")


def workers(folder):
    """Processes of this machine that are workers with logs in a folder."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdecimal():
            try:
                with open(f"/proc/{entry}/cmdline", "rb") as file:
                    words = file.read().decode(errors="replace")
            except OSError:
                continue
            if "distributed.cli.dask_worker" in words and str(folder) in words:
                found.append(words)
    return found


def test_the_command_takes_it(tmp_path, monkeypatch, capsys):
    pytest.importorskip("dask_jobqueue")
    new.make(tmp_path / "mine")
    monkeypatch.chdir(tmp_path / "mine")
    assert cli.main(["run", "--quick", "--slurm", "stand-in,memory=1GB"]) == 0
    assert "6 runs made" in capsys.readouterr().out
    assert cli.main(["run", "--quick", "--slurm", "stand-in", "--dask", "x"]) == 2
    assert "give one of them" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["jobs=0", "jobs=many", "nodes=2", "memory=", "fast"])
def test_wrong_settings(text):
    with pytest.raises(plan.PlanError, match="write some of jobs, cores"):
        slurm.settings(text)


def test_settings():
    found = slurm.settings("jobs=4, cores=8,memory=16GB,walltime=02:00:00,queue=short,account=me")
    assert found == slurm.Settings(4, 8, "16GB", "02:00:00", "short", "me")
    assert slurm.settings(slurm.EXAMPLE).queue == "short"


def test_no_slurm_here_is_one_line(tmp_path, monkeypatch, capsys):
    new.make(tmp_path / "mine")
    monkeypatch.chdir(tmp_path / "mine")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert cli.main(["run", "--quick", "--slurm", "jobs=1"]) == 2
    assert "there is no `sbatch` here; `--slurm stand-in` tries it" in capsys.readouterr().err
