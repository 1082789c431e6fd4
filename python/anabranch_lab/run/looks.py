"""Results of the looks at the seeds of a group of points (`plan/sequential.py`), kept beside the results of the runs.

A look depends only on the build, the scenarios, the seeds, the rule and the code that judges widths, so thousands of results are read once, not by
every command.
"""

import contextlib
import functools
import inspect
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from .. import stats
from ..plan import sequential
from . import grid, store

FILE = "looks.json"


class Looks:
    """The looks of one build of the simulator."""

    def __init__(self, folder: Path):
        self._path = folder / FILE
        self._new: dict[str, tuple[str, ...]] = {}

    @functools.cached_property
    def _known(self) -> dict[str, tuple[str, ...]]:
        return self._read()

    def of(self, key: str) -> tuple[str, ...] | None:
        """The quantities whose intervals were too wide at this look; None where no look is kept."""
        return self._new.get(key, self._known.get(key))

    def learn(self, key: str, wide: tuple[str, ...]) -> None:
        """Notes that a look found these quantities too wide."""
        self._new[key] = wide

    def save(self) -> None:
        """Writes the new looks into the file, beside those that other processes wrote meanwhile."""
        if not self._new:
            return
        found = self._read() | self._new
        self._path.parent.mkdir(parents=True, exist_ok=True)
        part = self._path.with_name(f"{self._path.name}.{os.getpid()}.part")
        part.write_text(json.dumps(found, indent=0, sort_keys=True) + "\n", encoding="utf-8")
        part.replace(self._path)

    def _read(self) -> dict[str, tuple[str, ...]]:
        with contextlib.suppress(FileNotFoundError, ValueError, AttributeError, TypeError):
            return {key: tuple(wide) for key, wide in json.loads(self._path.read_text("utf-8")).items()}
        return {}


def key(rule: sequential.Rule, most: int, seeds: Sequence[int], scenarios: Iterable[str]) -> str:
    """The key of a look: all that its result depends on besides the build; `scenarios`: the keys of its points, in their order."""
    return store.key(_code(), repr(rule), str(most), ",".join(map(str, seeds)), *scenarios)


@functools.cache
def _code() -> str:
    """The code that says how wide an interval is: with another one everything is looked at again."""
    return "".join(inspect.getsource(module) for module in (stats, sequential, grid))
