"""An experiment: a folder with a plan, an analysis and a README."""

import importlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import matplotlib.figure

from . import plan
from .claims import Claim
from .sweep import Runner


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


@dataclass
class Analysis:
    """What an experiment found."""

    claims: list[Claim]
    tables: list[Table]
    figures: list[Figure]
    findings: list[str] = field(default_factory=list)
    """The outcome in a few sentences, the first the most important."""
    headline: Table | None = None
    """The table that a terminal shows."""


def root() -> Path:
    """The checkout: the nearest folder upwards, from here or from the package, that has experiments."""
    for start in (Path.cwd(), Path(__file__).parent):
        for folder in (start, *start.parents):
            if (folder / "experiments").is_dir() and (folder / "pyproject.toml").is_file():
                return folder
    raise plan.PlanError("no folder `experiments` here or above: run this inside a checkout of anabranch")


def names(folder: Path) -> list[str]:
    """Every experiment, sorted."""
    return sorted(path.parent.name for path in folder.glob("*/plan.toml"))


def find(folder: Path, name: str) -> plan.Plan:
    """The plan of one experiment."""
    if name not in names(folder):
        raise plan.PlanError(f"no experiment `{name}`; there are {', '.join(names(folder))}")
    return plan.load(folder / name)


def analyse(runner: Runner) -> Analysis:
    """Runs the experiment's own analysis over what is on disk."""
    return _module(runner.plan.folder).analyse(runner)


def _module(folder: Path) -> ModuleType:
    """The folder as a package, so that analysis.py can be split into files."""
    name = "anabranch_experiments_" + folder.name.replace("-", "_")
    if name not in sys.modules:
        package = ModuleType(name)
        package.__path__ = [str(folder)]
        sys.modules[name] = package
    return importlib.import_module(f"{name}.analysis")
