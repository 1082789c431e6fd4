"""The report: a first page, a page for each study, a page for each experiment; each page is one self-contained file."""

import functools
import json
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

from ..judge import claims, experiment, grades
from ..judge.experiment import Analysis
from ..judge.figures import Figure
from ..plan import plan
from ..plan.folders import Study, study_of
from ..run.results import Results
from . import forest, notes, pdf, pictures, plots, sources, to_see
from .tables import report_number
from .to_see import Link

CLASSES = {
    grades.A: "yes",
    grades.B: "differs",
    grades.C: "open",
    grades.D: "no",
    grades.N: "unjudged",
    grades.NOT_JUDGED: "unjudged",
}
FRONT = 1
"""Figures of the first page, of experiments: the claims of every study stand above them."""
LEAD = (
    "What is called measured, and every curve that is not called published, model, ns-2 or Linux, comes from recorded runs "
    "of this project's own SCTP and TCP in virtual time."
)


@dataclass(frozen=True)
class Row:
    """A claim in the table of its study, with links to its page, what is to be seen there, and its sources."""

    claim: claims.Claim
    page: str
    """The page of its experiment; nothing on that page itself, or where the report does not have it."""
    see: Sequence[Link]
    """What is to be seen of it on that page."""
    sources: sources.Sources


@dataclass(frozen=True)
class _Page:
    results: Results
    analysis: Analysis


def write_page(folder: Path, results: Results, analysis: Analysis, names: Sequence[str] = ()) -> Path:
    """Draws an experiment's figures and writes its page into a report; `names` are the experiments that the report has."""
    name = results.plan.name
    study = study_of(results.plan)
    # The pictures of a page in a folder of its own lie one folder up.
    up = "" if study.single else "../"
    figures = [(figure, draw(figure, folder, name, study), up) for figure in analysis.figures]
    trail = [Link("Report", f"{up}index.html")]
    if not study.single:
        trail.append(Link(study.short, f"../{study.name}.html"))
    order = [each for each in study.experiments if each in names or each == name]
    _remember(folder, name, analysis, figures, study)
    titles = {figure.name: figure.title for figure in analysis.figures}
    noted = notes.of_all(results)
    found = [*analysis.claims, *claims.unjudged(study.claims, study.number, analysis.claims)]
    return _write(
        folder / address(name),
        "experiment.html.j2",
        title=f"anabranch: {results.plan.title}",
        heading=results.plan.title,
        lead=_lead(study, results.plan.reference),
        trail=trail,
        here=name.rpartition("/")[2] if not study.single else study.short,
        previous=_neighbour(order, name, -1, up),
        following=_neighbour(order, name, +1, up),
        analysis=analysis,
        figures=figures,
        at_a_glance=_at_a_glance(folder, study, found) if study.single else None,
        rows=_rows(study, found, {name: ""}, {name: titles}) if study.single else [],
        forest_caption=forest.caption(found),
        sources={claim.id: sources.of(study, claim) for claim in analysis.claims},
        strip_caption=forest.STRIP
        if any(any(forest.strips(claim.parts)) for claim in analysis.claims)
        else "",
        see={claim.id: to_see.of(claim, titles) for claim in analysis.claims},
        ran=_ran(results, up, names),
        tallies=tallies(analysis.claims),
        about=study.about if study.single else {},
        glossary=study.glossary if study.single else {},
        engines=_engines([results], analysis.claims),
        told=list(study.findings) if study.single else [],
        facts=facts([results]),
        quick=results.quick,
        notes=noted,
        noted=notes.in_a_sentence(noted),
    )


def draw(figure: Figure, folder: Path, name: str, study: Study) -> pictures.Picture:
    """Draws one figure of an experiment into the report."""
    with plots.style(), plots.engine_names(study.engine_names):
        drawn = figure.draw()
        if len(drawn.axes) > 1 and not drawn.get_suptitle():
            # Panels have titles of their own; the file is to say which figure it is.
            drawn.suptitle(figure.title, x=0.01, ha="left", fontweight="bold", wrap=True)
        # A slash, in the name of an experiment of a study or of a claim, would be a folder.
        stem = f"{name}-{figure.name}".replace("/", "-")
        return pictures.write(drawn, folder / "figures", stem, figure.alt)


def _remember(folder: Path, name: str, analysis: Analysis, figures: Sequence[Any], study: Study) -> None:
    """Keeps the part of an experiment that the first page shows, which another process writes."""
    front = [
        {
            "title": figure.title,
            "caption": figure.caption,
            "stem": picture.stem,
            "alt": picture.alt,
            "inches": picture.inches,
            "address": f"{address(name)}#{figure.name}",
        }
        for figure, picture, _ in figures
        if figure.front
    ]
    path = folder / "figures" / f"{name.replace('/', '-')}.front.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    titles = {figure.name: figure.title for figure, _, _ in figures}
    path.write_text(json.dumps({"front": front, "figures": titles}, ensure_ascii=False), encoding="utf-8")


def _at_a_glance(folder: Path, study: Study, found: Sequence[claims.Claim]) -> pictures.Picture | None:
    """All claims of a study that were judged, in one picture."""
    judged = [claim for claim in found if claim.parts]
    if not judged:
        return None
    with plots.style():
        return pictures.write(
            forest.draw(judged), folder / "figures", f"{study.name}-claims", forest.alt(judged)
        )


def _rows(
    study: Study,
    found: Sequence[claims.Claim],
    pages: Mapping[str, str],
    figures: Mapping[str, Mapping[str, str]],
) -> list[Row]:
    """A row for each claim of a study; `pages` and `figures`: addresses of experiments that the report has, and the titles of their
    figures by their names.
    """
    rows = []
    for claim in found:
        name = study.name if study.single else f"{study.name}/{claim.entry.experiment}"
        see = to_see.of(claim, figures.get(name, {}))
        rows.append(Row(claim, pages.get(name, ""), see, sources.of(study, claim)))
    return rows


@dataclass(frozen=True)
class _Ran:
    """A row of the table of what was run."""

    place: str
    name: str
    page: str
    """The page of the experiment that it is a sweep of, where that is another one."""
    seeds: str
    points: int
    about: str


def _ran(results: Results, up: str, names: Sequence[str]) -> dict[str, Any]:
    """What was run for an experiment: its own sweeps, and those of others that its analysis reads. `names`: the experiments of the report."""
    rows, rules = [], []
    for each in [results, *experiment.used([results])]:
        other = "" if each is results else each.plan.name.rpartition("/")[2] + ": "
        page = f"{up}{address(each.plan.name)}" if other and each.plan.name in names else ""
        rows += [
            _Ran(
                to_see.place_of(other + sweep.name),
                other + sweep.name,
                page,
                each.seed_counts(sweep),
                len(each.points(sweep)),
                sweep.about,
            )
            for sweep in each.plan.sweeps
        ]
        rules += [(rule, [other + sweep for sweep in sweeps]) for rule, sweeps in each.rules()]
    return {"own": len(results.plan.sweeps), "rows": rows, "rules": rules}


def _lead(study: Study, reference: str) -> str:
    return reference if study.own else f"{study.short}. {reference}"


def _neighbour(order: Sequence[str], name: str, step: int, up: str) -> Link | None:
    place = order.index(name) + step
    if not 0 <= place < len(order):
        return None
    return Link(order[place].rpartition("/")[2], f"{up}{address(order[place])}")


class Pages:
    """The first page of a report and a page for each study, over the pages of the experiments."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._pages: dict[str, _Page] = {}
        self._studies: dict[str, Study] = {}

    def add(self, results: Results, analysis: Analysis) -> None:
        """An experiment whose page is written."""
        study = study_of(results.plan)
        self._studies[study.name] = study
        self._pages[results.plan.name] = _Page(results, analysis)

    def finish(self) -> Path:
        """Writes the pages of the studies and the first page; returns the first page's path."""
        # Studies of publications come first, those of our own hypotheses after them.
        studies = sorted(self._studies.values(), key=lambda study: study.own)
        overview: list[dict[str, Any]] = []
        for place, study in enumerate(studies):
            mine = [name for name in study.experiments if name in self._pages]
            found = self._claims(study, mine)
            if not study.single:
                around = [
                    studies[place + step] if 0 <= place + step < len(studies) else None for step in (-1, 1)
                ]
                before, after = (
                    None if each is None else Link(each.short, f"{each.name}.html") for each in around
                )
                self._study(study, mine, found, before, after)
            overview.append(
                {
                    "forest": _at_a_glance(self.folder, study, found),
                    "question": study.about.get("question", ""),
                    "name": study.name,
                    "address": f"{study.name}.html",
                    "title": study.short,
                    "about": study.title,
                    "tallies": tallies(found),
                    "findings": [self._pages[name].analysis.sentence for name in mine],
                }
            )
        front = _front_matter(studies[0].folder.parent if studies else self.folder)
        shown = [
            (each, study)
            for each in front.get("finding", [])
            for study in studies
            if study.name == each["study"]
        ]
        asked = front.get("asked", "")
        pdf.write(
            self.folder / "report.pdf",
            pdf.Front(asked, [{**each, "study": study.short} for each, study in shown]),
            [
                pdf.Chapter(study.title, study.reference, study.about, self._told(study), self._claims(study))
                for study in studies
            ],
            facts([page.results for page in self._pages.values()]),
        )
        sentences = [
            (sentence, Link(study.short, address(name)))
            for study in studies
            for name in study.experiments
            if name in self._pages
            for sentence in [self._pages[name].analysis.sentence]
            if sentence
        ]
        return _write(
            self.folder / "index.html",
            "index.html.j2",
            title="anabranch: report",
            heading="anabranch: what was published, and what was measured",
            lead=LEAD,
            trail=[],
            here="",
            previous=None,
            following=Link(overview[0]["title"], overview[0]["address"]) if overview else None,
            sentences=sentences,
            asked=asked,
            matters=[{**each, "link": Link(study.short, f"{study.name}.html")} for each, study in shown],
            figures=self._front(),
            entries=overview,
            tallies=[],
            grades=claims.words([claim for _, mine in self.by_study() for claim in mine]),
            forest_caption=forest.READ,
            table=[(name, claims.counts(mine)) for name, mine in self.by_study()],
            facts=facts([page.results for page in self._pages.values()]),
            quick=any(page.results.quick for page in self._pages.values()),
        )

    def _claims(self, study: Study, mine: Sequence[str] | None = None) -> list[claims.Claim]:
        """Every claim of a study: those of experiments that are not in this report are not judged."""
        names = [name for name in study.experiments if name in self._pages] if mine is None else mine
        found = [claim for name in names for claim in self._pages[name].analysis.claims]
        return [*found, *claims.unjudged(study.claims, study.number, found)]

    def by_study(self) -> list[tuple[str, list[claims.Claim]]]:
        """The name of each study of the report, and its claims."""
        return [(study.short, self._claims(study)) for study in self._studies.values()]

    def _study(
        self,
        study: Study,
        mine: Sequence[str],
        found: Sequence[claims.Claim],
        before: Link | None,
        after: Link | None,
    ) -> None:
        _write(
            self.folder / f"{study.name}.html",
            "study.html.j2",
            title=f"anabranch: {study.short}",
            heading=study.title,
            lead=_lead(study, study.reference),
            trail=[Link("Report", "index.html")],
            here=study.short,
            previous=before,
            following=after,
            entries=[self._entry(name) for name in mine],
            rows=_rows(
                study,
                found,
                {name: address(name) for name in mine},
                {name: self._remembered(name)["figures"] for name in mine},
            ),
            about=study.about,
            glossary=study.glossary,
            settings=study.settings.settings,
            at_a_glance=_at_a_glance(self.folder, study, found),
            forest_caption=forest.caption(found),
            engines=_engines([self._pages[name].results for name in mine], found),
            told=self._told(study),
            tallies=tallies(found),
            facts=facts([self._pages[name].results for name in mine]),
            quick=any(self._pages[name].results.quick for name in mine),
        )

    def _told(self, study: Study) -> list[str]:
        """The findings of a study: its own sentences, or the first of its experiments."""
        mine = [name for name in study.experiments if name in self._pages]
        return list(study.findings) or self._first_findings(mine)

    def _first_findings(self, mine: Sequence[str]) -> list[str]:
        """The first findings of three experiments, those that judge a publication before our own."""
        return [
            sentence
            for name in sorted(mine, key=lambda name: _mostly_ours(self._pages[name].analysis.claims))
            for analysis in [self._pages[name].analysis]
            for sentence in [analysis.sentence or next(iter(analysis.findings), "")]
            if sentence
        ][:3]

    def _entry(self, name: str) -> dict[str, Any]:
        page = self._pages[name]
        return {
            "name": name,
            "address": address(name),
            "title": page.results.plan.title,
            "tallies": tallies(page.analysis.claims),
            "findings": page.analysis.findings,
        }

    def _front(self) -> list[dict[str, Any]]:
        """The figures of the first page, with their pictures."""
        found: list[dict[str, Any]] = []
        for name in self._pages:
            for entry in self._remembered(name)["front"][: FRONT - len(found)]:
                uris = {
                    kind: plots.uri((self.folder / "figures" / f"{entry['stem']}{end}.svg").read_bytes())
                    for kind, end in (("light", ""), ("dark", ".dark"))
                }
                found.append({**entry, **uris})
        return found

    def _remembered(self, name: str) -> dict[str, Any]:
        """The figures that the page of an experiment has left for the first page (`_remember`)."""
        path = self.folder / "figures" / f"{name.replace('/', '-')}.front.json"
        if not path.is_file():
            return {"front": [], "figures": {}}
        return dict(json.loads(path.read_text(encoding="utf-8")))


FRONT_MATTER = "report.toml"
"""A file beside the studies: the question of their report (`asked`), and the main findings (`finding`: study, text, lacks)."""


def _front_matter(folder: Path) -> dict[str, Any]:
    file = folder / FRONT_MATTER
    if not file.is_file():
        return {}
    found = plan.read(file)
    for number, each in enumerate(found.get("finding", []), start=1):
        for key in ("study", "text", "lacks"):
            if not each.get(key):
                raise plan.PlanError(
                    f"{file}: finding {number}: `{key}` is missing; a finding has study, text, lacks"
                )
    return found


def tallies(found: Sequence[claims.Claim]) -> list[tuple[str, list[tuple[str, int, str]]]]:
    """How many claims have which grade, by kind of claim. Each grade has its letter with the word, number and class."""
    return [
        (
            line.label,
            [
                (f"{grade} {claims.word(grade, line.sort)}", number, CLASSES[grade])
                for grade, number in line.grades.items()
                if number
            ],
        )
        for line in claims.counts(found)
    ]


TOTALS = re.compile(r"(<!-- totals -->\n).*?(<!-- /totals -->)", re.DOTALL)


def write_totals(path: Path, studies: Sequence[tuple[str, Sequence[claims.Claim]]]) -> bool:
    """Puts the totals between the marks of a page; False when it has no marks. `studies`: the name of each, and its claims."""
    if not path.is_file():
        return False
    before = path.read_text(encoding="utf-8")
    rows = [["study", "kind", *(f"{grade} {word}" for grade, word in grades.WORDS.items())]]
    for name, mine in studies:
        rows += [
            [name, line.label, *(str(number or "") for number in line.grades.values())]
            for line in claims.counts(mine)
        ]
    lines = ["| " + " | ".join(row) + " |\n" for row in rows]
    lines.insert(1, "|" + "---|" * len(rows[0]) + "\n")
    after, marks = TOTALS.subn(lambda match: match[1] + "".join(lines) + match[2], before)
    if marks and after != before:
        path.write_text(after, encoding="utf-8")
    return bool(marks)


def plural(number: int | str, noun: str) -> str:
    """`1 seed`, `30 seeds`, `10 to 30 seeds`."""
    return f"{number} {noun}" if str(number) == "1" else f"{number} {noun}s"


def _write(path: Path, template: str, **values: Any) -> Path:
    page = (
        environment()
        .get_template(template)
        .render(
            classes=CLASSES,
            text=text,
            plural=plural,
            strips=forest.strips,
            **values,
        )
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(page, encoding="utf-8")
    part.replace(path)
    return path


def address(name: str) -> str:
    """The page of an experiment, seen from the first page."""
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


def _mostly_ours(found: Sequence[claims.Claim]) -> bool:
    """Whether an experiment is there for hypotheses of ours rather than for claims of a publication."""
    return 2 * sum(claim.own for claim in found) >= len(found)


def _engines(every: Sequence[Results], found: Sequence[claims.Claim]) -> str:
    """The engines that plans compare, or that their scenarios and sweeps name: those that claims are judged by, and the others."""
    named = dict.fromkeys(engine for results in every for engine in results.plan.every_engine())
    said = {word for claim in found if claim.parts for word in claim.engine.split()}
    kinds = {
        "judged": [name for name in named if name in said],
        "beside": [name for name in named if name not in said],
    }
    if not kinds["judged"]:
        return ", ".join(named)
    return "; ".join(f"{kind}: {', '.join(names)}" for kind, names in kinds.items() if names)


def facts(every: Sequence[Results]) -> list[tuple[str, str]]:
    """The facts about the report: number of runs, versions, and when it was made."""
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
