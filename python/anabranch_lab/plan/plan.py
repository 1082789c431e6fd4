"""A plan says which scenario is run with which values and seeds: the data half of an experiment."""

import copy
import itertools
import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import tomli_w

from .sequential import Rule, parse


class PlanError(ValueError):
    """An error in a plan or a scenario."""


@dataclass(frozen=True)
class Axis:
    """One dimension of a grid."""

    name: str
    values: tuple[Any, ...]
    settings: tuple[Mapping[str, Any], ...]
    """For each value: the keys that it sets in the scenario."""
    label: str

    def only(self, values: Sequence[Any]) -> "Axis":
        """This axis with fewer values."""
        missing = [value for value in values if value not in self.values]
        if missing:
            raise PlanError(f"axis `{self.name}` has no value {missing[0]}")
        kept = [index for index, value in enumerate(self.values) if value in values]
        return replace(
            self,
            values=tuple(self.values[index] for index in kept),
            settings=tuple(self.settings[index] for index in kept),
        )


@dataclass(frozen=True)
class Point:
    """One cell of a grid: where it is, and the scenario file that it stands for."""

    sweep: str
    at: Mapping[str, Any]
    scenario: str
    overrides: tuple[tuple[str, str], ...] = ()
    """In a batch: settings over the scenario, which all points of the batch share (keys and values of `--set`)."""
    run: int | None = None
    """The number of the point in its batch; None when it is no part of one."""


@dataclass(frozen=True)
class Quick:
    """Changes that make a quick look smaller."""

    set: Mapping[str, Any] = field(default_factory=dict)
    axes: Mapping[str, Sequence[Any]] = field(default_factory=dict)


class Configured(Protocol):
    """Something that is set in every scenario of a plan (`configuration.Configuration`)."""

    def apply(self, document: dict[str, Any]) -> None:
        """Changes the document of a scenario."""


@dataclass(frozen=True)
class Sweep:
    """A scenario, values that hold for all of it, and a grid."""

    name: str
    about: str
    scenario: Path
    set: Mapping[str, Any]
    axes: tuple[Axis, ...]
    seeds: tuple[int, ...]
    quick_seeds: tuple[int, ...]
    trace: bool = False
    """Whether the runs are recorded, event by event, and not only summed up."""
    skip: tuple[Mapping[str, Any], ...] = ()
    """Cells of the grid that are left out."""
    quick: Quick = field(default_factory=Quick)
    sequential: Rule | None = None
    """The rule for the number of seeds of a point; None: all seeds."""
    judged: str | None = None
    """The engine that is judged, where others stand beside it."""
    batch: tuple[str, ...] = ()
    """The last axes, if the points that differ only in them are made together and kept in one file: for many short runs."""

    reading: str = ""
    """How it reads the publication where its text can be read in several ways; its settings go over the configuration of the study then."""
    configuration: Configured | None = None
    """The settings for all experiments of a study: they replace everything else but the values that a `reading` sets."""

    def points(self, quick: bool = False) -> Iterator[Point]:
        """Every cell of the grid, the last axis first."""
        base = read(self.scenario)
        _put_all(base, [self.set])
        axes = [
            axis.only(self.quick.axes[axis.name]) if quick and axis.name in self.quick.axes else axis
            for axis in self.axes
        ]
        outer = len(axes) - len(self.batch)
        cells = [list(zip(axis.values, axis.settings, strict=True)) for axis in axes]
        for cell in itertools.product(*cells[:outer]):
            document = copy.deepcopy(base)
            layers = [settings for _, settings in cell] + ([self.quick.set] if quick else [])
            _put_all(document, layers)
            if self.configuration is not None:
                self.configuration.apply(document)
                if self.reading:
                    _put_all(document, [self.set, *layers], again=True)
            folder = self.scenario.parent
            _with_files(document, folder)
            text = tomli_w.dumps(document)
            kept = 0
            for inner in itertools.product(*cells[outer:]):
                at = {axis.name: value for axis, (value, _) in zip(axes, (*cell, *inner), strict=True)}
                if any(_matches(at, rule) for rule in self.skip):
                    continue
                if not self.batch:
                    yield Point(self.name, at, text)
                    continue
                over = tuple(
                    (key, _toml(value))
                    for _, settings in inner
                    for key, value in _settings_with_files(settings, folder).items()
                )
                yield Point(self.name, at, text, over, kept)
                kept += 1


@dataclass(frozen=True)
class Plan:
    """An experiment's plan.toml."""

    name: str
    folder: Path
    title: str
    study: str
    reference: str
    sweeps: tuple[Sweep, ...] = field(default=())
    engines: tuple[str, ...] = ()
    """The engines that are compared, the one whose claims are judged first."""
    short: str = ""
    """Authors and year of the publication that it judges."""
    compares: bool = False
    """Whether it uses the findings of the other experiments of its study, and so comes after them."""
    uses: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Sweeps of other experiments of the study that its analysis needs, by the names of their folders."""
    about: Mapping[str, Any] = field(default_factory=dict)
    """The abstract, where the plan is a study by itself: `question`, `method`, `findings`."""
    glossary: Mapping[str, str] = field(default_factory=dict)
    """Words that its pages use, where the plan is a study by itself."""

    configuration: Configured | None = None
    """The settings for all sweeps, which replace their own values."""

    def configured(self, configuration: Configured | None) -> "Plan":
        """This plan, with something set in every scenario."""
        sweeps = tuple(replace(sweep, configuration=configuration) for sweep in self.sweeps)
        return replace(self, sweeps=sweeps, configuration=configuration)

    def every_engine(self) -> tuple[str, ...]:
        """The engines that are compared, or, where the plan compares none, those that its scenarios, sweeps and axes name."""
        if self.engines:
            return self.engines
        named: list[str] = []
        for sweep in self.sweeps:
            flows = read(sweep.scenario).get("flow", ())
            named += [flow["engine"] for flow in flows if "engine" in flow]
            named += [json.loads(value) for key, value in _set_values(sweep) if key.endswith(".engine")]
        return tuple(dict.fromkeys(named))

    def sweep(self, name: str) -> Sweep:
        """The sweep of that name."""
        for sweep in self.sweeps:
            if sweep.name == name:
                return sweep
        raise PlanError(f"{self.name}: no sweep `{name}`; there are {', '.join(s.name for s in self.sweeps)}")


OWN = "own"
"""The `study` of an experiment that judges no publication."""
SEEDS, QUICK_SEEDS = "1..30", "1..2"
"""The seeds where neither a plan nor its study has any."""

ELSEWHERE = {
    **dict.fromkeys(
        ("duration", "warmup", "link", "flow", "host", "route", "record", "random"), "the scenario"
    ),
    "claim": "claims.toml",
}
"""Keys that somebody may look for in a plan, and where they belong."""

KEYS = {
    "title",
    "study",
    "reference",
    "short",
    "engines",
    "seeds",
    "quick_seeds",
    "quick",
    "axes",
    "sweep",
    "compares",
    "uses",
    "sequential",
    "about",
    "glossary",
}
"""The keys of a plan."""
_TEXT, _LIST, _TABLE, _TRUTH = (str, "a text"), (list, "a list"), (dict, "a table"), (bool, "true or false")
KINDS = {
    **dict.fromkeys(("title", "study", "reference", "short", "name", "scenario", "reading"), _TEXT),
    **dict.fromkeys(("engines", "sweep", "skip", "batch"), _LIST),
    **dict.fromkeys(("quick", "set", "uses"), _TABLE),
    **dict.fromkeys(("trace", "compares"), _TRUTH),
}
"""The kinds of values that some keys take."""

ENGINE = "engine"
"""The axis that `engines` makes."""

RESERVED = frozenset(
    [
        "seed",
        "kind",
        "name",
        "subflow",
        "file",
        "run",
        "flow",
        "path",
        "entity",
        "time_ns",
        "reason",
        "notes",
        "seq",
        "size",
        "a",
        "b",
        "c",
    ]
)
"""Columns of the results that no axis can be called after."""


def load(folder: Path, name: str = "", study: Mapping[str, Any] | None = None) -> Plan:
    """Reads an experiment's plan.toml; keys that it lacks come from its study."""
    file = folder / "plan.toml"
    own = read(file)
    document = {**(study or {}), **own}
    for key, place in ELSEWHERE.items():
        if key in document:
            raise PlanError(f"{file}: `{key}` belongs in {place}, not in a plan")
    _only(own, KEYS, str(file))
    _only(study or {}, KEYS, str(folder.parent / "study.toml"))
    _kinds(document, str(file))
    seeds = document.get("seeds", SEEDS)
    few = parse_seeds(document.get("quick_seeds", QUICK_SEEDS))
    axes = {key: _axis(key, entry, file) for key, entry in document.get("axes", {}).items()}
    engines = tuple(document.get("engines", ()))
    quick = _quick(document.get("quick", {}), f"[quick] of {file}")
    sweeps = []
    for entry in document.get("sweep", []):
        where = f"{file}: sweep `{entry.get('name', '?')}`"
        _only(
            entry,
            {
                "name",
                "about",
                "scenario",
                "axes",
                "set",
                "seeds",
                "quick_seeds",
                "trace",
                "engines",
                "skip",
                "sequential",
                "quick",
                "batch",
                "reading",
            },
            where,
        )
        _kinds(entry, where)
        for key in ("name", "about"):
            if key not in entry:
                raise PlanError(f"{where}: `{key}` is missing")
        asked = entry.get("axes", [])
        if not isinstance(asked, list | Mapping):
            raise PlanError(f"{where}: `axes` is a list of names, or a table of axes, not {asked!r}")
        # An axis of one sweep alone may stand in the sweep.
        there = (
            {key: _axis(key, each, where) for key, each in asked.items()}
            if isinstance(asked, Mapping)
            else axes
        )
        unknown = [axis for axis in asked if axis not in there]
        if unknown:
            raise PlanError(f"{where}: no axis `{unknown[0]}`; there are {', '.join(axes)}")
        scenario = folder / entry.get("scenario", "scenario.toml")
        mine = [there[axis] for axis in asked]
        compared = entry.get("engines", engines)
        if compared:
            mine.insert(0, _engines(compared, scenario))
        batch = tuple(entry.get("batch", ()))
        if batch and (entry.get("trace") or entry.get("sequential")):
            raise PlanError(f"{where}: a batch has no trace, and all of it has the same seeds")
        seeds_of = parse_seeds(entry.get("seeds", seeds))
        judged = engines[0] if len(compared) > 1 and engines[:1] and engines[0] in compared else None
        names = [axis.name for axis in mine]
        rule = _rule(entry, document.get("sequential"), len(seeds_of), names, judged, where)
        if batch and batch != tuple(axis.name for axis in mine)[-len(batch) :]:
            raise PlanError(f"{where}: `batch` names the last axes, in their order")
        sweeps.append(
            Sweep(
                batch=batch,
                name=entry["name"],
                about=entry["about"],
                scenario=scenario,
                set=dict(entry.get("set", {})),
                axes=tuple(mine),
                seeds=seeds_of,
                # A sweep with seeds of its own is looked at with as few as the others.
                quick_seeds=(
                    parse_seeds(entry["quick_seeds"])
                    if "quick_seeds" in entry
                    else seeds_of[: len(few)]
                    if "seeds" in entry
                    else few
                ),
                trace=entry.get("trace", False),
                skip=tuple(entry.get("skip", ())),
                quick=_quick(entry["quick"], f"quick of {where}") if "quick" in entry else quick,
                sequential=rule,
                judged=judged,
                reading=entry.get("reading", ""),
            )
        )
    names = [sweep.name for sweep in sweeps]
    for each in names:
        if names.count(each) > 1:
            raise PlanError(f"two sweeps are called `{each}`")
    return Plan(
        name=name or folder.name,
        folder=folder,
        title=document.get("title", folder.name),
        study=document.get("study", OWN),
        reference=document.get("reference", ""),
        sweeps=tuple(sweeps),
        engines=engines,
        short=document.get("short", ""),
        compares=document.get("compares", False),
        uses=document.get("uses", {}),
        about=document.get("about", {}),
        glossary=document.get("glossary", {}),
    )


def _set_values(sweep: Sweep) -> Iterator[tuple[str, str]]:
    """Each key that a sweep or one of its axes sets, tables taken apart, with its value as text."""

    def leaves(key: str, value: Any) -> Iterator[tuple[str, str]]:
        if isinstance(value, Mapping):
            for inner, under in value.items():
                yield from leaves(f"{key}.{inner}", under)
        else:
            yield key, json.dumps(value, sort_keys=True, default=str)

    for each in (sweep.set, *(setting for axis in sweep.axes for setting in axis.settings)):
        for key, value in each.items():
            yield from leaves(key, value)


def _axis(key: str, entry: Mapping[str, Any], place: Any) -> Axis:
    """An axis: `keys` and `values`, or `values` as a table with the settings of each."""
    where = f"{place}: [axes.{key}]"
    if not isinstance(entry, Mapping):
        raise PlanError(f"{where}: write it with `keys` and `values`, not {entry!r}")
    _only(entry, {"name", "label", "keys", "values", "choose", "none"}, where)
    name = entry.get("name", key)
    if name.lower() in RESERVED or name == ENGINE:
        raise PlanError(
            f"{where}: no axis can be called `{name}`; taken are {', '.join(sorted({*RESERVED, ENGINE}))}"
        )
    if "values" not in entry:
        raise PlanError(f"{where}: `values` is missing")
    if not isinstance(entry["values"], str | list | Mapping):
        raise PlanError(
            f"{where}: `values` is a list, a range such as `1..12`, or a table, not {entry['values']!r}"
        )
    if isinstance(entry["values"], Mapping):
        values = tuple(entry["values"])
        settings = tuple(dict(each) for each in entry["values"].values())
    else:
        values = _values(entry["values"])
        keys = entry.get("keys")
        if not keys:
            raise PlanError(f'{where}: `keys` is missing, such as ["link.path.rate"]')
        templates = keys if isinstance(keys, Mapping) else dict.fromkeys(keys, "{}")
        none = entry.get("none")
        parts = [(value,) if value != none else () for value in values]
        if "choose" in entry:
            parts = list(itertools.combinations(values, int(entry["choose"])))
            values = tuple("+".join(str(each) for each in chosen) for chosen in parts)
        settings = tuple(
            {way: _fill(template, value, chosen) for way, template in templates.items()}
            for value, chosen in zip(values, parts, strict=True)
        )
    if len(set(values)) != len(values):
        raise PlanError(f"{where}: a value stands there twice")
    return Axis(name, values, settings, entry.get("label", name))


def _quick(entry: Mapping[str, Any], where: str) -> Quick:
    _only(entry, {"set", "axes"}, where)
    return Quick(
        dict(entry.get("set", {})), {key: _values(value) for key, value in entry.get("axes", {}).items()}
    )


def _rule(
    entry: Mapping[str, Any],
    of_plan: Mapping[str, Any] | None,
    seeds: int,
    axes: Sequence[str],
    judged: str | None,
    where: str,
) -> Rule | None:
    """The rule for the seeds of a sweep: its own, or that of the plan where it can be followed.

    Sweeps of recorded events and batches have all seeds of the plan, and so have sweeps with few seeds.
    """
    own = entry.get("sequential")
    if own is False or (own is None and (not of_plan or entry.get("trace") or entry.get("batch"))):
        return None
    try:
        rule = parse(of_plan if own is None else own)
    except (ValueError, TypeError) as error:
        raise PlanError(f"{where}: {error}") from None
    unknown = [axis for axis in rule.together or () if axis not in axes]
    if unknown and own is not None:
        raise PlanError(f"{where}: together: no axis `{unknown[0]}`; there are {', '.join(axes)}")
    if not rule.figures and rule.first < seeds:
        raise PlanError(f"{where}: sequential: fewer than all seeds, and nothing is asked how precise it is")
    return rule if rule.first < seeds or (judged is not None and (rule.beside or seeds) < seeds) else None


def _values(values: Any) -> tuple[Any, ...]:
    """A list, or a range such as `1..12`."""
    return parse_seeds(values) if isinstance(values, str) else tuple(values)


def _fill(template: Any, value: Any, parts: Sequence[Any]) -> Any:
    """The value itself, a quantity such as `{} ms` around it, or a list or table with such things in it.

    A list has an entry for each of the parts of a value: one, two of a combination of two, none where a value stands for
    nothing.
    """
    if isinstance(template, Mapping):
        return {key: _fill(entry, value, parts) for key, entry in template.items()}
    if isinstance(template, list):
        return [_fill(entry, part, (part,)) for entry in template for part in parts]
    if not isinstance(template, str):
        return template
    return value if template == "{}" else template.replace("{}", str(value))


def _toml(value: Any) -> str:
    """A value as TOML on one line."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(entry)}" for key, entry in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml(entry) for entry in value) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value) if isinstance(value, str) else str(value)


def _with_files(document: Mapping[str, Any], folder: Path) -> None:
    """Puts the text of the pattern files beside a scenario into it: then it is the same wherever it is run, and another content is
    another scenario.
    """
    links = document.get("link", [])
    for link in links if isinstance(links, list) else []:
        for place in (link, link.get("back")):
            patterns = place.get("pattern", []) if isinstance(place, dict) else []
            for pattern in patterns if isinstance(patterns, list) else [patterns]:
                if isinstance(pattern, dict) and isinstance(pattern.get("file"), str):
                    pattern["text"] = _beside(folder, pattern.pop("file"))


def _settings_with_files(settings: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Puts the text of pattern files into values that are set over a scenario: `link.path.pattern.file`."""
    found = {}
    for key, value in settings.items():
        steps = split(key)
        if isinstance(value, str) and steps[0] == "link" and steps[-1] == "file" and "pattern" in steps:
            found[key[: -len("file")] + "text"] = _beside(folder, value)
        else:
            found[key] = value
    return found


def _beside(folder: Path, name: str) -> str:
    try:
        return (folder / name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not text in UTF-8"
        raise PlanError(f"pattern: cannot read {folder / name}: {why}") from None


def _engines(engines: Sequence[str], scenario: Path) -> Axis:
    """The axis of the engines: each is that of every SCTP flow."""
    flows = [flow["name"] for flow in read(scenario).get("flow", []) if flow.get("protocol") == "sctp"]
    settings = tuple({f'flow."{flow}".engine': engine for flow in flows} for engine in engines)
    return Axis(ENGINE, tuple(engines), settings, "engine")


def _matches(at: Mapping[str, Any], rule: Mapping[str, Any]) -> bool:
    """Whether a cell is one that a rule of `skip` means."""
    unknown = [name for name in rule if name not in at]
    if unknown:
        raise PlanError(f"skip: no axis `{unknown[0]}`; there are {', '.join(at)}")
    return all(at[name] in (value if isinstance(value, list) else [value]) for name, value in rule.items())


def parse_seeds(text: str | list[int]) -> tuple[int, ...]:
    """`1..30`, `7`, `1..5, 9` or a list, to seeds in that order, none twice."""
    if isinstance(text, list):
        seeds = [int(seed) for seed in text]
    else:
        seeds = []
        for part in text.split(","):
            low, dots, high = part.strip().partition("..")
            try:
                first = int(low)
                last = int(high) if dots else first
            except ValueError:
                raise PlanError(f"seeds `{text}`: expected something like `1..30` or `1, 2, 5`") from None
            if last < first or first < 0:
                raise PlanError(f"seeds `{text}`: `{part.strip()}` is empty or negative")
            seeds.extend(range(first, last + 1))
    if not seeds or len(set(seeds)) != len(seeds):
        raise PlanError(f"seeds `{text}`: at least one, and none twice")
    return tuple(seeds)


def put(document: dict[str, Any], key: str, value: Any) -> None:
    """Sets `link.access.loss.p`: a table or list of tables, the name of its entry, then the way inside it.

    One `*` in the name of an entry stands for anything. An empty string takes the key away.
    """
    _put(document, split(key), 0, key, value)


def _put_all(document: dict[str, Any], layers: Iterable[Mapping[str, Any]], again: bool = False) -> None:
    for layer in layers:
        for key, value in layer.items():
            if again and "." not in key:
                # The same layer has set this key before; a list that is there already would be refused.
                document.pop(key, None)
            put(document, key, value)


def _put(at: Any, way: Sequence[str], depth: int, key: str, value: Any) -> None:
    step = way[depth]
    last = depth == len(way) - 1
    if isinstance(at, list):
        here = ".".join(way[:depth])
        if last:
            raise PlanError(f"`{key}`: `{here}` is a list; name one of its entries")
        found = [entry for entry in at if alike(str(entry.get("name")), step)]
        if not found:
            names = ", ".join(str(entry.get("name")) for entry in at)
            raise PlanError(f"`{key}`: no `{here}` called `{step}`; there are {names}")
        for entry in found:
            _put(entry, way, depth + 1, key, value)
    elif not isinstance(at, dict):
        raise PlanError(f"`{key}`: `{'.'.join(way[:depth])}` is a value, not a table")
    elif not last:
        _put(at.setdefault(step, {}), way, depth + 1, key, value)
    elif isinstance(at.get(step), list) and at[step] and all(isinstance(entry, dict) for entry in at[step]):
        raise PlanError(f"`{key}`: `{key}` is a list; name one of its entries")
    elif value == "":
        at.pop(step, None)
    else:
        # A copy: a value that is set inside of it later is set in this document alone.
        at[step] = copy.deepcopy(value)


def alike(name: str, pattern: str) -> bool:
    """Whether a name is meant by a pattern, in which one `*` stands for anything."""
    before, star, after = pattern.partition("*")
    if not star:
        return name == pattern
    return len(name) >= len(before) + len(after) and name.startswith(before) and name.endswith(after)


def split(key: str) -> list[str]:
    """The steps of a key; a name with a dot in it stands in quotes."""
    steps: list[str] = []
    for index, part in enumerate(key.split('"')):
        if index % 2:
            steps.append(part)
        else:
            steps.extend(step for step in part.split(".") if step)
    if not steps:
        raise PlanError("an empty key")
    return steps


def read(path: Path) -> dict[str, Any]:
    """A TOML file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise PlanError(f"{path}: no such file") from None
    except tomllib.TOMLDecodeError as error:
        raise PlanError(f"{path}: {error}") from None


def _only(table: Mapping[str, Any], allowed: set[str], where: str) -> None:
    for key in table:
        if key not in allowed:
            raise PlanError(f"{where}: unknown key `{key}`; allowed are {', '.join(sorted(allowed))}")


def _kinds(table: Mapping[str, Any], where: str) -> None:
    for key, (kind, told) in KINDS.items():
        if key in table and not isinstance(table[key], kind):
            raise PlanError(f"{where}: `{key}` is {told}, not {table[key]!r}")
