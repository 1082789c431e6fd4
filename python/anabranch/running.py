"""Runs a scenario for some seeds."""

import concurrent.futures
import json
import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import tomli_w

from . import _core, tables
from .scenario import Scenario

if TYPE_CHECKING:
    import pandas
    import polars

Given = str | os.PathLike[str] | Mapping[str, Any] | Scenario
"""A scenario: a file, its text, a dict, or one built in Python."""

GLANCE = 0.05
"""How often a waiting program looks whether it has been interrupted, seconds."""


@dataclass(frozen=True)
class Run(tables.Tables[pa.Table]):
    """The runs of one scenario, in Arrow tables; `pandas` and `polars` have the same tables as frames of those."""

    seeds: tuple[int, ...] = ()
    """One run for each, in this order."""
    scenario: str = ""
    """The text that was run, without `set`."""
    summaries: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)
    """For each run the summary that `anabranch simulate --json` prints."""
    captures: tuple[bytes, ...] = field(default=(), repr=False)
    """For each run a pcapng file, with `capture=True`."""

    def events(self, kind: str) -> pa.Table:
        """The recorded events of one kind, with the names of the statistics: `run.events("window")` has `cwnd`, `ssthresh`, `flight`.

        Raises ValueError when there is no such kind.
        """
        return tables.events(self.trace, kind)

    @cached_property
    def pandas(self) -> "tables.Tables[pandas.DataFrame]":
        """The tables as pandas frames."""
        return tables.to_pandas(self)

    @cached_property
    def polars(self) -> "tables.Tables[polars.DataFrame]":
        """The tables as Polars frames."""
        return tables.to_polars(self)


def run(
    scenario: Given,
    *,
    seeds: int | str | Iterable[int] | None = None,
    set: Mapping[str, Any] | None = None,  # noqa: A002 - the name of the command line
    trace: bool | Mapping[str, Any] = False,
    capture: bool = False,
    jobs: int | None = None,
) -> Run:
    """Runs a scenario once for each seed.

    `scenario`: the path of a scenario file, the text of one, a dict (as `tomllib` reads it), or a `Scenario`.
    `seeds`: a number, `"1..30"`, or numbers; by default those of the scenario.
    `set`: keys and values set over the scenario, as `--set` does: `{"link.path.rate": "3 Mbit/s", "flow.*.options.mtu": 1280}`.
    `trace`: True keeps the events that the scenario's `[record]` asks for, or every event if it asks for none; a mapping stands instead of
    `[record]`: `{"trace": ["window"], "sample": "0.1 s"}`.
    `capture`: whether each run leaves a pcapng file (`captures`).
    `jobs`: so many runs at the same time; by default one for each core.

    Ctrl-C ends it within a moment. Raises ValueError in one line when the scenario is wrong, and when a run fails.
    """
    text, origin, folder = _text(scenario)
    document = _parsed(text, origin)
    over = [(key, _toml(value)) for key, value in (set or {}).items()]
    if isinstance(trace, Mapping):
        over += [(f"record.{key}", _toml(value)) for key, value in trace.items()]
        wanted = True
    else:
        wanted = trace
        if trace and not (
            {"trace", "sample", "queue_interval", "packets"} & document.get("record", {}).keys()
        ):
            over.append(("record.trace", "true"))
    if capture and "pcap" not in document.get("record", {}):
        over.append(("record.pcap", "true"))
    _core.check(text, overrides=over, origin=origin, folder=folder)
    chosen = _seeds(document.get("seeds", 1) if seeds is None else seeds)
    watch = _core.Watch()

    def one(seed: int) -> _core.Outcome:
        return _core.simulate(
            text, seed, overrides=over, trace=wanted, pcap=capture, origin=origin, folder=folder, watch=watch
        )

    outcomes = _all(one, chosen, watch, jobs or os.cpu_count() or 1)
    summaries = tuple(json.loads(outcome.summary) for outcome in outcomes)
    traces = []
    for seed, outcome in zip(chosen, outcomes, strict=True):
        if wanted:
            trace_of = tables.of_columns(outcome.columns)
            traces.append(trace_of.append_column("seed", pa.array([seed] * trace_of.num_rows, pa.int64())))
    found = tables.gathered(summaries, traces)
    captures = tuple(outcome.pcapng or b"" for outcome in outcomes) if capture else ()
    return Run(**vars(found), seeds=chosen, scenario=text, summaries=summaries, captures=captures)


def check(scenario: Given, *, set: Mapping[str, Any] | None = None) -> None:  # noqa: A002
    """Raises ValueError, in one line, with the first thing that is wrong with a scenario; runs nothing."""
    text, origin, folder = _text(scenario)
    over = [(key, _toml(value)) for key, value in (set or {}).items()]
    _core.check(text, overrides=over, origin=origin, folder=folder)


def profiles() -> list[str]:
    """Names of the profiles of SCTP, for `engine` of a flow and for `connect`."""
    return _core.profiles()


def options(profile: str = "rfc9260") -> dict[str, str]:
    """Every option of a profile with its value, as scenario files have them; `anabranch engines` says what they do."""
    return dict(_core.options(profile))


def _all(one: Any, seeds: Sequence[int], watch: _core.Watch, jobs: int) -> list[_core.Outcome]:
    """Every run, several at a time; an interrupt, or a run that fails, ends the others within a moment."""
    pool = concurrent.futures.ThreadPoolExecutor(max(1, min(jobs, len(seeds))))
    futures = [pool.submit(one, seed) for seed in seeds]
    try:
        waiting = set(futures)
        while waiting:
            # A wait without an end would not hear Ctrl-C.
            done, waiting = concurrent.futures.wait(
                waiting, GLANCE, return_when=concurrent.futures.FIRST_EXCEPTION
            )
            for future in done:
                future.result()
        return [future.result() for future in futures]
    finally:
        watch.stop()
        pool.shutdown(wait=True, cancel_futures=True)


def _text(scenario: Given) -> tuple[str, str, str | None]:
    """The text of a scenario, its name in errors, and the folder of files that it names."""
    if isinstance(scenario, Scenario):
        return scenario.toml(), "scenario", None
    if isinstance(scenario, Mapping):
        return tomli_w.dumps(scenario), "scenario", None
    # A text has a line with a key; no path has that.
    if isinstance(scenario, str) and ("\n" in scenario or "=" in scenario):
        return scenario, "scenario", None
    path = Path(scenario)
    try:
        return path.read_text(encoding="utf-8"), str(path), str(path.parent)
    except OSError as error:
        raise FileNotFoundError(f"{path}: {error.strerror}") from None


def _parsed(text: str, origin: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{origin}: {error}") from None


def _seeds(given: int | str | Iterable[int]) -> tuple[int, ...]:
    if isinstance(given, int):
        return (given,)
    if not isinstance(given, str):
        found = tuple(int(seed) for seed in given)
    else:
        found = ()
        for part in given.split(","):
            low, dots, high = part.strip().partition("..")
            try:
                found += tuple(range(int(low), int(high if dots else low) + 1))
            except ValueError:
                raise ValueError(f'seeds `{given}`: write a number, "1..30" or "1..5, 9"') from None
    if not found or len({*found}) != len(found):
        raise ValueError(f"seeds {given}: at least one, and none twice")
    return found


def _toml(value: Any) -> str:
    """A value as TOML on one line."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(entry)}" for key, entry in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml(entry) for entry in value) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else str(value)
