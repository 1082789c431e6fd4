"""One run, from a scenario to the bytes of its result files: the same wherever it is made."""

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from . import simulation, store

Simulate = Callable[..., simulation.Outcome]

RUNS = "runs"
"""The summary as rows."""
TRACE = "trace"
"""The recorded events, one by one."""


@dataclass(frozen=True)
class RunResult:
    """The result of one run, or of one batch: file contents by kind, and how long it took, which no file holds."""

    files: Mapping[str, bytes]
    seconds: float
    """Seconds of the processor."""
    code: str
    elapsed: float = 0.0
    """Time by the clock: more than that of the processor where others use it, too."""


def execute(
    scenario: str,
    seed: int,
    kinds: Sequence[str],
    *,
    batch: Sequence[Sequence[tuple[str, str]]] = (),
    simulate: Simulate = simulation.simulate,
    code: str | None = None,
) -> RunResult:
    """Runs a scenario with one seed; with a `batch` once for each of its entries, the settings over the scenario.

    A batch is one file, whose column `run` says which run a row is of: a file for each of many short runs would take longer
    to write and to read than the run itself.
    """
    _warm()
    clock = _Clock()
    code = simulation.code_version() if code is None else code
    if batch:
        rows = []
        for run, overrides in enumerate(batch):
            outcome = simulate(scenario, seed, overrides=overrides)
            rows += [{"run": run} | row for row in _rows(outcome.summary, seed)]
        return clock.result({RUNS: store.encode(_table(rows))}, code)
    outcome = simulate(scenario, seed, trace=TRACE in kinds)
    files = {}
    if TRACE in kinds:
        trace = outcome.trace
        if trace is None:
            raise ValueError("a trace is wanted, but the scenario records none")
        trace = trace.append_column("seed", pa.array([seed] * trace.num_rows, pa.int64()))
        files[TRACE] = store.encode(trace)
    # The file that says that the run is done comes last.
    files[RUNS] = store.encode(rows_of(outcome.summary, seed))
    return clock.result(files, code)


class _Clock:
    """Times of one run. A run is one thread's work from its first to its last byte, so its thread's time is all that it takes."""

    def __init__(self) -> None:
        self._processor, self._clock = time.thread_time(), time.perf_counter()

    def result(self, files: Mapping[str, bytes], code: str) -> RunResult:
        """The result of the run that ends now."""
        return RunResult(files, time.thread_time() - self._processor, code, time.perf_counter() - self._clock)


@functools.cache
def _warm() -> None:
    """Makes the first table of a process: it takes as long as ten short runs, and the cost of the other runs is learned from the first."""
    store.encode(pa.table({"a": pa.array([0.0])}))


def rows_of(summary: Mapping[str, Any], seed: int) -> pa.Table:
    """The summary of a run as rows.

    One for each `flow`, each `subflow` (with its flow's name), each `group` of flows that one entry of the file became,
    each `object` that a client fetches (with its number in `object`, its connection in `flow`), each
    `source` of messages (its name in `source`, the flow's in `flow`), each `link`, each `class` of a link's queue (the link's name, its own in `queue_class`), and each `share`
    of a flow in a link (the link's name, the flow's in `flow`) where the scenario asks for it.
    """
    return _table(_rows(summary, seed))


def _rows(summary: Mapping[str, Any], seed: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for flow in summary["flows"]:
        head = {"seed": seed, "kind": "flow", "subflow": None}
        # `notes`: remarks that a reader needs before the figures of the flow, as words with spaces between them.
        rows.append(head | _plain(flow) | {"notes": " ".join(flow.get("notes", ()))})
        for subflow in flow.get("subflows", ()):
            values = _plain(subflow)
            number = values.pop("index")
            same = {key: flow.get(key) for key in ("name", "protocol", "engine")}
            rows.append({"seed": seed, "kind": "subflow", "subflow": number} | same | values)
    groups = summary.get("groups", ())
    rows += [{"seed": seed, "kind": "group", "subflow": None} | _plain(group) for group in groups]
    objects = summary.get("objects", ())
    rows += [{"seed": seed, "kind": "object", "subflow": None} | _plain(each) for each in objects]
    sources = summary.get("sources", ())
    rows += [{"seed": seed, "kind": "source", "subflow": None} | _plain(each) for each in sources]
    for link in summary["links"]:
        rows.append({"seed": seed, "kind": "link", "subflow": None} | _plain(link))
        for queue_class in link.get("classes", ()):
            values = _plain(queue_class) | {"name": link["name"], "queue_class": queue_class["name"]}
            rows.append({"seed": seed, "kind": "class", "subflow": None} | values)
        for share in link.get("flows", ()):
            values = _plain(share)
            flow = values.pop("name")
            rows.append({"seed": seed, "kind": "share", "name": link["name"], "flow": flow} | values)
    return rows


def _table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    return pa.table({name: pa.array([row.get(name) for row in rows]) for name in columns})


def _plain(entity: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers and texts; nested values have rows of their own."""
    return {name: value for name, value in entity.items() if not isinstance(value, list | dict)}
