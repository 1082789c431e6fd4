"""Runs on a Dask.distributed cluster: workers make bytes, this process keeps them.

Needs the extra `dask` (`pip install anabranch[dask]`) here and the same build of this package on every worker. Workers need no
file system in common with this process.
"""

from collections.abc import Sequence
from typing import Any

from ..plan.plan import PlanError
from . import simulation, work
from .campaign import Task


def execute(
    scenario: str, seed: int, kinds: Sequence[str], batch: Sequence[Sequence[tuple[str, str]]] = ()
) -> work.RunResult:
    """Executes the task of a worker: a run, or a batch of them, with the simulator that is installed there."""
    return work.execute(scenario, seed, kinds, batch=batch)


def build() -> str:
    """The build of the simulator that is installed on the calling machine."""
    return simulation.code_version()


class Cluster:
    """Has runs made by the workers of a scheduler."""

    TIMEOUT = 10.0
    """How long a scheduler may take to answer, seconds."""

    def __init__(self, address: str):
        try:
            import distributed
        except ImportError:
            raise PlanError("--dask needs Dask.distributed: install the extra, anabranch[dask]") from None
        try:
            self._client = distributed.Client(address, timeout=self.TIMEOUT, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise PlanError(f"--dask {address}: no scheduler answers there ({error})") from None
        threads = self._client.nthreads()
        if not threads:
            self._client.close()
            raise PlanError(f"--dask {address}: the scheduler has no workers")
        self.width = sum(threads.values())
        self._same_build()

    def _same_build(self) -> None:
        """Checks that every worker has this process's simulator; otherwise no run is made."""
        mine = simulation.code_version()
        try:
            builds = self._client.run(build)
        except Exception as error:
            self._client.close()
            raise PlanError(f"the workers cannot load anabranch_lab: {error}") from None
        for worker, theirs in sorted(builds.items()):
            if theirs != mine:
                self._client.close()
                raise PlanError(
                    f"worker {worker} has another simulator (build {theirs}) than this process (build {mine}): "
                    "install the same one everywhere"
                )

    def submit(self, task: Task) -> Any:
        """Sends a run to a free worker; when a worker dies, another one makes its run again."""
        if task.schedule.simulate is not simulation.simulate:
            raise ValueError("a cluster runs its own simulator, not a stand-in")
        # Pure: two submissions of one run are one run. The keys of Dask are opaque names.
        name = f"run-{task.schedule.results.code}-{task.key}-{task.seed}-{'-'.join(task.kinds)}"
        return self._client.submit(
            execute, task.scenario, task.seed, task.kinds, task.batch, key=name, pure=True
        )

    def wait(self, futures: Sequence[Any]) -> Sequence[Any]:
        """Returns those that are done, at least one."""
        import distributed

        with self._client.as_current():
            return list(distributed.wait(list(futures), return_when="FIRST_COMPLETED").done)

    def stop(self, futures: Sequence[Any]) -> Sequence[tuple[Any, work.RunResult]]:
        """Disconnects: fetches the finished runs, and gives up the others."""
        try:
            done = [future for future in futures if future.status == "finished"]
            return list(zip(done, self._client.gather(done), strict=True))
        finally:
            self._client.close()
