"""One run of the simulator, from Python: a scenario in, a summary and a trace out."""

import functools
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from . import _core

_TYPES = {
    "u8": pa.uint8(),
    "u16": pa.uint16(),
    "u32": pa.uint32(),
    "u64": pa.uint64(),
    "i64": pa.int64(),
    "f64": pa.float64(),
}


@dataclass(frozen=True)
class Outcome:
    """What a run left behind."""

    summary: dict[str, Any]
    """As `anabranch simulate --json` prints it for one seed."""
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
    return Outcome(json.loads(result.summary), _table(result.columns) if trace else None)


def check(scenario: str, origin: str, overrides: Sequence[tuple[str, str]] = ()) -> None:
    """Raises ValueError when a scenario (the text of its TOML file) is wrong; runs nothing."""
    _core.check(scenario, origin=origin, overrides=list(overrides))


def _table(columns: list[tuple[str, str, int, bytes, bytes | None, list[str] | None]]) -> pa.Table:
    """Arrow arrays around the memory that the simulator filled; nothing is copied here."""
    names, arrays = [], []
    for name, kind, length, data, valid, dictionary in columns:
        validity = None if valid is None else pa.py_buffer(valid)
        array = pa.Array.from_buffers(_TYPES[kind], length, [validity, pa.py_buffer(data)])
        if dictionary is not None:
            array = pa.DictionaryArray.from_arrays(array, pa.array(dictionary, pa.string()))
        names.append(name)
        arrays.append(array)
    return pa.Table.from_arrays(arrays, names=names)


@functools.cache
def code_version() -> str:
    """What a result depends on besides its scenario and seed: the simulator, byte for byte."""
    return hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()[:16]
