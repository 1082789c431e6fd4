"""A network and its traffic built in Python, with the names of scenario files (docs/reference/scenario.md)."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, Unpack

import tomli_w

Table = Mapping[str, Any]
"""A table of TOML, such as `{"kind": "droptail", "packets": 50}`."""


class RunKeys(TypedDict, total=False):
    """Keys at the top of a scenario file."""

    duration: str
    """How long a run lasts: `"60 s"`."""
    warmup: str
    """Statistics start here: `"10 s"`."""
    seeds: str | int | Sequence[int]
    """One run for each: `"1..30"`."""
    random: str
    """`"common"` or `"independent"`."""
    checksums: str
    """`"verify"` or `"elide"`."""
    ports: Sequence[int]
    """Ports of the first flow's sender and receiver; each further flow has the next ones: `[50000, 61000]`."""


class LinkKeys(TypedDict, total=False):
    """Keys of a `[[link]]` besides its name and its ends."""

    rate: str
    """The rate at which bits leave the queue: `"10 Mbit/s"`, or `"infinite"`."""
    delay: str
    """Propagation delay: `"20 ms"`."""
    queue: Table
    """The queue: `{"kind": "droptail", "packets": 50}`."""
    loss: Table
    """The loss model: `{"kind": "bernoulli", "p": 0.01}`."""
    loss_at: str
    """`"exit"` or `"entry"`."""
    mtu: str
    """Largest IP packet: `"1500 B"`."""
    mtu_answer: str
    """`"known"`, `"icmp"` or `"silent"`."""
    mtu_changes: Sequence[Table]
    """`[{"at": "5 s", "mtu": "1300 B"}]`."""
    both: bool
    """Make the reverse too, called NAME-back."""
    condition: Table | Sequence[Table]
    """Traffic conditioners at the entry."""
    pattern: Table | Sequence[Table]
    """Patterns: changes to packets, position by position."""
    back: Table
    """The values that differ in the reverse direction."""


class FlowKeys(TypedDict, total=False):
    """Keys of a `[[flow]]` besides its name and its ends."""

    protocol: str
    """`"sctp"`, `"tcp"`, `"cbr"`, ..."""
    engine: str
    """A profile: `anabranch.profiles()` for SCTP."""
    options: Table
    """Options on top of the profile: `anabranch.options(profile)`."""
    receiver: Table
    """The values that differ at the receiving end: `engine`, `options`."""
    opened_by: str
    """`"sender"` or `"receiver"`."""
    traffic: Table
    """The data to send: `{"kind": "greedy", "message": "1452 B"}`."""
    start: str
    """The time at which it opens: `"1 s"`, `"uniform(0 s, 1 s)"`."""
    stop: str
    """The time at which it stops sending."""
    dscp: int | str
    """Code point of its packets: 0 to 63, or a name such as `"EF"`."""
    streams: int
    """Messages take so many streams in turn."""
    unordered: bool
    """Whether messages are sent unordered."""
    subflows: int | Sequence[Table]
    """How many, or the settings of each: `{"dscp": "EF", "streams": [0]}`."""
    coupling: str
    """`"independent"`, `"shared"`, `"fcc(n)"`, ..."""
    level: int | str
    """How the two ends know of subflows: 0, 1 or `"sf2007"`."""
    scheduler: str
    """`"fcfs"`, `"wrr"`, `"priority"` or `"wfq"`."""
    events: Sequence[Table]
    """Changes of the subflows while data flows."""
    count: int
    """The number of such flows, called NAME-1, NAME-2, ..."""


class Scenario:
    """A scenario that is put together call by call.

    Arguments are the keys of scenario files with their units in the text (`rate="10 Mbit/s"`); any key of docs/reference/scenario.md is taken,
    those that are listed here are known to type checkers. A wrong one is an error of `run` and `check`, in one line. Each call
    returns the scenario, so that calls can be chained; two scenarios may share nothing.
    """

    def __init__(self, **keys: Unpack[RunKeys]):
        self._document: dict[str, Any] = dict(keys)

    def link(self, name: str, source: str, destination: str, **keys: Unpack[LinkKeys]) -> "Scenario":
        """A link from one node to another (`from` and `to` of the file); with `both=True` also back."""
        return self._add("link", {"name": name, "from": source, "to": destination, **keys})

    def flow(self, name: str, source: str, destination: str, **keys: Unpack[FlowKeys]) -> "Scenario":
        """Traffic from one host to another."""
        return self._add("flow", {"name": name, "from": source, "to": destination, **keys})

    def host(self, name: str, **keys: Any) -> "Scenario":
        """Special values of a host (`[[host]]`)."""
        return self._add("host", {"name": name, **keys})

    def route(self, **keys: Any) -> "Scenario":
        """A way other than that of the fewest links (`[[route]]`)."""
        return self._add("route", keys)

    def record(self, **keys: Any) -> "Scenario":
        """The recordings of a run (`[record]`): `trace=True`, `sample="0.1 s"`, ..."""
        self._document.setdefault("record", {}).update(keys)
        return self

    def document(self) -> dict[str, Any]:
        """The scenario as a dict, as `tomllib` would read it from a file."""
        return dict(self._document)

    def toml(self) -> str:
        """The scenario as the text of a file: `anabranch simulate` takes it."""
        return tomli_w.dumps(self._document)

    def _add(self, kind: str, table: dict[str, Any]) -> "Scenario":
        self._document.setdefault(kind, []).append(table)
        return self
