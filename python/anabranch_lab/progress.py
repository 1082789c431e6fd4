"""How far a sweep is: a bar on a terminal, a line now and then in a log."""

import time

import rich.progress
from rich.console import Console


class Bar:
    """A progress bar with the time that is left; plain lines where nobody can see a bar."""

    def __init__(self, title: str, console: Console):
        self._title = title
        self._console = console
        self._bar = rich.progress.Progress(
            rich.progress.TextColumn("{task.description}"),
            rich.progress.BarColumn(),
            rich.progress.MofNCompleteColumn(),
            rich.progress.TimeElapsedColumn(),
            rich.progress.TextColumn("left"),
            rich.progress.TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task(title, total=None)
        self._total = self._done = self._said = self._todo = 0
        self._start = time.monotonic()

    def __enter__(self) -> "Bar":
        """Shows it."""
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Leaves it as it is."""
        self._bar.stop()

    def begin(self, total: int, on_disk: int) -> None:
        """So many runs, of which so many need not be made."""
        self._total, self._done, self._todo = total, on_disk, total - on_disk
        self._said = on_disk
        self._start = time.monotonic()
        self._bar.update(self._task, total=total, completed=on_disk)
        if on_disk:
            self._console.print(f"{self._title}: {on_disk} of {total} runs are on disk already")

    def step(self, name: str) -> None:
        """One more run is on disk."""
        self._done += 1
        self._bar.update(self._task, completed=self._done, description=f"{self._title}: {name}")
        if self._console.is_terminal:
            return
        if self._done - self._said >= max(1, self._total // 10) or self._done == self._total:
            self._said = self._done
            spent = time.monotonic() - self._start
            made = self._done - (self._total - self._todo)
            left = spent / made * (self._total - self._done)
            self._console.print(
                f"{self._title}: {self._done} of {self._total} runs ({name}), "
                f"{spent:.0f} s, {left:.0f} s left"
            )
