"""Runs on a Slurm cluster: dask-jobqueue submits jobs whose workers join a scheduler in this process.

Needs the extra `slurm` (`pip install anabranch[slurm]`), and the same build of this package where the jobs run. A run is not a job: each job
is a worker that makes many runs. `stand-in` among the settings runs jobs as processes of this machine, by programs that are called like
Slurm's (`slurm_stand_in/`): to try it where there is no Slurm.
"""

import contextlib
import os
import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..plan.plan import PlanError
from . import cluster

EXAMPLE = "jobs=4,cores=8,memory=16GB,walltime=02:00:00,queue=short"
STAND_IN = "stand-in"
ROOM = Path(__file__).parent / "slurm_stand_in"


@dataclass(frozen=True)
class Settings:
    """The resources that are asked of Slurm, for each job."""

    jobs: int = 1
    cores: int = 1
    """Processors of a job; each makes one run at a time."""
    memory: str = "4GB"
    walltime: str = "01:00:00"
    queue: str | None = None
    account: str | None = None
    stand_in: bool = False


def settings(text: str) -> Settings:
    """`jobs=4,cores=8,memory=16GB,walltime=02:00:00,queue=short`."""
    found: dict[str, Any] = {}
    for part in filter(None, (each.strip() for each in text.split(","))):
        key, equals, value = part.partition("=")
        if part == STAND_IN:
            found["stand_in"] = True
        elif key in ("jobs", "cores") and value.isdecimal() and int(value):
            found[key] = int(value)
        elif equals and value and key in ("memory", "walltime", "queue", "account"):
            found[key] = value
        else:
            raise PlanError(
                f"--slurm: `{part}`; write some of jobs, cores, memory, walltime, queue, account, {STAND_IN}, such as {EXAMPLE}"
            )
    return Settings(**found)


class Slurm(cluster.Cluster):
    """Has runs made by workers in jobs of Slurm."""

    PATIENCE = 600.0
    """How long the first job may wait in the queue, seconds."""

    def __init__(self, wanted: Settings, logs: Path):
        try:
            import dask_jobqueue
        except ImportError:
            raise PlanError("--slurm needs dask-jobqueue: install the extra, anabranch[slurm]") from None
        if not wanted.stand_in and shutil.which("sbatch") is None:
            raise PlanError(
                f"--slurm: there is no `sbatch` here; `--slurm {STAND_IN}` tries it without Slurm"
            )
        logs.mkdir(parents=True, exist_ok=True)
        with _stand_in(wanted.stand_in):
            try:
                self._jobs = dask_jobqueue.SLURMCluster(
                    cores=wanted.cores,
                    processes=1,
                    memory=wanted.memory,
                    walltime=wanted.walltime,
                    queue=wanted.queue,
                    account=wanted.account,
                    python=sys.executable,
                    log_directory=str(logs.resolve()),
                    scheduler_options={"dashboard_address": None},
                )
                self._jobs.scale(jobs=wanted.jobs)
                self._wait()
            except (OSError, RuntimeError) as error:
                raise PlanError(f"--slurm: {error}; what the jobs said is in {logs}") from None
        self._wanted = wanted
        super().__init__(self._jobs.scheduler_address)
        # Jobs that still wait in the queue will bring workers too.
        self.width = max(self.width, wanted.jobs * wanted.cores)

    def _wait(self) -> None:
        """Waits until the first worker has come."""
        end = time.monotonic() + self.PATIENCE
        while not self._jobs.scheduler_info["workers"]:
            if time.monotonic() > end:
                self._jobs.close()
                raise RuntimeError(f"no job has begun within {self.PATIENCE:.0f} s")
            time.sleep(0.2)

    def stop(self, futures: Any) -> Any:
        """Disconnects, and ends the jobs."""
        try:
            return super().stop(futures)
        finally:
            with _stand_in(self._wanted.stand_in):
                self._jobs.close()


@contextlib.contextmanager
def _stand_in(wanted: bool) -> Iterator[None]:
    """The programs of the stand-in in front of Slurm's own, for as long as jobs are submitted or cancelled."""
    before = os.environ.get("PATH", "")
    if wanted:
        os.environ["PATH"] = f"{ROOM}{os.pathsep}{before}"
    try:
        yield
    finally:
        os.environ["PATH"] = before
