"""A scenario file as the input of the models: the network that an association of it has."""

import collections
import math
from collections.abc import Mapping, Sequence
from typing import Any

from . import quantity
from .network import Network

HEADERS = 20 + 12 + 16
"""IPv4, SCTP, and one DATA chunk around a message, bytes."""


def network(document: Mapping[str, Any], flow: str | None = None) -> Network:
    """The network of one SCTP flow of a scenario: the one of that name, or the only one.

    The round trip is the sum of the delays there and back, losses are those of `bernoulli` on the way there, the bottleneck is the slowest
    link with a Drop-Tail queue of packets. A part of the scenario that the models cannot describe is an error; other flows are left out of a flow that is named.
    """
    chosen = _flow(document, flow)
    links = _links(document)
    there = _way(links, chosen["from"], chosen["to"])
    back = _way(links, chosen["to"], chosen["from"])
    rtt = sum(quantity.seconds(link["delay"]) for link in (*there, *back) if not _nothing(link["delay"]))
    mtu = min(quantity.size(link.get("mtu", "1500 B")) for link in there)
    message = quantity.size(str(chosen.get("traffic", {}).get("message", f"{mtu - HEADERS:g} B")))
    packet = min(mtu, message + HEADERS) if message <= mtu - HEADERS else mtu
    losses = [_loss(link) for link in there if _loss(link)]
    # One loss is taken as it is: 1 - (1 - p) would lose the last digits.
    loss = losses[0] if len(losses) == 1 else 1 - math.prod(1 - p for p in losses)
    slowest = min(there, key=lambda link: _rate(link["rate"]))
    queue = slowest.get("queue", {})
    limited = queue.get("kind") == "droptail" and "packets" in queue
    if not limited and not loss:
        raise ValueError(
            f"flow `{chosen['name']}`: no Drop-Tail queue in packets on its slowest link `{slowest['name']}`, and no bernoulli losses: "
            "the models have nothing to say"
        )
    n = chosen.get("subflows", 1)
    return Network(
        n=n if isinstance(n, int) else len(n),
        phi=_phi(str(chosen.get("coupling", "independent"))),
        packet=packet,
        mtu=mtu,
        rtt=(rtt,),
        loss=(loss,) if loss else (),
        rate=_rate(slowest["rate"]) if limited and math.isfinite(_rate(slowest["rate"])) else None,
        queue=queue["packets"] if limited and math.isfinite(_rate(slowest["rate"])) else None,
        engine=chosen.get("engine", "rfc9260"),
    )


def _flow(document: Mapping[str, Any], name: str | None) -> Mapping[str, Any]:
    flows = [flow for flow in document.get("flow", ()) if flow.get("protocol") == "sctp"]
    names = ", ".join(flow["name"] for flow in flows)
    if name is not None:
        flows = [flow for flow in flows if flow["name"] == name]
        if not flows:
            raise ValueError(f"no SCTP flow `{name}`; there are {names or 'none'}")
    if not flows:
        raise ValueError("no SCTP flow: the models know no other")
    if name is None and len(document["flow"]) > 1:
        raise ValueError(f"the models know one flow alone: name it ({names}) to leave the others out")
    if "count" in flows[0]:
        raise ValueError(f"flow `{flows[0]['name']}` has a `count`: the models know one association alone")
    return flows[0]


def _links(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = []
    for link in document.get("link", ()):
        found.append(link)
        if link.get("both"):
            reverse = {**link, **link.get("back", {})}
            found.append({**reverse, "name": f"{link['name']}-back", "from": link["to"], "to": link["from"]})
    return found


def _way(links: Sequence[Mapping[str, Any]], start: str, end: str) -> list[Mapping[str, Any]]:
    """The way of the fewest links; among equals the one that comes first in the file."""
    ways: dict[str, list[Mapping[str, Any]]] = {start: []}
    queue = collections.deque([start])
    while queue and end not in ways:
        node = queue.popleft()
        for link in links:
            if link["from"] == node and link["to"] not in ways:
                ways[link["to"]] = [*ways[node], link]
                queue.append(link["to"])
    if not ways.get(end):
        raise ValueError(f"no links lead from `{start}` to `{end}`")
    return ways[end]


def _loss(link: Mapping[str, Any]) -> float:
    loss = link.get("loss", {"kind": "none"})
    if loss["kind"] == "none":
        return 0.0
    if loss["kind"] != "bernoulli" or "dscp" in loss or "stream" in loss:
        raise ValueError(
            f"link `{link['name']}`: the models know independent losses of all packets only (bernoulli)"
        )
    return float(loss["p"])


def _rate(text: str) -> float:
    return math.inf if text == "infinite" else quantity.bytes_per_second(text)


def _nothing(delay: str) -> bool:
    return delay.split()[0].strip("0.") == ""


def _phi(coupling: str) -> str:
    if coupling == "independent":
        return "1"
    if coupling.startswith("fcc(") and coupling.endswith(")"):
        return coupling[4:-1]
    raise ValueError(f"coupling `{coupling}`: the models know independent windows and fcc(...)")
