"""One run of the simulator, from Python: a scenario in, a summary and a trace out."""

import functools
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from anabranch import _core, tables


@dataclass(frozen=True)
class Outcome:
    """The output of a run."""

    summary: dict[str, Any]
    """The summary that `anabranch simulate --json` prints for one seed."""
    trace: pa.Table | None
    """The recorded events, or nothing when the scenario records none."""


def simulate(
    scenario: str, seed: int, *, trace: bool = False, overrides: Sequence[tuple[str, str]] = ()
) -> Outcome:
    """Runs a scenario (the text of its TOML file) with one seed; other threads go on meanwhile.

    `overrides` are keys and values set over the text, as `--set` does. Raises ValueError with the place and the allowed
    values when the scenario is wrong.
    """
    result = _core.simulate(scenario, seed, trace=trace, overrides=list(overrides))
    return Outcome(json.loads(result.summary), tables.of_columns(result.columns) if trace else None)


def check(scenario: str, origin: str, overrides: Sequence[tuple[str, str]] = ()) -> None:
    """Raises ValueError when a scenario (the text of its TOML file) is wrong; runs nothing."""
    _core.check(scenario, origin=origin, overrides=list(overrides))


@functools.cache
def code_version() -> str:
    """The identity of the simulator, byte for byte: a result depends on it besides its scenario and seed."""
    return hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()[:16]
