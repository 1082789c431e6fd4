"""An experiment: a folder with a plan, an analysis and a README."""

import importlib
import re
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import matplotlib.figure

from . import catalogue, plan
from .claims import Claim
from .results import Results


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
    tables: list[Table] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
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


@dataclass(frozen=True)
class Study:
    """A study: one folder with a plan, or a folder of experiments that have one each."""

    name: str
    folder: Path
    number: str
    title: str
    reference: str
    experiments: tuple[str, ...]
    """Their full names, such as `sf-sctp-2007/exp-04`."""
    claims: Mapping[str, catalogue.Entry]

    @property
    def single(self) -> bool:
        """Whether the study is one experiment."""
        return self.experiments == (self.name,)


def studies(folder: Path) -> list[Study]:
    """Every study, sorted by its name."""
    places = {path.parent for pattern in ("*/plan.toml", "*/study.toml") for path in folder.glob(pattern)}
    return [_study(place) for place in sorted(places)]


def _study(folder: Path) -> Study:
    entries = catalogue.load(folder / "claims.toml")
    if (folder / "study.toml").is_file():
        head = _defaults(folder)
        return Study(
            folder.name,
            folder,
            head["study"],
            head["title"],
            head.get("reference", ""),
            tuple(f"{folder.name}/{path.parent.name}" for path in sorted(folder.glob("*/plan.toml"))),
            entries,
        )
    one = plan.load(folder)
    return Study(folder.name, folder, one.study, one.title, one.reference, (folder.name,), entries)


def _defaults(folder: Path) -> dict[str, Any]:
    """A study's study.toml: what its plans need not say."""
    return tomllib.loads((folder / "study.toml").read_text(encoding="utf-8"))


def names(folder: Path) -> list[str]:
    """Every experiment, study by study."""
    return [name for study in studies(folder) for name in study.experiments]


def find(folder: Path, name: str) -> plan.Plan:
    """The plan of one experiment: `satellite-2005`, `sf-sctp-2007/exp-04`."""
    if name not in names(folder):
        raise plan.PlanError(f"no experiment `{name}`; there are {', '.join(names(folder))}")
    head, slash, _ = name.partition("/")
    defaults = _defaults(folder / head) if slash else {}
    defaults.pop("title", None)
    return plan.load(folder / name, name, defaults)


def select(folder: Path, study: str | None = None, experiment: str | None = None) -> list[str]:
    """The experiments that a command means: all, those of a study, or one (with or without the study's name)."""
    every = studies(folder)
    if study is not None:
        found = [each for each in every if each.name == study]
        if not found:
            raise plan.PlanError(f"no study `{study}`; there are {', '.join(each.name for each in every)}")
        every = found
    chosen = [name for each in every for name in each.experiments]
    if experiment is None:
        return chosen
    matching = [
        name for name in chosen if experiment in (name, name.rpartition("/")[2], name.partition("/")[0])
    ]
    if not matching:
        raise plan.PlanError(f"no experiment `{experiment}`; there are {', '.join(chosen)}")
    return matching


def study_of(folder: Path, name: str) -> Study:
    """The study that an experiment belongs to."""
    return _study(folder / name.partition("/")[0])


def claim_builder(results: Results, *others: Results) -> catalogue.ClaimBuilder:
    """What the judges of an experiment make their claims with; sweeps of the `others` may be evidence too."""
    study = _study(_study_folder(results.plan))
    return catalogue.ClaimBuilder(study.number, results.plan, study.claims, [other.plan for other in others])


def analyse(results: Results) -> Analysis:
    """Runs the experiment's own analysis over what is on disk."""
    found = _module(results.plan).analyse(results)
    results.analyses[results.plan.name] = found
    return found


def results_of(results: Results, name: str) -> Results:
    """The results of an experiment of the same study (`exp-17`), for one that needs its results; it may be the results's own."""
    study = _study_folder(results.plan)
    return results.of(find(study.parent, f"{study.name}/{name}"))


def other_analyses(results: Results) -> dict[str, Analysis]:
    """What every other experiment of the study found, for an experiment that compares them."""
    folder = _study_folder(results.plan)
    found = {}
    for name in _study(folder).experiments:
        if name == results.plan.name:
            continue
        known = results.analyses.get(name)
        found[name] = known if known is not None else analyse(results.of(find(folder.parent, name)))
    return found


def _study_folder(each: plan.Plan) -> Path:
    return each.folder.parent if (each.folder.parent / "study.toml").is_file() else each.folder


def _module(each: plan.Plan) -> ModuleType:
    """The folder as a package, so that analysis.py can be split into files and `..common` is the study's own."""
    name = "anabranch_experiments"
    study = _study_folder(each)
    for folder in dict.fromkeys((study, each.folder)):
        name += ("_" if folder == study else ".") + re.sub(r"\W", "_", folder.name)
        known = sys.modules.get(name)
        if known is None or list(known.__path__) != [str(folder)]:
            # Another checkout's: what was loaded from there is not this one's.
            for other in [key for key in sys.modules if key == name or key.startswith(name + ".")]:
                del sys.modules[other]
            package = ModuleType(name)
            package.__path__ = [str(folder)]
            sys.modules[name] = package
    return importlib.import_module(f"{name}.analysis")
