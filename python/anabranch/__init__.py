"""SCTP (and TCP) in virtual time, from Python.

    >>> import anabranch
    >>> net = anabranch.Scenario(duration="5 s")
    >>> net.link("path", "a", "b", rate="10 Mbit/s", delay="20 ms", both=True, queue={"kind": "droptail", "packets": 50})
    >>> net.flow("up", "a", "b", protocol="sctp", engine="rfc9260", traffic={"kind": "greedy", "message": "1452 B"})
    >>> run = anabranch.run(net, seeds=range(1, 4))
    >>> run.flows.column("goodput_payload_bps").to_pylist()[0] > 8e6
    True

| name | what |
|---|---|
| `run` | a scenario (a file, a text, a dict, a `Scenario`) for some seeds: a `Run` with tables of flows, links, subflows, events |
| `check` | what is wrong with a scenario, without running it |
| `Scenario` | a network and its traffic built in Python, with the names of scenario files |
| `connect` | two endpoints with one association, packet by packet |
| `profiles`, `options` | the profiles of SCTP, and their options with values |
| `model` | what an association gets, by equations |
| `aio` | associations on real sockets, for asyncio |

docs/how-to/python.md tells more. Nothing but `aio` reads a clock: the same scenario and seed give the same result, always.
"""

import types

from ._core import __version__
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


def __getattr__(name: str) -> types.ModuleType:
    # Loaded on first use: `model` needs the laboratory, which imports this package, and a simulation needs no event loop.
    if name in ("aio", "model"):
        import importlib

        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
