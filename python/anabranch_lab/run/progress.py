"""Progress of a command: a bar on a terminal, a line now and then in a log."""

import json
import os
import time
from pathlib import Path

import rich.progress
from rich.console import Console

SHORT = 10.0
"""Runs that took fewer seconds together are not reported at the end."""


class Bar:
    """A progress bar with the time that is left; plain lines where output is not a terminal.

    The time left comes from the expected costs of the runs: the longest go first, so counting them would mislead.
    """

    def __init__(self, title: str, console: Console, workers: int = 1):
        self._title = title
        self._console = console
        self._workers = workers
        self._bar = rich.progress.Progress(
            rich.progress.TextColumn("{task.description}"),
            rich.progress.BarColumn(),
            rich.progress.MofNCompleteColumn(),
            rich.progress.TimeElapsedColumn(),
            rich.progress.TextColumn("{task.fields[left]}"),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task(title, total=None, left="")
        self._total = self._done = self._todo = self._tried = 0
        self._cost = self._paid = 0.0
        self._busy = 1.0
        """Time by the clock over that of the processor: more than 1 where others use it, too."""
        self.seconds = 0.0
        """Time of a processor that all runs took so far."""
        self.thought: float | None = None
        """The expected time of all runs, s, when it was first told."""
        self._start = self._said = time.monotonic()

    def __enter__(self) -> "Bar":
        """Shows the bar."""
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Stops the bar, and leaves it on the terminal."""
        self._bar.stop()

    def tried(self, runs: int, seconds: float, elapsed: float) -> None:
        """Notes the pilot runs, made to see how long the others take."""
        self._tried = runs
        self.seconds += seconds
        if seconds > 0:
            self._busy = max(1.0, elapsed / seconds)

    def begin(self, total: int, on_disk: int, cost: float, later: float = 0.0) -> None:
        """Shows the number of all runs, of those on disk, and the expected time of the others and of those that are likely to follow."""
        self._total, self._done, self._todo = total, on_disk, total - on_disk
        self._cost, self._paid = cost, 0.0
        self._start = self._said = time.monotonic()
        if self.thought is None:
            self.thought = self.seconds + cost + later
        self._bar.update(self._task, total=total, completed=on_disk)
        if on_disk > self._tried:
            self._console.print(f"{self._title}: {on_disk - self._tried} of {total} runs are on disk already")
        if self._tried:
            self._console.print(f"{self._title}: {self._tried} runs made to see how long the others take")
        self._tried = 0
        if self._todo:
            wait = duration(self._busy * (cost + later) / self._workers)
            more = ", with the seeds that are likely to be added" if later else ""
            self._console.print(
                f"{self._title}: {self._todo} runs to make, about {wait} with {self._workers} at a time{more} "
                f"({duration(cost + later)} of one processor)"
            )

    def step(self, name: str, cost: float, runs: int = 1, seconds: float = 0.0) -> None:
        """Counts `runs` more runs on disk, with their expected cost and their measured seconds."""
        self._done += runs
        self.seconds += seconds
        self._paid += cost
        now = time.monotonic()
        left = self.left(now - self._start)
        self._bar.update(
            self._task,
            completed=self._done,
            description=f"{self._title}: {name}",
            left=f"left {duration(left)}",
        )
        if self._console.is_terminal:
            return
        if now - self._said >= 15 or self._done == self._total:
            self._said = now
            self._console.print(
                f"{self._title}: {self._done} of {self._total} runs ({name}), "
                f"{duration(now - self._start)}, {duration(left)} left"
            )

    def took(self) -> str:
        """The time of all runs, and the expected one; empty where it was short."""
        if self.seconds < SHORT:
            return ""
        return f"; they took {duration(self.seconds)} of one processor, {duration(self.thought or 0.0)} were expected"

    def left(self, spent: float) -> float:
        """Seconds left when so many were spent: the expected costs of the remaining runs, corrected by their error so far."""
        if self._paid <= 0:
            return self._busy * self._cost / self._workers
        return spent * max(0.0, self._cost - self._paid) / self._paid


PROGRESS = "progress.json"
"""The file, in the folder for results, with the progress of a command."""


class Recorded(Bar):
    """A progress bar, and a file with the progress, which `anabranch-lab serve` shows."""

    OFTEN = 0.5
    """Seconds between two writes of the file."""

    def __init__(self, title: str, console: Console, workers: int, path: Path):
        super().__init__(title, console, workers)
        self._path = path
        self._written = 0.0

    def __exit__(self, *error: object) -> None:
        """Stops the bar, and writes the end of the command into the file."""
        super().__exit__(*error)
        self._write("done" if error[0] is None else "stopped")

    def begin(self, total: int, on_disk: int, cost: float, later: float = 0.0) -> None:
        """Begins the bar, and writes the file."""
        super().begin(total, on_disk, cost, later)
        self._write("running")

    def step(self, name: str, cost: float, runs: int = 1, seconds: float = 0.0) -> None:
        """Steps the bar, and writes the file from time to time."""
        super().step(name, cost, runs, seconds)
        if time.monotonic() - self._written >= self.OFTEN:
            self._write("running")

    def _write(self, state: str) -> None:
        now = time.monotonic()
        self._written = now
        told = {
            "title": self._title,
            "state": state,
            "process": os.getpid(),
            "runs": self._total,
            "done": self._done,
            "seconds": round(now - self._start, 1),
            "seconds_left": round(self.left(now - self._start), 1) if state == "running" else 0,
        }
        self._path.parent.mkdir(parents=True, exist_ok=True)
        part = self._path.with_name(f"{self._path.name}.{os.getpid()}.part")
        part.write_text(json.dumps(told), encoding="utf-8")
        part.replace(self._path)


def duration(seconds: float) -> str:
    """`45 s`, `12 min`, `1 h 05 min`."""
    whole = round(seconds)
    if whole < 120:
        return f"{whole} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"
