"""SCTP (and TCP) in virtual time, from Python.

    >>> import anabranch
    >>> net = anabranch.Scenario(duration="5 s")
    >>> net.link("path", "a", "b", rate="10 Mbit/s", delay="20 ms", both=True, queue={"kind": "droptail", "packets": 50})
    >>> net.flow("up", "a", "b", protocol="sctp", engine="rfc9260", traffic={"kind": "greedy", "message": "1452 B"})
    >>> run = anabranch.run(net, seeds=range(1, 4))
    >>> run.flows.column("goodput_payload_bps").to_pylist()[0] > 8e6
    True

| name | meaning |
|---|---|
| `run` | a scenario (a file, a text, a dict, a `Scenario`) for some seeds: a `Run` with tables of flows, links, subflows, events |
| `check` | the errors of a scenario, without running it |
| `Scenario` | a network and its traffic built in Python, with the names of scenario files |
| `connect` | two endpoints with one association, packet by packet |
| `profiles`, `options` | the profiles of SCTP, and their options with values |
| `model` | the throughput of an association, by equations |
| `aio` | associations on real sockets, for asyncio |

docs/how-to/python.md tells more. Nothing but `aio` reads a clock: the same scenario and seed give the same result, always.
"""

import importlib
from typing import TYPE_CHECKING, Any

from ._core import __version__

if TYPE_CHECKING:
    from . import aio, model
    from .endpoints import Association, Event, Message, Network, Packet, connect
    from .running import Run, check, options, profiles, run
    from .scenario import Scenario
    from .tables import Tables

__all__ = [
    "Association",
    "Event",
    "Message",
    "Network",
    "Packet",
    "Run",
    "Scenario",
    "Tables",
    "__version__",
    "aio",
    "check",
    "connect",
    "model",
    "options",
    "profiles",
    "run",
]
_HOMES = {
    "endpoints": ("Association", "Event", "Message", "Network", "Packet", "connect"),
    "running": ("Run", "check", "options", "profiles", "run"),
    "scenario": ("Scenario",),
    "tables": ("Tables",),
}
"""The modules of this package, and the names that they have here."""
_MODULES = ("aio", "model", "units", *_HOMES)


def __getattr__(name: str) -> Any:
    # Modules are loaded on first use: tables need large libraries, `model` needs the laboratory, which imports this package; a caller that wants the
    # version alone needs none of them.
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(f".{home}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
