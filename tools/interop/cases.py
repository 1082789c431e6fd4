"""The cases: options of both sides and of the relay, and checks of the outcome."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import wire
from .wire import Packet

Report = dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """The output of the drivers and the packets that the relay has seen."""

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
    """Options of our stack, in either role."""
    relay: tuple[str, ...] = ()
    deadline: float = 30.0
    wire: bool = False
    """Whether the check looks into the capture."""
    quick: bool = False
    """Whether it belongs to the reduced set."""
    capture: bool = True
    """Whether there is one."""
    roles: tuple[str, ...] = ("connect", "listen")
    """Roles of the peer that make a difference."""
    restart: bool = False
    """The connecting side is killed after a second and begins anew."""
    times: int = 1
    """The number of times that the case is played, each time with another seed; all must pass."""
    measured: bool = False
    """Whether its figure counts: it is played while nothing else is."""
    own_end: bool = False
    """Whether the case is about the shutdown of the connecting side: the other side cannot begin it instead."""


def _gone_side(side: str, report: Report) -> list[str]:
    problems = []
    if report.get("deadline"):
        problems.append(f"the {side}ing side gave up")
    if not report.get("established"):
        problems.append(f"no association on the {side}ing side")
    return problems


def _gone(outcome: Outcome) -> list[str]:
    return _gone_side("connect", outcome.connecting) + _gone_side("listen", outcome.listening)


def _last_word_lost(outcome: Outcome, side: str) -> bool:
    """Whether the SHUTDOWN COMPLETE for that side was lost for good. Its sender has forgotten the association: some stacks
    answer nothing then, and some do not know the T bit of the answer (RFC 9260, 8.4), so that this side never learns of the end.
    Ours knows it."""
    last = [
        p
        for p in outcome.packets
        if wire.SHUTDOWN_COMPLETE in p.chunks and p.connecting != (side == "connect")
    ]
    came = [p for p in last if p.arrived and (side == outcome.ours or not p.tagless)]
    return bool(last) and not came


def _ended(outcome: Outcome, times: int = 1) -> list[str]:
    problems = []
    sides = (("connect", outcome.connecting), ("listen", outcome.listening))
    lost = [side for side, _ in sides if _last_word_lost(outcome, side)]
    if len(lost) == 1 and any(report["graceful"] for side, report in sides if side not in lost):
        sides = tuple((side, report) for side, report in sides if side not in lost)
    for side, report in sides:
        problems += _gone_side(side, report)
        if report["graceful"] != times:
            ends = {end: report[end] for end in ("graceful", "aborted", "lost")}
            problems.append(
                f"the {side}ing side: {ends} in place of {times} graceful; notes {report['notes'][-2:]}"
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
    # Chunks count at their first transmission: retransmissions prove nothing.
    begun: dict[int, float] = {}
    for p in outcome.packets:
        if p.connecting:
            for tsn in p.tsns:
                begun.setdefault(tsn, p.time)
    lasted = max(begun.values(), default=0.0) - min(begun.values(), default=0.0)
    return [] if lasted > 8 else [f"the last data left {lasted:.1f} s after the first: nothing held it up"]


def began_anew(outcome: Outcome) -> list[str]:
    """The stream sequence numbers began anew behind the request of the connecting side."""
    asked = [p.number for p in outcome.packets if p.connecting and wire.RE_CONFIG in p.chunks]
    if not asked:
        return ["no RE-CONFIG chunk in the capture"]
    # A retransmission has the TSN that it had.
    zeros: dict[int, int] = {}
    for p in outcome.packets:
        if p.connecting:
            for tsn, ssn in zip(p.tsns, p.ssns, strict=False):
                if ssn == 0:
                    zeros.setdefault(tsn, p.number)
    before = any(number < asked[0] for number in zeros.values())
    after = any(number > asked[0] for number in zeros.values())
    return [] if before and after else ["the stream sequence numbers did not begin anew behind the request"]


def _fragmented(outcome: Outcome) -> list[str]:
    """Both sides have sent fragments: a chunk that begins a message, and neither it nor the next ends it."""
    problems = []
    for side, connecting in (("connecting", True), ("listening", False)):
        chunks = [
            (begin, end)
            for p in outcome.packets
            if p.connecting == connecting
            for begin, end in zip(p.begins, p.ends, strict=False)
        ]
        if (1, 0) not in chunks or (0, 0) not in chunks:
            problems.append(f"the {side} side sent no fragments")
    return problems


def _without_order(outcome: Outcome) -> list[str]:
    marks = [mark for p in outcome.packets if p.connecting for mark in p.unordered]
    return (
        [] if marks and all(marks) else [f"{len(marks) - sum(marks)} of {len(marks)} DATA chunks are ordered"]
    )


def _queued(outcome: Outcome) -> list[str]:
    """The shutdown was asked for at once, so SHUTDOWN came long after the first data; and behind all of it."""
    ours = [p for p in outcome.packets if p.connecting]
    first = next((p for p in ours if wire.SHUTDOWN in p.chunks), None)
    if first is None:
        return ["no SHUTDOWN of the connecting side in the capture"]
    known = {tsn for p in ours if p.number <= first.number for tsn in p.tsns}
    later = {tsn for p in ours if p.number > first.number for tsn in p.tsns}
    problems = ["new DATA behind SHUTDOWN"] if later - known else []
    flights = {round(p.time, 2) for p in ours if p.has_data}
    if len(flights) < 2:
        problems.append("all left in one flight: nothing was queued")
    return problems


def _given_up(outcome: Outcome) -> list[str]:
    problems = _ended(outcome)
    sent, received = outcome.connecting["sent"]["messages"], outcome.listening["received"]["messages"]
    if not 0 < received <= sent:
        problems.append(f"{received} of {sent} messages were received")
    own = [p for p in outcome.packets if p.connecting]
    skipped = wire.count(own, wire.FORWARD_TSN) + wire.count(own, wire.I_FORWARD_TSN)
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
    problems = _gone_side("connect", outcome.connecting)
    problems += _same(outcome.connecting, outcome.listening, "digest", "to the listening side")
    if outcome.connecting["graceful"] != 1:
        problems.append("the connecting side did not end gracefully")
    up = [p for p in outcome.packets if not p.connecting and wire.COOKIE_ACK in p.chunks]
    begun = [p for p in outcome.packets if p.connecting and wire.INIT in p.chunks]
    if not up or not any(p.number > up[0].number for p in begun):
        problems.append("no INIT while there was an association: the case has shown nothing")
    elif up[-1].number < begun[-1].number:
        problems.append("the second association did not come up")
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


NARROW = 1252
"""The longest SCTP packet on a path whose MTU is 1,280, in UDP on IPv4."""
BASE = 1172
"""The longest SCTP packet on a path whose MTU is 1,200, with which our stack begins (`mtu_base`)."""


def answers_probes(outcome: Outcome) -> bool:
    """Whether the peer has ever answered a probe that reached it: HEARTBEAT with PAD behind it."""
    ours = outcome.ours == "connect"
    first = next(
        (p.number for p in outcome.packets if p.connecting == ours and p.is_probe and p.arrived), None
    )
    answers = [p for p in outcome.packets if p.connecting != ours and wire.HEARTBEAT_ACK in p.chunks]
    return first is not None and any(p.number > first for p in answers)


def _longest_data(packets: list[Packet]) -> int:
    return max((p.length for p in packets if p.has_data), default=0)


def _data_fits(outcome: Outcome) -> list[str]:
    """Our stack risked no data, and found and used the MTU of the path, where the peer answers probes."""
    if outcome.ours != "connect":
        return []
    own = [p for p in outcome.packets if p.connecting]
    longest = _longest_data(own)
    problems = [f"a DATA chunk in a packet of {longest} bytes"] if longest > NARROW else []
    if not any(p.is_probe for p in own):
        problems.append("nothing was probed: the case has shown nothing")
    elif answers_probes(outcome) and longest <= BASE:
        problems.append(f"the path carries {NARROW} bytes, and DATA came in {longest} at most")
    return problems


def _cut_found(outcome: Outcome) -> list[str]:
    """Data was lost as it was too long; and of ours, soon nothing was too long any more."""
    data = [p for p in outcome.packets if p.connecting and p.has_data]
    lost = [p for p in data if p.fate.startswith("dropped: too long")]
    if not lost:
        return ["no data was too long for the path: the case has shown nothing"]
    if outcome.ours != "connect":
        return []
    problems = []
    if lost[-1].time - lost[0].time > 15:
        problems.append(f"data was too long for {lost[-1].time - lost[0].time:.1f} s")
    if not any(p.arrived and not p.fate for p in data if p.number > lost[-1].number):
        problems.append("no data followed what was too long")
    return problems


def _old_fragments_only(outcome: Outcome) -> list[str]:
    """Our IP fragments carried only chunks that had been cut for the wide path (RFC 9260, 6.9)."""
    if outcome.ours != "connect":
        return []
    problems, lost = [], set()
    cut = [p for p in outcome.packets if p.fate.startswith(("dropped: too long", "fragmented"))]
    for p in cut:
        if p.fate.startswith("dropped"):
            lost.update(p.tsns)
        elif not p.connecting or len(p.tsns) != 1 or p.tsns[0] not in lost:
            problems.append(
                f"packet {p.number} may be fragmented, and is no chunk that was lost as it was too long"
            )
    if not any(p.fate.startswith("fragmented") for p in cut):
        problems.append("nothing was fragmented: the case has shown nothing")
    return problems[:3]


def _something(what: str) -> Check:
    """The relay has treated some packets as the case asks (`what`: `dropped`, `corrupted`, `held_back`)."""
    return lambda outcome: (
        []
        if outcome.relay.get(what)
        else [f"nothing was {what.replace('_', ' ')}: the case has shown nothing"]
    )


def _moved(outcome: Outcome) -> list[str]:
    """The listening side goes on talking to the port that the other side has now."""
    at = outcome.relay.get("rebound")
    if not at:
        return ["the port never changed: the case has shown nothing"]
    if not any(not p.connecting and p.number > at and p.acks for p in outcome.packets):
        return ["the listening side sent nothing to the new port"]
    return []


def _far(outcome: Outcome) -> list[str]:
    """Each way takes 375 ms."""
    first = {kind: next((p.time for p in outcome.packets if kind in p.chunks), 0.0) for kind in (1, 10)}
    took = first[wire.COOKIE_ECHO] - first[wire.INIT]
    return [] if took >= 0.75 else [f"COOKIE ECHO came {took:.3f} s after INIT: the path was not long"]


def _refused(outcome: Outcome) -> list[str]:
    """Ours has offered subflows, the peer has not taken them up, and ours has sent nothing that needs them."""
    own = [p for p in outcome.packets if p.connecting == (outcome.ours == "connect")]
    theirs = [p for p in outcome.packets if p.connecting != (outcome.ours == "connect")]
    problems = []
    # A listener answers with the extensions that both sides have.
    if outcome.ours == "connect" and not any(
        wire.INIT in p.chunks and wire.SUBFLOWS in p.parameters for p in own
    ):
        problems.append("no INIT of ours offers subflows: the case has shown nothing")
    if any(wire.SUBFLOWS in p.parameters for p in theirs if {wire.INIT, wire.INIT_ACK} & set(p.chunks)):
        problems.append("the peer has taken the offer up")
    strange = {kind for p in own for kind in p.chunks} & wire.SUBFLOW_CHUNKS
    return problems + ([f"chunks of type {sorted(strange)} in the capture"] if strange else [])


def rate(outcome: Outcome) -> float:
    """Mbit/s of user data, as the receiving side saw it."""
    listening = outcome.listening
    return listening["received"]["bytes"] * 8e3 / max(listening["elapsed_ns"], 1)


TRANSFER = ("--send", "500", "--size", "4000", "--streams", "4")
BACK = ("--send", "200", "--size", "1000")
END = ("--end", "shutdown")
# A window of 64 KiB at a round trip of 100 ms carries 640 kB in a second, so the size of a transfer sets its duration.
NARROW_WINDOW = ("--window", "65536")

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
        _with(transferred(), _something("dropped")),
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
        _with(transferred("sum"), _without_order, _something("dropped")),
        connect=("--send", "1000", "--size", "1500", "--unordered", *END),
        relay=("--drop", "0.01"),
        deadline=60,
        wire=True,
    ),
    Case(
        "fragments",
        "20 messages of 256 KiB",
        _with(transferred(), _fragmented),
        connect=("--send", "20", "--size", "262144", "--expect", "3", *END),
        listen=("--send", "3", "--size", "262144"),
        wire=True,
        quick=True,
    ),
    Case(
        "shutdown",
        "shutdown right behind the last message: all that is queued arrives",
        _with(transferred(), _queued),
        connect=("--send", "300", "--size", "1000", "--at-once", *END),
        relay=("--delay", "20"),
        wire=True,
        own_end=True,
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
        _with(transferred(), began_anew),
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
        # A timer of 60 s may have to expire twice.
        relay=("--drop", "0.3"),
        deadline=300,
        times=50,
    ),
    Case(
        "corruption",
        "2 MB, a bit is turned in 2 % of the packets",
        _with(transferred(), _something("corrupted")),
        connect=(*TRANSFER, "--expect", "200", *END),
        listen=BACK,
        relay=("--corrupt", "0.02"),
        deadline=90,
        wire=True,
    ),
    Case(
        "reordering",
        "2 MB, 10 % of the packets are held back for 5 ms",
        _with(_all_there, _something("held_back")),
        connect=(*TRANSFER, "--expect", "200", *END),
        listen=BACK,
        relay=("--reorder", "0.1"),
        deadline=60,
    ),
    Case(
        "long-path",
        "800 kB at a round trip of 750 ms",
        _with(transferred(), _far),
        connect=("--send", "200", "--size", "4000", *END),
        relay=("--delay", "375"),
        deadline=90,
        wire=True,
    ),
    Case(
        "blackhole",
        "20 MB at a round trip of 40 ms, window 64 KiB; 5 s on, 2 s off",
        _with(transferred(), _something("dropped")),
        connect=("--send", "5000", "--size", "4000", *END),
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
        wire=True,
        restart=True,
    ),
    Case(
        "udp-port",
        "the connecting side comes from another UDP port after its 40th packet (RFC 6951, 5.4)",
        _with(transferred(), _moved),
        connect=(*TRANSFER, "--expect", "200", *END),
        listen=BACK,
        relay=("--rebind", "40"),
        deadline=60,
        wire=True,
    ),
    Case(
        "small-path",
        "packets of up to 1,472 bytes are allowed; the path silently loses those over 1,252 (IP: 1,280)",
        _with(transferred(), _data_fits),
        connect=("--send", "2500", "--size", "4000", *END),
        listen=NARROW_WINDOW,
        both=("--mtu", "1472"),
        relay=("--delay", "50", "--longest", str(NARROW)),
        deadline=90,
        wire=True,
    ),
    Case(
        "path-cut",
        "after 4 s a path that carried 1,472 bytes loses those over 1,252, silently; no message is longer",
        _with(transferred(), _cut_found),
        connect=("--send", "20000", "--size", "300", *END),
        listen=NARROW_WINDOW,
        both=("--mtu", "1472"),
        relay=("--delay", "50", "--longest", str(NARROW), "--longest-from", "4000"),
        deadline=90,
        wire=True,
    ),
    Case(
        "path-cut-old",
        "the same with messages of 4,000 bytes: chunks that were cut for the wide path come as IP fragments (RFC 9260, 6.9)",
        _with(transferred(), _cut_found, _old_fragments_only),
        connect=("--send", "2000", "--size", "4000", *END),
        listen=NARROW_WINDOW,
        both=("--mtu", "1472"),
        relay=("--delay", "50", "--longest", str(NARROW), "--longest-from", "4000", "--fragments"),
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
        _with(transferred(), _refused),
        connect=("--send", "100", "--size", "1000", "--expect", "100", *END),
        listen=("--send", "100", "--size", "1000"),
        ours=("--set", "subflow_level=1"),
        wire=True,
    ),
    Case(
        "goodput",
        "20 MB as fast as it goes",
        transferred(),
        connect=("--send", "5000", "--size", "4000", *END),
        deadline=120,
        capture=False,
        measured=True,
    ),
    Case(
        "many",
        "10,000 associations, one after the other",
        transferred(times=10_000),
        connect=("--associations", "10000", "--send", "1", "--size", "100", *END),
        listen=("--associations", "10000"),
        deadline=600,
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
