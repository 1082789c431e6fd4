"""How long a run will take: the time that it took before, or a guess from its scenario."""

import contextlib
import json
import math
import os
from pathlib import Path

from . import estimate


class Costs:
    """Seconds of one processor, learned on this machine; results do not depend on them."""

    def __init__(self, path: Path):
        self._path = path
        self._known = self._read()
        self._learned: dict[str, float] = {}
        self._guesses: dict[str, float] = {}
        self._seen: dict[str, list[tuple[float, float]]] = {}

    def of(self, key: str, scenario: str, runs: int = 1, sweep: str = "") -> float:
        """The expected time of a run of this scenario, or of a batch of so many like it, seconds.

        A guess is corrected by how far those of other points of the same sweep were off: by the one whose guess is nearest.
        """
        if key in self._known:
            return self._known[key]
        if key not in self._guesses:
            self._guesses[key] = runs * estimate.seconds(scenario)
        guess = self._guesses[key]
        seen = self._seen.get(sweep)
        if not seen or guess <= 0:
            return guess
        near, took = min(seen, key=lambda each: abs(math.log(each[0] / guess)))
        return guess * took / near

    def saw(self, key: str, sweep: str, seconds: float) -> None:
        """Notes the time of a run, which corrects the guesses for the other runs of its sweep."""
        guess = self._guesses.get(key, 0.0)
        if guess > 0 and seconds > 0:
            self._seen.setdefault(sweep, []).append((guess, seconds))

    def known(self, key: str) -> bool:
        """Whether a run of this scenario was made before."""
        return key in self._known

    def learn(self, key: str, seconds: float) -> None:
        """Notes the time of a run."""
        before = self._learned.get(key, seconds)
        self._learned[key] = round(0.7 * before + 0.3 * seconds, 6)

    def save(self) -> None:
        """Writes the new times into the file, beside those that other processes wrote meanwhile."""
        if not self._learned:
            return
        self._known = self._read() | self._learned
        self._path.parent.mkdir(parents=True, exist_ok=True)
        part = self._path.with_name(f"{self._path.name}.{os.getpid()}.part")
        part.write_text(json.dumps(self._known, indent=0, sort_keys=True) + "\n", encoding="utf-8")
        part.replace(self._path)

    def _read(self) -> dict[str, float]:
        with contextlib.suppress(FileNotFoundError, ValueError):
            return {str(key): float(value) for key, value in json.loads(self._path.read_text()).items()}
        return {}
