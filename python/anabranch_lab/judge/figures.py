"""Exhibits of a report: tables and figures."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import matplotlib.figure


@dataclass(frozen=True)
class Table:
    """A table of a report."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""
    open: bool = True
    """Whether a report shows it at once."""


@dataclass(frozen=True)
class Figure:
    """A figure of a report, drawn from recorded runs."""

    name: str
    title: str
    caption: str
    draw: Callable[[], matplotlib.figure.Figure]
    alt: str = ""
    """A description for readers who do not see the figure; made from the title and the curves where it is empty."""
    front: bool = False
    """Whether it belongs on the first page of a report."""
