"""What a publication leaves open, as a table of choices: which single configuration agrees with most of its claims.

A study may have a `configurations.toml`. Each of its factors is something that the publication does not say (an engine, a rule, a
delay), with the choices that there are; the first is what the plans have by themselves. A configuration takes one choice of each
factor, and holds for every run of every experiment: no claim has one of its own. The study's own, under which it is judged, is
`[configuration]` of its `study.toml`.
"""

import fnmatch
import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import plan

FILE = "configurations.toml"
STUDY = "study.toml"
KEY = "configuration"
"""Of study.toml: the choices that it is judged with, by factor; the first one where it names none."""


@dataclass(frozen=True)
class Choice:
    """One answer to what is left open: what it sets in a scenario."""

    name: str
    flow: Mapping[str, Any] = field(default_factory=dict)
    """Keys of every flow of the judged engine."""
    subflows: Mapping[str, Any] = field(default_factory=dict)
    """Keys of those of them that have subflows."""
    messages: Mapping[str, str] = field(default_factory=dict)
    """Sizes of messages of flows with subflows, by those that the plans have."""
    host: Mapping[str, Any] = field(default_factory=dict)
    """Keys of every host that such a flow goes to."""
    queue: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Keys of every queue of a kind."""

    def apply(self, document: dict[str, Any], engines: Collection[str]) -> None:
        """Sets what it sets, for flows of these engines."""
        judged = [flow for flow in document.get("flow", []) if flow.get("engine") in engines]
        for flow in judged:
            for key, value in self.flow.items():
                plan.put(flow, key, value)
            if "subflows" in flow or "subflow" in flow:
                for key, value in self.subflows.items():
                    plan.put(flow, key, value)
                traffic = flow.get("traffic", {})
                if isinstance(traffic, dict) and traffic.get("message") in self.messages:
                    traffic["message"] = self.messages[traffic["message"]]
        if self.host:
            self._set_hosts(document, {flow["to"] for flow in judged})
        for link in document.get("link", []):
            for place in (link, link.get("back")):
                queue = place.get("queue") if isinstance(place, dict) else None
                if isinstance(queue, dict):
                    queue.update(self.queue.get(queue.get("kind", ""), {}))

    def _set_hosts(self, document: dict[str, Any], names: set[str]) -> None:
        for name in sorted(names):
            hosts = document.setdefault("host", [])
            found = next((host for host in hosts if host.get("name") == name), None)
            if found is None:
                found = {"name": name}
                hosts.append(found)
            found.update(self.host)


@dataclass(frozen=True)
class Factor:
    """Something that a publication leaves open."""

    name: str
    about: str
    """What the publication says of it."""
    engines: tuple[str, ...]
    """Those of the judged engines that it concerns."""
    choices: tuple[Choice, ...]
    """The first is what the plans have by themselves."""
    printed: bool = False
    """Whether the publication says it after all: other choices stand beside for comparison, and no search takes them up."""
    named: str = ""
    """The choice that the publication names, where what it prints elsewhere speaks against it: among configurations under which as many
    claims hold, those that have it come first."""


@dataclass(frozen=True)
class Configuration:
    """One choice of each factor."""

    chosen: tuple[tuple[Factor, Choice], ...]
    searched: bool = False
    """Whether it is looked at in a search."""

    @property
    def name(self) -> str:
        """What it is called: its choices, in the order of the factors."""
        return ", ".join(choice.name for _, choice in self.chosen)

    @property
    def choices(self) -> dict[str, str]:
        """The name of each choice, by that of its factor."""
        return {factor.name: choice.name for factor, choice in self.chosen}

    @property
    def named(self) -> int:
        """How many of its choices the publication names."""
        return sum(choice.name == factor.named for factor, choice in self.chosen)

    def apply(self, document: dict[str, Any]) -> None:
        """Sets what its choices set."""
        for factor, choice in self.chosen:
            choice.apply(document, factor.engines)

    def instead(self, factor: Factor, choice: Choice) -> "Configuration":
        """This configuration with another choice of one factor."""
        return Configuration(tuple((each, choice if each is factor else old) for each, old in self.chosen))


@dataclass(frozen=True)
class Space:
    """Every configuration of a study."""

    engines: tuple[str, ...]
    """The engines that are judged, as the plans name them; others that stand beside them are left as they are."""
    claims: str
    """How the ids of the claims begin that are counted."""
    experiments: tuple[str, ...]
    """Experiments whose claims are counted: names of folders, `*` for anything."""
    factors: tuple[Factor, ...]
    chosen: Configuration
    """What the study is judged with."""

    def counts(self, experiment: str) -> bool:
        """Whether a configuration holds for the experiment in a folder of this name."""
        return any(fnmatch.fnmatchcase(experiment, pattern) for pattern in self.experiments)

    def beside(self, here: Configuration) -> Iterator["Configuration"]:
        """Configurations that differ from `here` in one factor that is not printed."""
        for factor, chosen in here.chosen:
            for choice in () if factor.printed else factor.choices:
                if choice.name != chosen.name:
                    yield here.instead(factor, choice)

    def every(self) -> Iterator["Configuration"]:
        """All of them."""
        for chosen in itertools.product(*(factor.choices for factor in self.factors)):
            yield Configuration(tuple(zip(self.factors, chosen, strict=True)))


def load(folder: Path) -> Space:
    """The configurations of the study in this folder."""
    file, study = folder / FILE, folder / STUDY
    document = plan.read(file)
    _only(document, {"engine", "claims", "experiments", "factor"}, str(file))
    engines = _names(document.get("engine", []))
    factors = tuple(_factor(entry, engines, file) for entry in document.get("factor", []))
    if not factors:
        raise plan.PlanError(f"{file}: no `factor`: there is nothing to choose")
    names = [factor.name for factor in factors]
    if len(set(names)) != len(names):
        raise plan.PlanError(f"{file}: two factors have one name")
    for key in ("engine", "claims", "experiments"):
        if key not in document:
            raise plan.PlanError(f"{file}: `{key}` is missing")
    wanted = plan.read(study).get(KEY, {}) if study.is_file() else {}
    return Space(
        engines,
        document["claims"],
        tuple(document["experiments"]),
        factors,
        Configuration(_chosen(wanted, factors, study)),
    )


def _chosen(wanted: Any, factors: Sequence[Factor], file: Path) -> tuple[tuple[Factor, Choice], ...]:
    if not isinstance(wanted, dict):
        raise plan.PlanError(f"{file}: `{KEY}` is a table: the choice of each factor")
    _only(wanted, {factor.name for factor in factors}, f"{file}: `{KEY}`")
    chosen = []
    for factor in factors:
        name = wanted.get(factor.name, factor.choices[0].name)
        found = next((choice for choice in factor.choices if choice.name == name), None)
        if found is None:
            names = ", ".join(choice.name for choice in factor.choices)
            raise plan.PlanError(
                f"{file}: `{KEY}`: `{factor.name}` has no choice `{name}`; there are {names}"
            )
        chosen.append((factor, found))
    return tuple(chosen)


def _factor(entry: Mapping[str, Any], engines: tuple[str, ...], file: Path) -> Factor:
    where = f"{file}: factor `{entry.get('name', '?')}`"
    _only(entry, {"name", "about", "engine", "printed", "named", "choice"}, where)
    mine = _names(entry.get("engine", engines))
    if not set(mine) <= set(engines):
        raise plan.PlanError(f"{where}: `engine` is none of those that are judged: {', '.join(engines)}")
    for key in ("name", "about"):
        if not entry.get(key):
            raise plan.PlanError(f"{where}: `{key}` is missing")
    printed = entry.get("printed", False)
    if not isinstance(printed, bool):
        raise plan.PlanError(f"{where}: `printed` is {printed!r}; allowed are true and false")
    choices = tuple(_choice(each, where) for each in entry.get("choice", []))
    if len(choices) < 2:
        raise plan.PlanError(f"{where}: a choice needs two at least")
    names = [choice.name for choice in choices]
    if len(set(names)) != len(names):
        raise plan.PlanError(f"{where}: two choices have one name")
    named = entry.get("named", "")
    if named and named not in names:
        raise plan.PlanError(
            f"{where}: `named` is `{named}`, which is no choice; there are {', '.join(names)}"
        )
    return Factor(entry["name"], entry["about"], mine, choices, printed, named)


def _choice(entry: Mapping[str, Any], where: str) -> Choice:
    _only(entry, {"name", "flow", "subflows", "messages", "host", "queue"}, f"{where}: choice")
    if not entry.get("name"):
        raise plan.PlanError(f"{where}: a choice has no `name`")
    return Choice(**entry)


def _only(table: Mapping[str, Any], allowed: set[str], where: str) -> None:
    for key in table:
        if key not in allowed:
            raise plan.PlanError(f"{where}: unknown key `{key}`; allowed are {', '.join(sorted(allowed))}")


def _names(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)
