"""How far it is: a bar on a terminal, a line now and then in a log."""

import time

import rich.progress
from rich.console import Console


class Bar:
    """A progress bar with the time that is left; plain lines where output is not a terminal.

    The time left comes from what the runs were thought to cost: the longest go first, so counting them would mislead.
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
        self._total = self._done = self._todo = 0
        self._cost = self._paid = 0.0
        self._start = self._said = time.monotonic()

    def __enter__(self) -> "Bar":
        """Shows it."""
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Leaves it as it is."""
        self._bar.stop()

    def begin(self, total: int, on_disk: int, cost: float) -> None:
        """So many runs, of which so many need not be made; the others will take so many seconds of a processor."""
        self._total, self._done, self._todo = total, on_disk, total - on_disk
        self._cost, self._paid = cost, 0.0
        self._start = self._said = time.monotonic()
        self._bar.update(self._task, total=total, completed=on_disk)
        if on_disk:
            self._console.print(f"{self._title}: {on_disk} of {total} runs are on disk already")
        if self._todo:
            self._console.print(
                f"{self._title}: {self._todo} runs to make, about {duration(cost / self._workers)} "
                f"with {self._workers} at a time"
            )

    def step(self, name: str, cost: float, runs: int = 1) -> None:
        """So many more runs are on disk, which were thought to take so many seconds."""
        self._done += runs
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

    def left(self, spent: float) -> float:
        """Seconds left when so many were spent: the costs of what is left, corrected by how right they were so far."""
        if self._paid <= 0:
            return self._cost / self._workers
        return spent * max(0.0, self._cost - self._paid) / self._paid


def duration(seconds: float) -> str:
    """`45 s`, `12 min`, `1 h 05 min`."""
    whole = round(seconds)
    if whole < 120:
        return f"{whole} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"
