"""An experiment: a folder with a plan, an analysis and a README."""

import importlib
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from types import ModuleType

from ..plan import folders, plan
from ..run.results import Results
from ..show import claim_figures, overview
from . import grades, toml_claims
from .claims import Claim, ClaimBuilder
from .figures import Figure, Table

__all__ = [
    "Analysis",
    "ClaimBuilder",
    "Figure",
    "Table",
    "analyse",
    "claim_builder",
    "other_analyses",
    "results_of",
    "used",
]


@dataclass
class Analysis:
    """The result of an experiment: judged claims, tables, figures and sentences."""

    claims: list[Claim]
    tables: list[Table] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    """The outcome in a few sentences, the first the most important."""
    sentence: str = ""
    """The main finding in one sentence, for the first page of a report."""
    headline: Table | None = None
    """The table that a terminal shows."""


def claim_builder(results: Results) -> ClaimBuilder:
    """The builder with which the judges of an experiment make their claims."""
    study = folders.study_of(results.plan)
    plan = results.plan
    engine = plan.engines[0] if plan.engines else ", ".join(plan.every_engine())
    # A judge may use the runs of any sweep of its plan.
    by_rule = any(results.rule(sweep) is not None for sweep in plan.sweeps)
    error = grades.BY_RULE if by_rule else grades.ERROR
    return ClaimBuilder(study.number, engine, study.claims, quick=results.quick, error=error)


def analyse(results: Results) -> Analysis:
    """Runs the experiment's own analysis over the results on disk; without one, every flow's goodput (`overview`).

    Claims that name their measure (`toml_claims`) are judged and drawn in either case.
    """
    if (results.plan.folder / "analysis.py").is_file():
        found = _module(results.plan).analyse(results)
        alone = False
    else:
        tables, figures = overview.everything(results)
        found = Analysis(claims=[], tables=tables, figures=figures, headline=tables[0] if tables else None)
        alone = True
    _judge_toml_claims(results, found, alone)
    results.analyses[results.plan.name] = found
    return found


def _judge_toml_claims(results: Results, found: Analysis, alone: bool) -> None:
    """Adds the claims that need no Python; `alone`: there is none, so every claim must be such a one."""
    builder = claim_builder(results)
    judged = {claim.id for claim in found.claims}
    short = results.plan.name.rpartition("/")[2]
    mine = [
        toml_claims.judge(results, builder, entry)
        for entry in folders.study_of(results.plan).claims.values()
        if entry.experiment == short and entry.id not in judged and (alone or toml_claims.is_one(entry))
    ]
    found.claims += mine
    found.figures[:0] = [claim_figures.figure(results, claim) for claim in mine if claim.parts]
    if alone:
        found.findings += toml_claims.findings(mine)


def results_of(results: Results, name: str) -> Results:
    """The results of an experiment of the same study (`exp-17`), for one that needs its results; it may be this experiment itself."""
    study = folders.study_of(results.plan)
    full = f"{study.name}/{name}"
    if full not in study.experiments:
        raise plan.PlanError(f"no experiment `{full}`; there are {', '.join(study.experiments)}")
    return results.of(folders.load(study.folder / name))


def used(chosen: Sequence[Results]) -> list[Results]:
    """The sweeps of other experiments that the analyses of these need (`uses` of their plans), where they are not among them."""
    found = []
    there = {results.plan.name for results in chosen}
    for results in chosen:
        for name, sweeps in results.plan.uses.items():
            other = results_of(results, name).plan
            if other.name not in there:
                needed = tuple(other.sweep(sweep) for sweep in sweeps)
                found.append(results.of(replace(other, sweeps=needed)))
    return found


def other_analyses(results: Results) -> dict[str, Analysis]:
    """The analyses of every other experiment of the study, for an experiment that compares them."""
    study = folders.study_of(results.plan)
    found = {}
    for name in study.experiments:
        if name == results.plan.name:
            continue
        known = results.analyses.get(name)
        found[name] = (
            known if known is not None else analyse(results.of(folders.load(study.folder.parent / name)))
        )
    return found


def _module(each: plan.Plan) -> ModuleType:
    """The folder as a package, so that analysis.py can be split into files and `..common` is the study's own."""
    name = "anabranch_experiments"
    study = folders.study_folder(each.folder)
    for folder in dict.fromkeys((study, each.folder)):
        name += ("_" if folder == study else ".") + re.sub(r"\W", "_", folder.name)
        known = sys.modules.get(name)
        if known is None or list(known.__path__) != [str(folder)]:
            # The loaded modules are those of another checkout.
            for other in [key for key in sys.modules if key == name or key.startswith(name + ".")]:
                del sys.modules[other]
            package = ModuleType(name)
            package.__path__ = [str(folder)]
            sys.modules[name] = package
    return importlib.import_module(f"{name}.analysis")
