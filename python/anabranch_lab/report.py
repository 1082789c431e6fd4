"""The report: an overview, a page for each study, a page for each experiment; each page is one self-contained file."""

import functools
import platform
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata, resources
from pathlib import Path
from typing import Any

import jinja2

from anabranch import _core

from . import catalogue, claims, plots
from .experiment import Analysis
from .folders import Study, study_of
from .results import Results
from .tables import report_number

CLASSES = {claims.REPRODUCED: "yes", claims.NOT_REPRODUCED: "no", claims.EXPLAINED: "differs"}
LEAD = (
    "What is called measured, and every curve that is not called published, model, ns-2 or Linux, comes from recorded runs "
    "of this project's own SCTP and TCP in virtual time."
)


@dataclass(frozen=True)
class _Page:
    results: Results
    title: str
    analysis_claims: Sequence[claims.Claim]
    findings: Sequence[str]


def write_page(folder: Path, results: Results, analysis: Analysis) -> Path:
    """Draws an experiment's figures and writes its page into a report."""
    name = results.plan.name
    study = study_of(results.plan)
    figures = []
    for figure in analysis.figures:
        with plots.style():
            drawn = figure.draw()
            if len(drawn.axes) > 1 and not drawn.get_suptitle():
                # Panels have titles of their own; the file is to say which figure it is.
                drawn.suptitle(figure.title, x=0.01, ha="left", fontweight="bold")
        uri = plots.save(drawn, folder / "figures", f"{name.replace('/', '-')}-{figure.name}")
        figures.append((figure, uri))
    up = (
        [("report", "index.html")]
        if study.single
        else [("report", "../index.html"), (study.name, f"../{study.name}.html")]
    )
    return _write(
        folder / address(name),
        "experiment.html.j2",
        title=f"anabranch: {results.plan.title}",
        heading=results.plan.title,
        lead=f"Study {study.number}: {results.plan.reference}",
        up=up,
        here=name.rpartition("/")[2],
        analysis=analysis,
        figures=figures,
        results=results,
        plan=results.plan,
        found=analysis.claims,
        facts=facts([results]),
    )


class Pages:
    """The overview of a report and a page for each study, over the pages of the experiments."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._pages: dict[str, _Page] = {}
        self._studies: dict[str, Study] = {}

    def add(self, results: Results, analysis: Analysis) -> None:
        """An experiment whose page is written."""
        name = results.plan.name
        study = study_of(results.plan)
        self._studies[study.name] = study
        self._pages[name] = _Page(results, results.plan.title, analysis.claims, analysis.findings)

    def finish(self) -> Path:
        """Writes the pages of the studies and the overview; returns the overview's path."""
        overview = []
        for study in self._studies.values():
            mine = [name for name in study.experiments if name in self._pages]
            found = [claim for name in mine for claim in self._pages[name].analysis_claims]
            if not study.single:
                whole = len(mine) == len(study.experiments)
                self._list(
                    f"{study.name}.html",
                    [self._entry(name, address(name)) for name in mine],
                    found,
                    title=f"anabranch: {study.title}",
                    heading=study.title,
                    lead=f"Study {study.number}: {study.reference}",
                    up=[("report", "index.html")],
                    here=study.name,
                    claims=[
                        (claim, address(name)) for name in mine for claim in self._pages[name].analysis_claims
                    ],
                    missing=catalogue.missing(
                        study.claims, found, [entry.experiment for entry in study.claims.values()]
                    )
                    if whole
                    else [],
                    every=[self._pages[name].results for name in mine],
                )
            overview.append(
                {
                    "name": study.name,
                    "address": f"{study.name}.html",
                    "title": study.title,
                    "count": claims.count(found),
                    "findings": self._pages[mine[0]].findings if study.single else [],
                }
            )
        return self._list(
            "index.html",
            overview,
            [claim for page in self._pages.values() for claim in page.analysis_claims],
            title="anabranch: report",
            heading="anabranch: what was published, and what was measured",
            lead=LEAD,
            up=[],
            here="",
            claims=[],
            missing=[],
            every=[page.results for page in self._pages.values()],
        )

    def _entry(self, name: str, where: str) -> dict[str, Any]:
        page = self._pages[name]
        return {
            "name": name,
            "address": where,
            "title": page.title,
            "count": claims.count(page.analysis_claims),
            "findings": page.findings,
        }

    def _list(
        self,
        name: str,
        entries: Sequence[Mapping[str, Any]],
        found: Sequence[claims.Claim],
        *,
        every: Sequence[Results],
        **values: Any,
    ) -> Path:
        return _write(
            self.folder / name,
            "list.html.j2",
            entries=entries,
            found=found,
            facts=facts(every),
            **values,
        )


def _write(path: Path, template: str, *, found: Sequence[claims.Claim], **values: Any) -> Path:
    page = (
        environment()
        .get_template(template)
        .render(classes=CLASSES, count=claims.count(found), text=text, **values)
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(page, encoding="utf-8")
    part.replace(path)
    return path


def address(name: str) -> str:
    """The page of an experiment, seen from the overview."""
    return f"{name}.html"


@functools.cache
def environment() -> jinja2.Environment:
    """The templates of the pages."""
    folder = resources.files(__package__).joinpath("pages")
    sources = {entry.name: entry.read_text(encoding="utf-8") for entry in folder.iterdir()}
    return jinja2.Environment(
        loader=jinja2.DictLoader(sources),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def text(value: float | str | None) -> str:
    """A cell of the claims table."""
    if value is None:
        return ""
    return value if isinstance(value, str) else report_number(value)


FINDING = re.compile(r"(<!-- finding -->\n).*?(<!-- /finding -->)", re.DOTALL)


def write_finding(path: Path, findings: Sequence[str]) -> bool:
    """Puts the findings between the marks of a README; False when it has no marks."""
    if not path.is_file():
        return False
    before = path.read_text(encoding="utf-8")
    body = "".join(f"- {finding}\n" for finding in findings)
    after, found = FINDING.subn(lambda match: match[1] + body + match[2], before)
    if found and after != before:
        path.write_text(after, encoding="utf-8")
    return bool(found)


def facts(every: Sequence[Results]) -> list[tuple[str, str]]:
    """What the report was made with."""
    runs = sum(results.run_count() for results in every)
    quick = any(results.quick for results in every)
    return [
        ("runs", f"{runs:,}" + (" (quick: too few to judge a number)" if quick else "")),
        ("commit", _commit(every[0].plan.folder if every else Path.cwd())),
        ("simulator", f"anabranch {_core.__version__}, build {every[0].code if every else 'none'}"),
        (
            "lab",
            f"Python {platform.python_version()}, "
            + ", ".join(f"{name} {metadata.version(name)}" for name in ("pyarrow", "duckdb", "matplotlib")),
        ),
        ("made", datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")),
    ]


def _commit(folder: Path) -> str:
    try:
        return subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "not a git checkout"
