"""Where experiments are: a folder with a plan, a study of several such folders, a checkout with many studies."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import catalogue, configuration, plan

PLAN = "plan.toml"
CLAIMS = "claims.toml"


def checkout(start: Path | None = None) -> Path | None:
    """The checkout that a folder (the present one) lies in: it has `experiments` and a pyproject.toml."""
    start = Path.cwd() if start is None else start
    for folder in (start, *start.parents):
        if (folder / "experiments").is_dir() and (folder / "pyproject.toml").is_file():
            return folder
    return None


def root() -> Path:
    """The checkout that we are in, or else that of this package; an error where it is installed without one."""
    found = checkout() or checkout(Path(__file__).parent)
    if found is None:
        raise plan.PlanError(f"there is no checkout of anabranch here. {HINT}")
    return found


HINT = "Name the folder of an experiment, or make one with `anabranch-lab new NAME`"


@dataclass(frozen=True)
class Study:
    """A study: one folder with a plan, or a folder of experiments that have one each."""

    name: str
    folder: Path
    number: str
    title: str
    reference: str
    short: str
    """Authors and year of its publication; the title of the study where it has no publication."""
    experiments: tuple[str, ...]
    """The full names of its experiments, such as `sf-sctp-2007/exp-04`; those that a publication does not have come last."""
    claims: Mapping[str, catalogue.Entry]
    about: Mapping[str, str] = field(default_factory=dict)
    """The abstract: `question`, `method`."""
    findings: tuple[str, ...] = ()
    """The findings of the abstract; the first findings of its experiments where there is none."""
    glossary: Mapping[str, str] = field(default_factory=dict)
    """Words that its pages use."""
    engine_names: Mapping[str, str] = field(default_factory=dict)
    """Names of engines in its figures that differ from `plots.ENGINE_NAMES`: such an engine runs in the study's own configuration."""
    settings: configuration.Configuration = field(default_factory=lambda: configuration.Configuration(()))
    """The settings for all of its experiments."""

    @property
    def single(self) -> bool:
        """Whether the study is one experiment."""
        return self.experiments == (self.name,)

    @property
    def own(self) -> bool:
        """Whether its claims are our own hypotheses, not those of a publication."""
        return self.number == plan.OWN


def places(folder: Path) -> list[Path]:
    """The folders of the studies in a folder, sorted by their names."""
    return sorted({path.parent for name in (PLAN, configuration.STUDY) for path in folder.glob(f"*/{name}")})


def studies(folder: Path) -> list[Study]:
    """Every study of a folder, sorted by its name."""
    return [study_at(place) for place in places(folder)]


def experiments(study: Path) -> list[Path]:
    """The folders of the experiments of the study in this folder: its own, where it is one experiment."""
    if (study / configuration.STUDY).is_file():
        return sorted(path.parent for path in study.glob(f"*/{PLAN}"))
    return [study]


def study_at(folder: Path) -> Study:
    """The study in this folder."""
    if (folder / configuration.STUDY).is_file():
        head = defaults(folder)
        about, findings = _abstract(head.get("about", {}), folder / configuration.STUDY)
        number = _number(head.get("study", plan.OWN), head.get("reference", ""))
        names = [path.name for path in experiments(folder)]
        claims = _claims(folder, names, number)
        names.sort(key=lambda name: (_ours(name, claims.values()), name))
        return Study(
            folder.name,
            folder,
            number,
            head.get("title", folder.name),
            head.get("reference", ""),
            head.get("short", head.get("title", folder.name)),
            tuple(f"{folder.name}/{name}" for name in names),
            claims,
            about,
            findings,
            head.get("glossary", {}),
            head.get("engine_names", {}),
            configuration.parse(head.get(configuration.KEY, ()), folder / configuration.STUDY),
        )
    one = load(folder)
    number = _number(one.study, one.reference)
    claims = _of_experiment(folder, one.name, number)
    about, findings = _abstract(one.about, folder / PLAN)
    return Study(
        one.name,
        folder,
        number,
        one.title,
        one.reference,
        one.short or one.title,
        (one.name,),
        claims,
        about,
        findings,
        one.glossary,
    )


def _number(said: str, reference: str) -> str:
    """The number of the publication that a study judges: without a `reference` there is none, and all it says is its own."""
    return said if reference else plan.OWN


def _claims(folder: Path, names: list[str], number: str) -> dict[str, catalogue.Entry]:
    """The claims of a study: of its own claims.toml, and of those of its experiments."""
    alone = names[0] if len(names) == 1 else None
    found = catalogue.load(folder / CLAIMS, alone, number)
    for name in names:
        for entry in _of_experiment(folder / name, name, number).values():
            if entry.id in found:
                other = found[entry.id].experiment
                raise plan.PlanError(
                    f"{folder / name / CLAIMS}: claim {entry.id}: another one of {other} is called so"
                )
            found[entry.id] = entry
    return found


def _of_experiment(folder: Path, name: str, number: str) -> dict[str, catalogue.Entry]:
    """The claims that stand beside a plan: it judges them."""
    found = catalogue.load(folder / CLAIMS, name, number)
    for entry in found.values():
        if entry.experiment != name:
            raise plan.PlanError(
                f"{folder / CLAIMS}: claim {entry.id}: experiment `{entry.experiment}`; here it can only be {name}"
            )
    return found


def _ours(experiment: str, claims: Iterable[catalogue.Entry]) -> bool:
    """Whether all that an experiment judges is our own."""
    sorts = {entry.counts_as for entry in claims if entry.experiment == experiment}
    return sorts == {catalogue.OWN}


def _abstract(about: Mapping[str, Any], file: Path) -> tuple[dict[str, str], tuple[str, ...]]:
    """The texts of `[about]`, and its list of findings."""
    if not isinstance(about, Mapping):
        raise plan.PlanError(f"{file}: [about] is a table of texts, not {about!r}")
    texts = dict(about)
    findings = texts.pop("findings", [])
    if not (isinstance(findings, list) and all(isinstance(each, str) and each for each in findings)):
        raise plan.PlanError(f"{file}: `findings` of [about] is a list of sentences")
    wrong = [name for name, told in texts.items() if not isinstance(told, str)]
    if wrong:
        raise plan.PlanError(f"{file}: `{wrong[0]}` of [about] is a text")
    return texts, tuple(findings)


def defaults(folder: Path) -> dict[str, Any]:
    """A study's study.toml: settings that all its plans share."""
    return plan.read(folder / configuration.STUDY)


def load(folder: Path) -> plan.Plan:
    """The plan of the experiment in this folder, with the settings that its study has for all of them."""
    study = study_folder(folder)
    if study == folder:
        return plan.load(folder, folder.name)
    head = defaults(study)
    settings = configuration.parse(head.get(configuration.KEY, ()), study / configuration.STUDY)
    for key in ("title", "about", "glossary", "engine_names", configuration.KEY):
        head.pop(key, None)
    return plan.load(folder, f"{study.name}/{folder.name}", head).configured(settings.of(folder.name))


def names(folder: Path) -> list[str]:
    """Every experiment, study by study."""
    return [name for study in studies(folder) for name in study.experiments]


def find(folder: Path, name: str) -> plan.Plan:
    """The plan of one experiment of a folder of studies: `satellite-2005`, `sf-sctp-2007/exp-04`."""
    if name not in names(folder):
        raise plan.PlanError(f"no experiment `{name}`; there are {', '.join(names(folder))}")
    return load(folder / name)


def at(place: Path) -> list[plan.Plan] | None:
    """Every experiment of a folder that somebody names: an experiment, a study, or a folder of studies; None if it is none of these."""
    place = place.resolve()
    if (place / PLAN).is_file():
        return [load(place)]
    if (place / configuration.STUDY).is_file():
        inside = [load(path) for path in experiments(place)]
        if not inside:
            raise plan.PlanError(f"{place}: a study without an experiment: no folder in it has a {PLAN}")
        return inside
    inside = [load(study.folder.parent / name) for study in studies(place) for name in study.experiments]
    return inside or None


def study_of(each: plan.Plan) -> Study:
    """The study that an experiment belongs to."""
    return study_at(study_folder(each.folder))


def study_folder(folder: Path) -> Path:
    """The folder of the study that the experiment in a folder belongs to; that of the experiment where it is by itself."""
    return folder.parent if (folder.parent / configuration.STUDY).is_file() else folder
