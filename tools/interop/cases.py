"""The cases: what both sides and the relay are told, and what must have come of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import wire
from .wire import Packet

Report = dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """What the drivers have printed and the relay has seen."""

    connecting: Report
    listening: Report
    relay: Report
    packets: list[Packet]
    ours: str
    """"connect" or "listen": the role of our stack."""

    @property
    def us(self) -> Report:
        """The report of our stack."""
        return self.connecting if self.ours == "connect" else self.listening

    @property
    def peer(self) -> Report:
        """The report of the other stack."""
        return self.listening if self.ours == "connect" else self.connecting


Check = Callable[[Outcome], list[str]]


@dataclass(frozen=True)
class Case:
    """One case."""

    name: str
    about: str
    check: Check
    connect: tuple[str, ...] = ()
    """Options of the side that connects."""
    listen: tuple[str, ...] = ()
    """Options of the side that listens."""
    both: tuple[str, ...] = ()
    """Options of both sides."""
    ours: tuple[str, ...] = ()
    """Options of our stack, whichever role it has."""
    relay: tuple[str, ...] = ()
    deadline: float = 30.0
    wire: bool = False
    """Whether the check looks into the capture."""
    quick: bool = False
    """Whether it belongs to the reduced set."""
    capture: bool = True
    roles: tuple[str, ...] = ("connect", "listen")
    """Roles of the peer that make a difference."""
    restart: bool = False
    """The connecting side is killed after a second and begins anew."""
    times: int = 1
    """How often it is played, each time with another seed; all must pass."""


def _gone(outcome: Outcome) -> list[str]:
    problems = []
    for role, report in (("connecting", outcome.connecting), ("listening", outcome.listening)):
        if report.get("deadline"):
            problems.append(f"the {role} side gave up")
        if not report.get("established"):
            problems.append(f"no association on the {role} side")
    return problems


def _last_word_lost(outcome: Outcome) -> bool:
    """Whether a SHUTDOWN COMPLETE was lost. Who has sent it has forgotten the association: some stacks answer nothing then, and some
    do not know the T bit of the answer (RFC 9260, 8.4), so that the other side never learns of the end."""
    return any(not p.arrived and wire.SHUTDOWN_COMPLETE in p.chunks for p in outcome.packets)


def _ended(outcome: Outcome, times: int = 1) -> list[str]:
    if _last_word_lost(outcome):
        graceful = outcome.connecting["graceful"] + outcome.listening["graceful"]
        return [] if graceful else ["neither side ended gracefully"]
    problems = _gone(outcome)
    for role, report in (("connecting", outcome.connecting), ("listening", outcome.listening)):
        if report["graceful"] != times:
            ends = {end: report[end] for end in ("graceful", "aborted", "lost")}
            problems.append(
                f"the {role} side: {ends} in place of {times} graceful; notes {report['notes'][-2:]}"
            )
    return problems


def _same(sent: Report, received: Report, mark: str, what: str) -> list[str]:
    a, z = sent["sent"], received["received"]
    if (a["messages"], a["bytes"]) != (z["messages"], z["bytes"]):
        return [
            f"{what}: {a['messages']} messages, {a['bytes']} B sent, {z['messages']}, {z['bytes']} B received"
        ]
    if a[mark] != z[mark]:
        return [f"{what}: other bytes, or another order, than were sent"]
    return []


def transferred(mark: str = "digest", times: int = 1) -> Check:
    """Everything arrived, in both directions, and both sides ended gracefully."""

    def check(outcome: Outcome) -> list[str]:
        problems = _ended(outcome, times)
        problems += _same(outcome.connecting, outcome.listening, mark, "to the listening side")
        problems += _same(outcome.listening, outcome.connecting, mark, "to the connecting side")
        return problems

    return check


def _with(first: Check, *others: Check) -> Check:
    return lambda outcome: [problem for check in (first, *others) for problem in check(outcome)]


def _aborted(outcome: Outcome) -> list[str]:
    problems = _gone(outcome)
    if outcome.listening["aborted"] != 1:
        problems.append(
            f"the listening side does not know of the abort: notes {outcome.listening['notes'][-2:]}"
        )
    if wire.count(outcome.packets, wire.ABORT) == 0:
        problems.append("no ABORT in the capture")
    return problems


def _seen(chunk: int, name: str) -> Check:
    return lambda outcome: [] if wire.count(outcome.packets, chunk) else [f"no {name} chunk in the capture"]


def _never(chunk: int, name: str) -> Check:
    return lambda outcome: [f"a {name} chunk in the capture"] if wire.count(outcome.packets, chunk) else []


def _window_closed(outcome: Outcome) -> list[str]:
    windows = [w for p in outcome.packets if not p.connecting for w in p.windows]
    if not windows or min(windows) > 2000:
        return [f"the window never closed: a_rwnd was {min(windows, default=0)} at least"]
    return []


def _ssn_began_anew(outcome: Outcome) -> list[str]:
    if wire.count(outcome.packets, wire.RE_CONFIG) == 0:
        return ["no RE-CONFIG chunk in the capture"]
    zeros = {(p.number) for p in outcome.packets if p.connecting and 0 in p.ssns and p.arrived}
    asked = [p.number for p in outcome.packets if p.connecting and wire.RE_CONFIG in p.chunks]
    before = any(number < asked[0] for number in zeros) if asked else False
    after = any(number > asked[0] for number in zeros) if asked else False
    return [] if before and after else ["the stream sequence numbers did not begin anew behind the request"]


def _given_up(outcome: Outcome) -> list[str]:
    problems = _ended(outcome)
    sent, received = outcome.connecting["sent"]["messages"], outcome.listening["received"]["messages"]
    if not 0 < received <= sent:
        problems.append(f"{received} of {sent} messages were received")
    skipped = wire.count(outcome.packets, wire.FORWARD_TSN) + wire.count(outcome.packets, wire.I_FORWARD_TSN)
    if received < sent and not skipped:
        problems.append("messages are missing, and no FORWARD-TSN says that they were given up")
    if received == sent and not skipped:
        problems.append("nothing was given up: the case has shown nothing")
    return problems


def _all_there(outcome: Outcome) -> list[str]:
    """Everything arrived. How the association ends is another matter: a packet that comes when its association has gone is answered
    with an ABORT (RFC 9260, 8.4), and that may overtake the SHUTDOWN COMPLETE."""
    problems = _gone(outcome)
    problems += _same(outcome.connecting, outcome.listening, "digest", "to the listening side")
    return problems + _same(outcome.listening, outcome.connecting, "digest", "to the connecting side")


def _up(outcome: Outcome) -> list[str]:
    return _gone(outcome)


def _restarted(outcome: Outcome) -> list[str]:
    problems = _same(outcome.connecting, outcome.listening, "digest", "to the listening side")
    # Some peers take the second association for one of its own, which serves as well.
    if outcome.ours == "listen" and outcome.listening["restarts"] != 1:
        problems.append(f"{outcome.listening['restarts']} restarts on the listening side in place of one")
    return problems


def _without_checksum(outcome: Outcome) -> list[str]:
    problems = []
    for side, connecting in (("connecting", True), ("listening", False)):
        if not any(p.checksum == 0 for p in outcome.packets if p.connecting == connecting):
            problems.append(f"the {side} side never left the checksum out")
    return problems


def _data_fits(outcome: Outcome) -> list[str]:
    with_data = [p.length for p in outcome.packets if wire.DATA in p.chunks]
    longest = max(with_data, default=0)
    return [f"a DATA chunk in a packet of {longest} bytes"] if longest > 1252 else []


def _corrupted(outcome: Outcome) -> list[str]:
    return [] if outcome.relay.get("corrupted") else ["nothing was corrupted: the case has shown nothing"]


def _went_dark(outcome: Outcome) -> list[str]:
    return [] if outcome.relay.get("dropped") else ["nothing was lost: the case has shown nothing"]


TRANSFER = ("--send", "500", "--size", "4000", "--streams", "4")
BACK = ("--send", "200", "--size", "1000")
END = ("--end", "shutdown")

CASES: list[Case] = [
    Case("handshake", "association, graceful end", _ended, connect=END, quick=True),
    Case(
        "transfer",
        "2 MB on 4 streams one way, 200 kB the other",
        transferred(),
        connect=(*TRANSFER, "--expect", "200", *END),
        listen=BACK,
        quick=True,
    ),
    Case(
        "loss",
        "the same under 2 % loss each way",
        transferred(),
        connect=(*TRANSFER, "--expect", "200", *END),
        listen=BACK,
        relay=("--drop", "0.02"),
        deadline=90,
        wire=True,
        quick=True,
    ),
    Case(
        "streams",
        "2,000 messages on 1,000 streams",
        transferred(),
        connect=("--send", "2000", "--size", "200", "--streams", "1000", *END),
    ),
    Case(
        "unordered",
        "1,000 unordered messages under 1 % loss",
        transferred("sum"),
        connect=("--send", "1000", "--size", "1500", "--unordered", *END),
        relay=("--drop", "0.01"),
        deadline=60,
        wire=True,
    ),
    Case(
        "fragments",
        "20 messages of 256 KiB",
        transferred(),
        connect=("--send", "20", "--size", "262144", *END),
        listen=("--send", "3", "--size", "262144"),
        quick=True,
    ),
    Case(
        "shutdown",
        "shutdown right behind the last message: all that is queued arrives",
        transferred(),
        connect=("--send", "300", "--size", "1000", "--at-once", *END),
        relay=("--delay", "20"),
        quick=True,
    ),
    Case(
        "abort",
        "abort after 20 messages back",
        _aborted,
        connect=("--send", "20", "--size", "500", "--expect", "20", "--end", "abort"),
        listen=("--send", "20", "--size", "500"),
        wire=True,
    ),
    Case(
        "closed-window",
        "the receiver does not read for 10 s; window 128 KiB, 1 MB under way",
        _with(transferred(), _window_closed),
        connect=("--send", "1000", "--size", "1000", *END),
        listen=("--pause", "10000", "--window", "131072"),
        deadline=60,
        wire=True,
    ),
    Case(
        "i-data",
        "I-DATA is agreed on and used (RFC 8260)",
        _with(transferred(), _seen(wire.I_DATA, "I-DATA"), _never(wire.DATA, "DATA")),
        connect=(*TRANSFER, "--expect", "200", *END),
        listen=BACK,
        both=("--interleaving",),
        wire=True,
    ),
    Case(
        "reset",
        "the streams begin anew half way (RFC 6525)",
        _with(transferred(), _ssn_began_anew),
        connect=("--send", "40", "--size", "500", "--streams", "2", "--reset", *END),
        ours=("--set", "outbound_streams=16"),
        wire=True,
    ),
    Case(
        "pr-sctp",
        "messages are given up at the first loss (RFC 3758), 10 % loss",
        _given_up,
        connect=("--send", "500", "--size", "1000", "--rtx", "0", *END),
        relay=("--drop", "0.1"),
        deadline=60,
        wire=True,
    ),
    Case(
        "lossy-handshake",
        "under 30 % loss, 50 of 50",
        _up,
        both=("--until-up",),
        relay=("--drop", "0.3"),
        deadline=150,
        times=50,
    ),
    Case(
        "corruption",
        "2 MB, a bit is turned in 2 % of the packets",
        _with(transferred(), _corrupted),
        connect=(*TRANSFER, "--expect", "200", *END),
        listen=BACK,
        relay=("--corrupt", "0.02"),
        deadline=90,
        wire=True,
    ),
    Case(
        "reordering",
        "2 MB, 10 % of the packets are held back for 5 ms",
        _all_there,
        connect=(*TRANSFER, "--expect", "200", *END),
        listen=BACK,
        relay=("--reorder", "0.1"),
        deadline=60,
    ),
    Case(
        "long-path",
        "800 kB at a round trip of 750 ms",
        transferred(),
        connect=("--send", "200", "--size", "4000", *END),
        relay=("--delay", "375"),
        deadline=90,
    ),
    Case(
        "blackhole",
        "12 MB at a round trip of 40 ms, window 64 KiB; 5 s on, 2 s off",
        _with(transferred(), _went_dark),
        connect=("--send", "3000", "--size", "4000", *END),
        listen=("--window", "65536"),
        relay=("--delay", "20", "--blackout", "5000:2000"),
        deadline=180,
        wire=True,
    ),
    Case(
        "restart",
        "the connecting side dies and begins anew from the same ports",
        _restarted,
        connect=("--send", "50", "--size", "1000", *END),
        deadline=40,
        restart=True,
    ),
    Case(
        "udp-port",
        "the connecting side comes from another UDP port after its 40th packet (RFC 6951, 5.4)",
        transferred(),
        connect=(*TRANSFER, "--expect", "200", *END),
        listen=BACK,
        relay=("--rebind", "40"),
        deadline=60,
    ),
    Case(
        "small-path",
        "packets of up to 1,472 bytes are allowed; the path silently loses those over 1,252 (IP: 1,280)",
        _with(transferred(), _data_fits),
        connect=("--send", "500", "--size", "4000", *END),
        both=("--mtu", "1472"),
        relay=("--longest", "1252"),
        deadline=90,
        wire=True,
    ),
    Case(
        "zero-checksum",
        "both offer to leave the checksum out, and do (RFC 9653)",
        _with(transferred(), _without_checksum),
        connect=("--send", "100", "--size", "1000", "--expect", "100", *END),
        listen=("--send", "100", "--size", "1000"),
        both=("--zero-checksum",),
        wire=True,
    ),
    Case(
        "subflows",
        "ours offers subflows to a peer that has none: plain SCTP comes of it",
        transferred(),
        connect=("--send", "100", "--size", "1000", "--expect", "100", *END),
        listen=("--send", "100", "--size", "1000"),
        ours=("--set", "subflow_level=1"),
    ),
    Case(
        "goodput",
        "20 MB as fast as it goes",
        transferred(),
        connect=("--send", "5000", "--size", "4000", *END),
        deadline=120,
        capture=False,
    ),
    Case(
        "many",
        "10,000 associations, one after the other",
        transferred(times=10_000),
        connect=("--associations", "10000", "--send", "1", "--size", "100", *END),
        listen=("--associations", "10000"),
        deadline=300,
        capture=False,
    ),
]


def named(names: list[str]) -> list[Case]:
    """The cases of these names; all of them where none is given."""
    by_name = {case.name: case for case in CASES}
    unknown = [name for name in names if name not in by_name]
    if unknown:
        raise SystemExit(f"no such case: {', '.join(unknown)}; there are {', '.join(by_name)}")
    return [by_name[name] for name in names] or CASES
