"""A stand-in for the simulator: makes numbers up, quickly, and the same ones for the same seed.

Its results have the shape of the real thing; tests that are about numbers use the real thing.
"""

import random
import tomllib
import zlib

import pyarrow as pa

from anabranch_lab.run import campaign
from anabranch_lab.run.schedule import Schedule
from anabranch_lab.run.simulation import Outcome

RTT = 0.508


def simulate(scenario, seed, *, trace=False):
    document = tomllib.loads(scenario)
    rng = random.Random(zlib.crc32(scenario.encode()) * 1000 + seed)
    flows = [
        {
            "name": flow["name"],
            "protocol": flow["protocol"],
            "engine": flow["engine"],
            "sent_unique_payload_bps": rng.gauss(3e5, 5e3) * (1.1 if flow["name"] == "sctp" else 1),
            "completion_s": None,
            "subflows": [{"index": 0}],
        }
        for flow in document["flow"]
    ]
    links = [{"name": link["name"], "arrivals": rng.randrange(1000)} for link in document["link"]]
    events = None
    if trace:
        names = [flow["name"] for flow in document["flow"]]
        if names == ["tcp"]:
            events = table(figure_8())
        elif names == ["sctp"]:
            events = table(figure_9())
        else:
            events = table(recorded(rng))
    return Outcome({"seed": seed, "flows": flows, "links": links}, events)


def run(results, workers=2, simulate=simulate, progress=None):
    """Makes the missing runs of these results, with numbers made up or by another simulator; returns how many runs that were."""
    return campaign.run([Schedule(results, simulate)], campaign.Threads(workers), progress)


def event(time, flow, kind, seq=0, *, reason="", size=1448, a=0, b=0, c=0):
    return {
        "time_ns": round(time * 1e9),
        "entity": f"{flow}:sender",
        "kind": kind,
        "flow": flow,
        "reason": reason,
        "seq": seq,
        "size": size,
        "a": a,
        "b": b,
        "c": c,
    }


def table(events):
    events = sorted(events, key=lambda e: e["time_ns"])
    columns = {name: [e[name] for e in events] for name in events[0]}
    texts = {
        name: pa.array(columns[name]).dictionary_encode() for name in ("entity", "kind", "flow", "reason")
    }
    numbers = {
        name: pa.array(columns[name], pa.uint64()) for name in ("time_ns", "seq", "size", "a", "b", "c")
    }
    return pa.table({**texts, **numbers})


def recorded(rng):
    """Both flows send a window of 5 to 10 packets a round trip."""
    events = []
    for flow, unit, step in (("tcp", 1448, 1448), ("sctp", 1464, 1)):
        packet, time = 0, 0.0
        while time < 300:
            window = rng.randrange(5, 10 if flow == "tcp" else 12)
            events.append(event(time, flow, "window", a=window * unit, b=8 * unit, c=window * unit))
            for i in range(window):
                events.append(event(time + 0.004 * i, flow, "sent", packet * step))
                packet += 1
            time += RTT
    return events


def figure_8(*, limited_transmit=False):
    """TCP as the text of the study has it: window of eight, packet 7 lost."""
    unit = 1448
    events = [event(1.0, "tcp", "window", a=8 * unit, b=45 * unit, c=8 * unit)]
    events += [event(1.0 + 0.001 * i, "tcp", "sent", unit * i) for i in range(15)]
    events.append(event(1.5, "tcp", "ack", 7 * unit))
    new = 15
    for report in range(1, 8):
        at = 1.55 + 0.003968 * (report - 1)
        events.append(event(at, "tcp", "ack", 7 * unit))
        if report == 3:
            events.append(event(at, "tcp", "window", a=4 * unit, b=4 * unit, c=5 * unit))
            events.append(event(at, "tcp", "sent", 7 * unit, reason="fast-retransmit"))
        if report >= 5 or (limited_transmit and report <= 2):
            events.append(event(at, "tcp", "sent", new * unit))
            new += 1
    events.append(event(2.2, "tcp", "ack", 15 * unit))
    return events


def figure_9(*, retransmit_on=4):
    """SCTP as the text of the study has it: window of 17, packet 63 lost."""
    unit = 1464
    events = [event(1.0, "sctp", "window", a=int(17.3 * unit), b=14 * unit, c=18 * unit)]
    events += [event(1.0 + 0.001 * i, "sctp", "sent", i) for i in range(81)]
    events.append(event(1.5, "sctp", "ack", 63))
    lost_at = 1.063
    new, flight = 81, 18
    for report in range(1, 8):
        at = lost_at + 0.514 + 0.004 * (report - 1)
        events.append(event(at, "sctp", "ack", 63))
        flight -= 1
        if report < retransmit_on:
            events.append(event(at, "sctp", "sent", new))
            new, flight = new + 1, flight + 1
            events.append(event(at, "sctp", "window", a=int(17.3 * unit), b=14 * unit, c=flight * unit))
        if report == retransmit_on:
            events.append(event(at, "sctp", "sent", 63, reason="fast-retransmit"))
            events.append(
                event(at, "sctp", "window", a=int(8.65 * unit), b=int(8.65 * unit), c=flight * unit)
            )
    events.append(event(2.2, "sctp", "ack", 81))
    return events
