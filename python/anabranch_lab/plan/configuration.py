"""Settings for all experiments of a study beyond their scenarios: how its publication is read where that concerns every run.

`[[configuration]]` of study.toml, each entry with a reason. A sweep with a `reading` sets its own values over it.
"""

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import plan

STUDY = "study.toml"
KEY = "configuration"
"""The key of the settings in study.toml."""


@dataclass(frozen=True)
class Setting:
    """One setting, and its reason."""

    what: str
    why: str
    """The words of the publication on which the setting is based, with their place."""
    engines: tuple[str, ...] = ()
    """The engines whose flows it concerns; all engines where it is empty."""
    experiments: tuple[str, ...] = ("*",)
    """The experiments that it concerns, by the names of their folders; `*` stands for anything."""
    flow: Mapping[str, Any] = field(default_factory=dict)
    """Keys and values for every flow that it concerns."""
    subflows: Mapping[str, Any] = field(default_factory=dict)
    """Keys and values for those of these flows that have subflows."""
    messages: Mapping[str, str] = field(default_factory=dict)
    """Sizes of messages of such flows, by those that the plans have."""
    host: Mapping[str, Any] = field(default_factory=dict)
    """Keys and values for every host that such a flow goes to."""
    queue: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Keys and values for every queue of a kind."""

    def apply(self, document: dict[str, Any]) -> None:
        """Sets it in a scenario."""
        flows = [
            flow
            for flow in document.get("flow", [])
            if "engine" in flow and (not self.engines or flow["engine"] in self.engines)
        ]
        for flow in flows:
            for key, value in self.flow.items():
                plan.put(flow, key, value)
            traffic = flow.get("traffic", {})
            if isinstance(traffic, dict) and traffic.get("message") in self.messages:
                traffic["message"] = self.messages[traffic["message"]]
            if "subflows" in flow or "subflow" in flow:
                for key, value in self.subflows.items():
                    plan.put(flow, key, value)
        for name in sorted({flow["to"] for flow in flows}) if self.host else ():
            hosts = document.setdefault("host", [])
            found = next((host for host in hosts if host.get("name") == name), None)
            if found is None:
                hosts.append(found := {"name": name})
            found.update(self.host)
        for link in document.get("link", []):
            for place in (link, link.get("back")):
                queue = place.get("queue") if isinstance(place, dict) else None
                if isinstance(queue, dict):
                    queue.update(self.queue.get(queue.get("kind", ""), {}))


@dataclass(frozen=True)
class Configuration:
    """All settings of a configuration, in their order."""

    settings: tuple[Setting, ...]

    def apply(self, document: dict[str, Any]) -> None:
        """Sets them all in a scenario."""
        for each in self.settings:
            each.apply(document)

    def of(self, experiment: str) -> "Configuration | None":
        """The settings for the experiment in a folder of this name; None where there are none."""
        mine = tuple(
            each
            for each in self.settings
            if any(fnmatch.fnmatchcase(experiment, pattern) for pattern in each.experiments)
        )
        return Configuration(mine) if mine else None


def parse(entries: Sequence[Mapping[str, Any]], file: Any) -> Configuration:
    """`[[configuration]]` of a study.toml."""
    allowed = set(Setting.__dataclass_fields__)
    settings = []
    for number, entry in enumerate(entries, start=1):
        where = f"{file}: {KEY} {entry.get('what', number)}"
        for key in ("what", "why"):
            if not entry.get(key):
                raise plan.PlanError(f"{where}: `{key}` is missing")
        for key in entry:
            if key not in allowed:
                raise plan.PlanError(
                    f"{where}: unknown key `{key}`; allowed are {', '.join(sorted(allowed))}"
                )
        lists = {key: tuple(entry[key]) for key in ("engines", "experiments") if key in entry}
        settings.append(Setting(**{**entry, **lists}))
    return Configuration(tuple(settings))
