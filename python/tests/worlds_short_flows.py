"""Made-up results of the study of 2006 (where in a short flow a packet is lost) in which every claim holds."""

MEASURES = ("time", "packets", "fast", "timeouts", "again")
SETS = {(40, 5): "low", (1000, 40): "medium", (10000, 300): "high"}
EMPTY = {"low": 6000.0, "medium": 400.0, "high": 2900.0}
"""Milliseconds of a flow without a loss."""


def trip(display, back):
    rate, delay = {name: place for place, name in SETS.items()}.get(display, (1000, 40))
    return 2 * delay + (1500 + back) * 8 / rate


def place_of(at):
    return at.get("display") or SETS.get((at.get("bandwidth"), at.get("delay")), "low")


def flow(start, extra=10.0, fast=1, timeouts=0, again=1, packets=20):
    """A made-up flow with a loss: its extra time, and the repair."""
    return {
        "time": start + extra,
        "packets": packets,
        "fast": fast,
        "timeouts": timeouts,
        "again": again,
    }


def plain(start, k, first=3000.0):
    """A flow with no loss, with its first or last packet lost, or with one that is fast retransmitted."""
    if k in (0, 20):
        return flow(start, 0.0, fast=0, again=0)
    return flow(start, first, fast=0) if k == 1 else flow(start)


def freebsd(stack, case, display, k):
    start = EMPTY.get(display, 1000.0)
    small = 1.5 * trip(display, 52) if case == "initial window 1" and display != "low" else 0.0
    found = plain(start, k)
    mistaken = stack != "without mistakes"
    if display == "medium" and k in ((17, 18, 19) if stack == "by the rules" else (16, 17, 18, 19)):
        found = flow(start, 300.0 + 700.0 * (case == "minimum RTO 1 s"), timeouts=1)
    if display == "low" and mistaken and case in ("baseline", "inflight", "no limited transmit"):
        if k in (12, 17):
            found = flow(start, 5000.0)
        elif k == 8:
            found = flow(start, -100.0)
        elif k == 0:
            found["again"] = 3
    if display == "low" and 2 <= k <= 5:
        # Too early for three duplicates.
        found = flow(start, timeouts=1)
    if display == "low" and case == "initial window 1":
        found["time"] -= 1000.0
    if display == "high":
        extra = {2: 2000.0, 3: 2000.0, 4: 2000.0, 5: 1000.0, 15: trip(display, 52)}.get(k, 100.0)
        late = 16 <= k <= 19
        found = found if k in (0, 1, 20) else flow(start, extra, timeouts=int(late))
    if case == "inflight":
        found["time"] += 10.0 if display == "medium" and 6 <= k <= 15 else -10.0 if k == 5 else 0.0
    if case == "no limited transmit" and display != "low" and 2 <= k <= 8:
        found["time"] *= 1.2
    found["time"] += small
    return found


def tcp(sweep, measure, at):
    if measure == "":
        return MEASURES
    ruled = sweep == "by-the-rules"
    stack = "by the rules" if ruled else at.get("stack", "as it was")
    display = "medium" if ruled else place_of(at)
    return freebsd(stack, at.get("case", "baseline"), display, at["position"])[measure]


def event(time, end, kind, number=1, reason="", unit=1448, size=1448, a=0, c=0):
    return {
        "time_ns": round(time * 1e9), "entity": f"link:{end}" if kind == "offered" else f"flow:{end}", "kind": kind, "reason": reason, "seq": (number - 1) * unit, "size": size,
        "a": a, "b": 0, "c": c,
    }  # fmt: skip


def tcp_records(place, bad):
    _, _, lost = place.partition(", ")
    if lost == "none lost":
        again = [1, 2] if bad else [1, 2, 3]
        reason = "fast-retransmit" if bad else "timeout"
        return [
            *(event(0.1 * n, "sender", "sent", n) for n in again),
            *(event(1 + 0.1 * n, "sender", "sent", n, reason) for n in again),
            *(event(2 + 0.1 * n, "receiver", "received", n, "duplicate") for n in again),
            event(0.9 if bad else 0.4, "sender", "timeout"),
            event(0.5, "sender", "ack", 2),
        ]
    number = int(lost.split()[0])
    if place.startswith("medium"):
        return [event(0.3, "sender", "rtt", c=300_000_000), event(0.6, "sender", "timeout")]
    wait, reason = (0.3, "fast-retransmit") if bad else (2.0, "timeout")
    return [
        event(0.0, "sender", "sent", 1),
        event(0.3, "sender", "timeout"),
        event(5.0, "sender", "sent", number),
        event(5.0 + wait, "sender", "sent", number, reason),
        event(8.0, "receiver", "received", number),
    ]


tcp.records = tcp_records


def kame(case, display, k, cell=None):
    start = 5 * 54.0 if cell == (10000, 5) else 2 * EMPTY.get(display, 1000.0)
    found = plain(start, k, 3000.0 - 2000.0 * (case == "initial RTO 1 s"))
    if k == 2:
        found = flow(start, 0.0)
    elif k == 3:
        found = flow(start, 2000.0 if display == "high" else 1000.0, timeouts=1)
    elif 16 <= k <= 19:
        found = flow(start, 1000.0, timeouts=1)
    elif display == "high" and 4 <= k <= 15 and k != 10:
        found["time"] += trip("high", 48)
    if case == "minimum RTO 200 ms":
        if display == "medium":
            found["time"] -= 700.0 * (k in (3, 16, 17, 18))
            found["packets"] += 1
        elif display == "low":
            found["time"] += 5000.0 if k == 5 else 500.0
            found["packets"] += 3
        else:
            found["time"] -= 10.0
    return found


def lksctp(case, display, k, cell=None):
    start = 54.0 if cell == (10000, 5) else EMPTY.get(display, 1000.0)
    found = plain(start, k, 3000.0 - 2000.0 * (case == "initial RTO 1 s"))
    if k == 2:
        found = flow(start, 3000.0, fast=0)
    elif k == 3:
        found = flow(start, 1500.0, timeouts=1)
    elif 15 <= k <= 19:
        found = flow(start, 1000.0 - 500.0 * (case == "minimum RTO 200 ms"), timeouts=1)
    elif display == "high" and 4 <= k <= 14 and k not in (8, 9):
        found["time"] += trip("high", 48)
    elif display == "low" and 5 <= k <= 8:
        found["time"] += 1500.0
    return found


def sctp(sweep, measure, at):
    if measure == "":
        return MEASURES
    if sweep == "race":
        # Hosts race, and the order of two timers decides about one retransmission.
        late = [seed % 2 and at["position"] == 2 for seed in range(30)]
        return tuple(
            {"time": 6000.0 + 300.0 * bool(each), "again": 4.0 + bool(each)}[measure] for each in late
        )
    if sweep == "nothing-lost":
        stack = kame if at["stack"] == "KAME" else lksctp
        return stack("baseline", place_of(at), 0, (at["bandwidth"], at["delay"]))[measure]
    stack = kame if sweep.startswith("kame") else lksctp
    return stack(at["case"], place_of(at), at["position"])[measure]


def sctp_records(place, bad):
    stack, _, lost, *case = place.split(", ")
    number = 0 if lost == "none lost" else int(lost.split()[0])
    if case:
        early = (0.2, 0.7) if bad else (0.4, 0.41, 0.42)
        return [
            event(0.0, "sender", "sent", 1, unit=1),
            *(event(time, "sender", "sent", n + 2, unit=1) for n, time in enumerate(early)),
            event(0.6, "sender", "ack", 2, unit=1),
        ]
    if stack == "KAME":
        count = {10: 4, 9: 5}.get(number, 4) + bad
        return [event(0.6 * n, "sender", "sent", n + 1, unit=1) for n in range(count)]
    spurious = {5: range(3, 15), 8: (6, 15, 16)}[number][bad * 3 :]
    return [
        *(event(0.1 * n, "sender", "sent", n, unit=1) for n in range(1, 17)),
        *(event(6 + 0.1 * n, "receiver", "received", n, "duplicate", unit=1) for n in spurious),
    ]


sctp.records = sctp_records


def engines(sweep, measure, at):
    if measure == "":
        return MEASURES
    if sweep.endswith("-again"):
        return (1000.0,) * 30
    if sweep == "window":
        return 1.0
    k, flavour = at["position"], at.get("flavour", "newreno")
    start = EMPTY.get(place_of(at), 1000.0)
    found = plain(start, k, 3000.0 if flavour == "rfc2960" else 1000.0)
    tails = {
        "rfc2960": range(15, 20),
        "rfc9260": range(16, 20),
        "newreno": range(17, 20),
        "rfc": range(16, 20),
    }
    if k == 2 and flavour in ("rfc2960", "rfc9260"):
        found = flow(start, 1000.0, fast=0)
    if flavour in ("rfc9260-rack", "rack-cubic") and 15 <= k <= 19:
        found = flow(start, 190.0)
    if k in tails.get(flavour, ()):
        found = flow(start, 1000.0, timeouts=1)
    return found[measure]


def two_losses(sweep, measure, at):
    if measure == "":
        return MEASURES
    positions = [int(k) for k in str(at["position"] if "position" in at else at["pair"]).split("+")]
    return flow(1000.0, 10.0 * max(positions))[measure]


def patterns(sweep, measure, at):
    if measure == "":
        return MEASURES
    k = at["position"]
    if sweep.endswith("late"):
        return flow(1000.0, 0.0, fast=0, again=int(k > 0 and "200 ms" in at["flavour"]))[measure]
    if sweep.endswith("slow"):
        return flow(3000.0 - 50.0 * k, 0.0, fast=0, again=0)[measure]
    return plain(1000.0, k)[measure]


WORLDS = {
    f"loss-position-2006/{name}": world
    for name, world in {
        "tcp": tcp, "sctp": sctp, "engines": engines, "two-losses": two_losses, "patterns": patterns,
    }.items()
}  # fmt: skip
