"""The plans that a command names: by the current folder, by a folder, or by a name in the checkout."""

from pathlib import Path

from . import configuration, folders, plan


def here() -> Path | None:
    """The experiment or the study that one stands in, at its top or anywhere below."""
    place = Path.cwd()
    for folder in (place, *place.parents):
        if (folder / folders.PLAN).is_file() or (folder / configuration.STUDY).is_file():
            return folder
        if folder == folders.checkout():
            return None
    return None


def plans(
    name: str | None = None, study: str | None = None, experiment: str | None = None, claim: str | None = None
) -> tuple[list[plan.Plan], bool]:
    """The plans that a command means, and whether they are all plans of their study or of the checkout.

    `name` is a folder, a study or an experiment; without any argument it is the current folder, or everything in the checkout.
    """
    given = [option for option, value in (("NAME", name), ("--claim", claim)) if value is not None]
    given += ["--study and --experiment"] if study is not None or experiment is not None else []
    if len(given) > 1:
        raise plan.PlanError(f"name it once: {' or '.join(given)}")
    if claim is not None:
        return [_of_claim(claim)], False
    if study is not None or experiment is not None:
        found = _of_study(study, experiment)
        return found, experiment is None
    found = _folder(name)
    if found is None and name is not None:
        found = _called(name)
    if found is None:
        checkout = folders.checkout()
        if checkout is None:
            raise plan.PlanError(f"no plan.toml here, and this is no checkout of anabranch. {folders.HINT}")
        found = folders.at(checkout / "experiments") or []
        return found, True
    # An experiment by itself is a whole study; one of several is not.
    return found, len(found) > 1 or folders.study_folder(found[0].folder) == found[0].folder


def _folder(name: str | None) -> list[plan.Plan] | None:
    """The plans of a folder; None where the name is no folder, or none is named and the current folder is in none."""
    place = Path(name) if name is not None else here() or Path.cwd()
    # The top of a checkout stands for its experiments, not for all folders in it.
    if not place.is_dir() or (place / "experiments").is_dir():
        return None
    found = folders.at(place)
    if found is None and name is not None:
        raise plan.PlanError(f"{name}: no plan.toml in this folder or below it. {folders.HINT}")
    return found


def _called(name: str) -> list[plan.Plan]:
    """The plans of a name: a study or an experiment around here, or in the checkout."""
    there = _places()
    for study in there:
        if study.name == name:
            return _all(study)
    found = _experiment(name, there)
    if found is not None:
        return [found]
    checkout = folders.checkout(Path(__file__).parent)
    if folders.checkout() is None and checkout is not None:
        # Outside of the checkout, the error does not list all names of its experiments.
        there = [study for study in there if not study.is_relative_to(checkout)]
    known = ", ".join(dict.fromkeys(each for study in there for each in (study.name, *_names(study))))
    raise plan.PlanError(
        f"no experiment `{name}`; there are {known}"
        if known
        else f"{name}: there is no such folder. {folders.HINT}"
    )


def _of_study(name: str | None, experiment: str | None) -> list[plan.Plan]:
    there = _places()
    if not there:
        raise plan.PlanError(f"no study here. {folders.HINT}")
    if name is not None:
        known = ", ".join(dict.fromkeys(study.name for study in there))
        there = [study for study in there if study.name == name][:1]
        if not there:
            raise plan.PlanError(f"no study `{name}`; there are {known}")
    if experiment is None:
        return _all(there[0])
    found = _experiment(experiment, there)
    if found is None:
        known = ", ".join(dict.fromkeys(each for study in there for each in _names(study)))
        raise plan.PlanError(f"no experiment `{experiment}`; there are {known}")
    return [found]


def _of_claim(identifier: str) -> plan.Plan:
    """The experiment that judges a claim."""
    known: list[str] = []
    for place in _places():
        study = folders.study_at(place)
        entry = study.claims.get(identifier)
        if entry is not None:
            return folders.load(place if study.single else place / entry.experiment)
        known += study.claims
    raise plan.PlanError(f"no claim `{identifier}`; there are {', '.join(known)}")


def _all(study: Path) -> list[plan.Plan]:
    found = [folders.load(each) for each in folders.experiments(study)]
    if not found:
        raise plan.PlanError(
            f"study `{study.name}` has no experiment yet: `anabranch-lab new NAME` in its folder makes one"
        )
    return found


def _experiment(name: str, there: list[Path]) -> plan.Plan | None:
    for study in there:
        for each, full in zip(folders.experiments(study), _names(study), strict=True):
            if name in (full, each.name):
                return folders.load(each)
    return None


def _names(study: Path) -> list[str]:
    """The full names of the experiments of a study."""
    return [
        each.name if each == study else f"{study.name}/{each.name}" for each in folders.experiments(study)
    ]


def _places() -> list[Path]:
    """The studies that can be named: the one that one stands in, those that lie here, those of the checkout."""
    at = here()
    found = [] if at is None else [folders.study_folder(at)]
    found += [place.resolve() for place in folders.places(Path.cwd())]
    checkout = folders.checkout() or folders.checkout(Path(__file__).parent)
    if checkout is not None:
        found += [place.resolve() for place in folders.places(checkout / "experiments")]
    return list(dict.fromkeys(found))


def out(one: Path | None = None) -> Path:
    """The folder for results: `out` in the checkout, or beside a plan that lies elsewhere; `one`: the folder of its experiment or study."""
    checkout = folders.checkout()
    one = here() if one is None else one
    if one is not None and (checkout is None or not one.resolve().is_relative_to(checkout.resolve())):
        return folders.study_folder(one) / "out"
    return (checkout or Path.cwd()) / "out"
