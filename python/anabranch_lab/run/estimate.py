"""A guess at the cost of a run, from its scenario alone: how many packets, over how many links.

Only the order of the runs and the time left depend on it. It knows nothing of the machine, so it may be off by a factor of twenty; the
measured times of the first runs of a sweep correct it before a time is shown (`costs.py`, `campaign.py`).
"""

import math
import re
import tomllib
from collections import deque
from typing import Any

PER_HOP = 1.2e-7
"""Seconds of a processor for one packet over one link; see docs/performance.md."""
PER_PACKET = 3.5e-7
"""Seconds for a data packet and its acknowledgement at both ends."""
PER_RUN = 2e-3
"""Seconds for reading the scenario and writing the result."""
FASTEST = 1e5
"""Packets a second that a flow without a limit is assumed to send."""

_UNITS = {
    "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0,
    "bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9,
    "B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1024.0, "MiB": 1024.0**2, "GiB": 1024.0**3,
}  # fmt: skip


UNKNOWN = 1.0
"""Seconds for a scenario that this guess does not understand."""


def seconds(scenario: str) -> float:
    """Seconds of one processor that a run of this scenario will about take."""
    try:
        return _seconds(tomllib.loads(scenario))
    except (KeyError, TypeError, ValueError, AttributeError):
        # The simulator reports errors of a scenario, in better words.
        return UNKNOWN


def _seconds(document: dict[str, Any]) -> float:
    duration = _quantity(document["duration"])
    links = _links(document)
    total = 0.0
    shares: dict[str, float] = {}
    flows = []
    for flow in document["flow"]:
        way = _way(links, flow["from"], flow["to"])
        count = int(flow.get("count", 1))
        wanted = count * _packets_a_second(flow, way)
        size = _quantity(flow.get("traffic", {}).get("message", "1452 B")) + 48
        # A transfer ends when all its bytes have arrived.
        most = count * _quantity(flow.get("traffic", {}).get("bytes", "")) / size or math.inf
        flows.append((way, wanted, size, most))
        for link in way:
            shares[link["name"]] = shares.get(link["name"], 0.0) + 8 * wanted * size
    for way, wanted, _, most in flows:
        # Where all flows together want more of a link than its rate, they get its rate.
        cut = min([1.0, *(link["rate"] / shares[link["name"]] for link in way if shares[link["name"]] > 0)])
        total += min(duration * wanted * cut, most) * (PER_PACKET + 2 * len(way) * PER_HOP)
    return PER_RUN + total


def _packets_a_second(flow: dict[str, Any], way: list[dict[str, Any]]) -> float:
    """By the square-root law of losses, not more than the slowest link takes."""
    size = _quantity(flow.get("traffic", {}).get("message", "1452 B")) + 48
    rate = min((link["rate"] for link in way), default=math.inf)
    most = min(FASTEST, rate / (8 * size))
    traffic = flow.get("traffic", {})
    if "rate" in traffic:
        return min(most, _quantity(traffic["rate"]) / (8 * size))
    lost = 1 - math.prod(1 - link["p"] for link in way)
    trip = 2 * sum(link["delay"] for link in way)
    if lost > 0 and trip > 0:
        subflows = flow.get("subflows", 1)
        count = len(subflows) if isinstance(subflows, list) else int(subflows)
        phi = _phi(str(flow.get("coupling", "independent")), count)
        return min(most, count / math.sqrt(phi) * 1.31 / (trip * math.sqrt(lost)))
    return most


def _phi(coupling: str, subflows: int) -> float:
    """The growth parameter that a coupling means."""
    match = re.fullmatch(r"fcc\((.*)\)", coupling)
    if match is None:
        # One window for all of them grows as one subflow of n with a Phi of n^2.
        return float(subflows**2) if coupling == "shared" else 1.0
    known = {"n": subflows, "n^2": subflows**2, "2n^2": 2 * subflows**2}
    try:
        return float(known.get(match[1], match[1]))
    except ValueError:
        return 1.0


def _links(document: dict[str, Any]) -> list[dict[str, Any]]:
    found = []
    for link in document["link"]:
        entry = {
            "name": link["name"],
            "from": link["from"],
            "to": link["to"],
            "rate": math.inf if link["rate"] == "infinite" else _quantity(link["rate"]),
            "delay": _quantity(link["delay"]),
            "p": float(link.get("loss", {}).get("p", 0.0)),
        }
        found.append(entry)
        if link.get("both"):
            found.append(entry | {"name": link["name"] + "-back", "from": link["to"], "to": link["from"]})
    return found


def _way(links: list[dict[str, Any]], start: str, end: str) -> list[dict[str, Any]]:
    """The links of the shortest way; none when there is none."""
    queue: deque[tuple[str, list[dict[str, Any]]]] = deque([(start, [])])
    seen = {start}
    while queue:
        node, way = queue.popleft()
        if node == end:
            return way
        for link in links:
            if link["from"] == node and link["to"] not in seen:
                seen.add(link["to"])
                queue.append((link["to"], [*way, link]))
    return []


def _quantity(text: Any) -> float:
    """`20 ms` in seconds, bits per second or bytes; 0 for a text that is not a quantity."""
    match = re.fullmatch(r"\s*([0-9.eE+-]+)\s*([A-Za-z/]+)\s*", str(text))
    if match is None or match[2] not in _UNITS:
        return 0.0
    return float(match[1]) * _UNITS[match[2]]
