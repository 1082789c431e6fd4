"""The throughput of an association on a network, by equations (docs/explanation/models.md).

    >>> from anabranch import model
    >>> net = model.Network(n=2, phi="n^2", rtt=(0.5,), loss=(1e-3, 1e-5), engine="rfc9260")
    >>> [(answer.case, answer.model, round(answer.high_bps / 1e6, 2)) for answer in model.answers(net)][2]
    ('original', 'renewal', 1.01)

`network(scenario)` takes the network from a scenario; `engines()` says whose rules the renewal model can follow; `stochastic`,
`shared`, `deterministic`, `renewal` and `timeouts` are the models themselves: times are in seconds, rates in bytes per second, windows
in MTU, unless a function says otherwise. Answers are in bits per second on the wire.
"""

import tomllib
from collections.abc import Mapping
from typing import Any

from anabranch_lab.models import audit, deterministic, renewal, shared, stochastic, timeouts
from anabranch_lab.models import scenarios as _scenarios
from anabranch_lab.models.engines import known as engines
from anabranch_lab.models.engines import rules
from anabranch_lab.models.network import CASES, MODELS, Answer, Network, answers, limit

from . import running

__all__ = [
    "CASES",
    "MODELS",
    "Answer",
    "Network",
    "answers",
    "audit",
    "deterministic",
    "engines",
    "limit",
    "network",
    "renewal",
    "rules",
    "shared",
    "stochastic",
    "timeouts",
]


def network(
    scenario: running.Given,
    flow: str | None = None,
    *,
    set: Mapping[str, Any] | None = None,  # noqa: A002 - the name of the command line
) -> Network:
    """The network that an SCTP flow of a scenario meets, for `answers`; `flow` names it where there are several.

    The scenario is checked as a run would be. Raises ValueError where the models cannot describe it (other losses than
    `bernoulli`, other queues than `droptail`).
    """
    text, _, _ = running._text(scenario)
    running.check(scenario, set=set)
    document = tomllib.loads(text)
    for key, value in (set or {}).items():
        _put(document, key, value)
    return _scenarios.network(document, flow)


def _put(document: dict[str, Any], key: str, value: Any) -> None:
    from anabranch_lab.plan import plan

    plan.put(document, key, value)
