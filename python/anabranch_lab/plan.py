"""A plan says which scenario is run with which values and seeds: the data half of an experiment."""

import copy
import itertools
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tomli_w


class PlanError(ValueError):
    """A plan or a scenario that cannot mean what it says."""


@dataclass(frozen=True)
class Axis:
    """One dimension of a grid: every value is written to every one of the keys."""

    name: str
    keys: tuple[str, ...]
    values: tuple[Any, ...]
    label: str


@dataclass(frozen=True)
class Point:
    """One cell of a grid: where it is, and the scenario file that it stands for."""

    sweep: str
    at: Mapping[str, Any]
    scenario: str


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

    def points(self) -> Iterator[Point]:
        """Every cell of the grid, the last axis first."""
        base = _read(self.scenario)
        for key, value in self.set.items():
            put(base, key, value)
        for values in itertools.product(*(axis.values for axis in self.axes)):
            document = copy.deepcopy(base)
            at = {}
            for axis, value in zip(self.axes, values, strict=True):
                at[axis.name] = value
                for key in axis.keys:
                    put(document, key, value)
            yield Point(self.name, at, tomli_w.dumps(document))


@dataclass(frozen=True)
class Plan:
    """An experiment's plan.toml."""

    name: str
    folder: Path
    title: str
    study: str
    reference: str
    sweeps: tuple[Sweep, ...] = field(default=())

    def sweep(self, name: str) -> Sweep:
        """The sweep of that name."""
        for sweep in self.sweeps:
            if sweep.name == name:
                return sweep
        raise PlanError(f"{self.name}: no sweep `{name}`; there are {', '.join(s.name for s in self.sweeps)}")


def load(folder: Path) -> Plan:
    """Reads an experiment's plan.toml."""
    document = _read(folder / "plan.toml")
    _only(document, {"title", "study", "reference", "seeds", "quick_seeds", "axes", "sweep"}, "plan.toml")
    axes = {
        name: Axis(
            entry.get("name", name), tuple(entry["keys"]), tuple(entry["values"]), entry.get("label", name)
        )
        for name, entry in document.get("axes", {}).items()
    }
    sweeps = []
    for entry in document.get("sweep", []):
        _only(
            entry,
            {"name", "about", "scenario", "axes", "set", "seeds", "quick_seeds", "trace"},
            f"sweep `{entry.get('name', '?')}` of plan.toml",
        )
        unknown = [name for name in entry.get("axes", []) if name not in axes]
        if unknown:
            raise PlanError(f"sweep `{entry['name']}`: no axis `{unknown[0]}`; there are {', '.join(axes)}")
        seeds = entry.get("seeds", document["seeds"])
        sweeps.append(
            Sweep(
                name=entry["name"],
                about=entry["about"],
                scenario=folder / entry.get("scenario", "scenario.toml"),
                set=dict(entry.get("set", {})),
                axes=tuple(axes[name] for name in entry.get("axes", [])),
                seeds=parse_seeds(seeds),
                quick_seeds=parse_seeds(
                    entry.get("quick_seeds", entry.get("seeds", document["quick_seeds"]))
                ),
                trace=entry.get("trace", False),
            )
        )
    names = [sweep.name for sweep in sweeps]
    for name in names:
        if names.count(name) > 1:
            raise PlanError(f"two sweeps are called `{name}`")
    return Plan(
        name=folder.name,
        folder=folder,
        title=document["title"],
        study=document["study"],
        reference=document.get("reference", ""),
        sweeps=tuple(sweeps),
    )


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

    An empty string takes the key away.
    """
    at: Any = document
    way = _split(key)
    for depth, step in enumerate(way[:-1]):
        if isinstance(at, list):
            found = [entry for entry in at if entry.get("name") == step]
            if not found:
                names = ", ".join(str(entry.get("name")) for entry in at)
                raise PlanError(f"`{key}`: no `{'.'.join(way[:depth])}` called `{step}`; there are {names}")
            at = found[0]
        else:
            at = at.setdefault(step, {})
        if not isinstance(at, dict | list):
            raise PlanError(f"`{key}`: `{'.'.join(way[: depth + 1])}` is a value, not a table")
    if isinstance(at, list):
        raise PlanError(f"`{key}`: `{'.'.join(way[:-1])}` is a list; name one of its entries")
    if value == "":
        at.pop(way[-1], None)
    else:
        at[way[-1]] = value


def _split(key: str) -> list[str]:
    """Steps of a key; a name with a dot in it stands in quotes."""
    steps: list[str] = []
    for index, part in enumerate(key.split('"')):
        if index % 2:
            steps.append(part)
        else:
            steps.extend(step for step in part.split(".") if step)
    if not steps:
        raise PlanError("an empty key")
    return steps


def _read(path: Path) -> dict[str, Any]:
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
