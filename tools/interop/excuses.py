"""Known deviations of peers from the expectations of a case. An excuse counts only when the capture shows that very thing: the case is
played, and a cell that fails in another way has failed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from . import wire
from .cases import BASE, Outcome, answers_probes, began_anew
from .wire import Packet


@dataclass(frozen=True)
class Excuse:
    """A known deviation of a peer."""

    reason: str
    shows: Callable[[Outcome], bool]
    """Whether an outcome that is a failure shows it."""
    deadline: float = 40.0
    """How long it is played at most, seconds: a stack that waits for something that never comes has shown it by then."""


def _of_peer(outcome: Outcome) -> list[Packet]:
    return [p for p in outcome.packets if p.connecting == (outcome.ours == "listen")]


def _of_us(outcome: Outcome) -> list[Packet]:
    return [p for p in outcome.packets if p.connecting == (outcome.ours == "connect")]


def _is_clean(outcome: Outcome) -> bool:
    """Ours has neither given up by itself nor aborted."""
    return not any(wire.ABORT in p.chunks for p in _of_us(outcome))


def _ends(packets: list[Packet]) -> set[int]:
    """TSNs that end a message."""
    return {tsn for p in packets for tsn, end in zip(p.tsns, p.ends, strict=False) if end}


def queue_lost(outcome: Outcome) -> bool:
    """The peer's SHUTDOWN left before all its messages: our stack has all that left before the SHUTDOWN, and that is not all."""
    theirs = _of_peer(outcome)
    first = next((p.number for p in theirs if wire.SHUTDOWN in p.chunks), None)
    if first is None:
        return False
    left = _ends([p for p in theirs if p.number <= first])
    got, sent = outcome.us["received"]["messages"], outcome.peer["sent"]["messages"]
    return got < sent and len(left) < sent and got >= len(left) and _is_clean(outcome)


def reset_then_queue_lost(outcome: Outcome) -> bool:
    """The streams began anew, and then `queue_lost` holds."""
    return not began_anew(outcome) and queue_lost(outcome)


def stays_at_old_port(outcome: Outcome) -> bool:
    """The peer sent no SACK to the new port of our stack, though our stack went on."""
    at = outcome.relay.get("rebound")
    if not at:
        return False
    later = [p for p in outcome.packets if p.number > at]
    return sum(p.connecting for p in later) >= 3 and not any(p.acks for p in later if not p.connecting)


def ignores_acks_of_shutdown(outcome: Outcome) -> bool:
    """Behind our SHUTDOWN it repeats data that was acknowledged, twice at least and more than half a second later."""
    acked: tuple[int, float] | None = None
    repeats = 0
    shut = False
    for p in outcome.packets:
        if p.connecting == (outcome.ours == "connect"):
            shut |= wire.SHUTDOWN in p.chunks and p.arrived
            if p.arrived and shut and p.acks:
                acked = acked or (p.acks[-1], p.time)
        elif acked and p.time > acked[1] + 0.5:
            repeats += any(not wire.behind(tsn, acked[0]) for tsn in p.tsns)
    return repeats >= 2


def takes_no_forward_tsn(outcome: Outcome) -> bool:
    """Three FORWARD-TSN arrived that skip more than it has acknowledged at the end."""
    acks = [ack for p in _of_peer(outcome) for ack in p.acks]
    skips = [skip for p in _of_us(outcome) if p.arrived for skip in p.skips]
    return bool(acks) and sum(wire.behind(skip, acks[-1]) for skip in skips) >= 3


def acknowledged_but_not_read(outcome: Outcome) -> bool:
    """The peer has acknowledged all data, has reset its own streams in turn, and its user has read less."""
    theirs = _of_peer(outcome)
    acks = {ack for p in theirs for ack in p.acks}
    sent = [tsn for p in _of_us(outcome) for tsn in p.tsns]
    if not sent or not any(wire.RE_CONFIG in p.chunks for p in theirs):
        return False
    last = max(sent, key=lambda tsn: (tsn - sent[0] + (1 << 31)) % (1 << 32))
    return last in acks and outcome.peer["received"]["messages"] < outcome.us["sent"]["messages"]


def sends_low_fsns(outcome: Outcome) -> bool:
    """A fragment that begins no message has the number 0."""
    return any(0 in p.parts for p in _of_peer(outcome))


def reads_no_fragments(outcome: Outcome) -> bool:
    """The peer has acknowledged whole messages of several I-DATA chunks, and its user has received fewer."""
    acks = [ack for p in _of_peer(outcome) for ack in p.acks]
    own = [p for p in _of_us(outcome) if wire.I_DATA in p.chunks]
    parts = any(not end for p in own for end in p.ends)
    whole = [tsn for tsn in _ends(own) if acks and not wire.behind(tsn, acks[-1])]
    return parts and len(whole) > outcome.peer["received"]["messages"]


def only_the_end_is_missing(outcome: Outcome) -> bool:
    """Ours has acknowledged or been told to skip all that it has sent, messages were given up, and it has not begun to shut down."""
    theirs = _of_peer(outcome)
    sent = [tsn for p in theirs for tsn in p.tsns]
    acks = {ack for p in _of_us(outcome) for ack in p.acks}
    if not sent or not any(p.skips for p in theirs) or any(wire.SHUTDOWN in p.chunks for p in theirs):
        return False
    last = max(sent, key=lambda tsn: (tsn - sent[0] + (1 << 31)) % (1 << 32))
    return last in acks and outcome.us["received"]["messages"] > 0


def repeats_what_is_too_long(outcome: Outcome) -> bool:
    """The peer has sent some data again in packets as long as the lost ones, and they never arrived."""
    lost: dict[int, int] = {}
    came = set()
    for p in _of_peer(outcome):
        for tsn in p.tsns:
            if p.fate.startswith("dropped: too long"):
                lost[tsn] = lost.get(tsn, 0) + 1
            elif p.arrived:
                came.add(tsn)
    return any(times >= 3 and tsn not in came for tsn, times in lost.items())


def bundles_nothing(outcome: Outcome) -> bool:
    """Each chunk of the peer has a packet of its own, and none was too long."""
    theirs = [p for p in _of_peer(outcome) if p.tsns]
    return bool(theirs) and all(len(p.tsns) == 1 and not p.fate.startswith("dropped: too") for p in theirs)


def throws_probes_away(outcome: Outcome) -> bool:
    """Probes have reached the peer and it has answered none of them, so our stack never sent data in larger packets."""
    own = _of_us(outcome)
    return (
        any(p.is_probe and p.arrived for p in own)
        and not answers_probes(outcome)
        and max((p.length for p in own if p.has_data), default=0) <= BASE
    )


def answers_no_init(outcome: Outcome) -> bool:
    """Three INITs have reached the peer after the association was up, and none was answered."""
    up = next((p.number for p in outcome.packets if wire.COOKIE_ACK in p.chunks), None)
    if up is None:
        return False
    later = [p for p in outcome.packets if p.number > up]
    begun = sum(wire.INIT in p.chunks and p.arrived for p in later if p.connecting)
    return begun >= 3 and not any(wire.INIT_ACK in p.chunks for p in later)


def knows_no_stale_cookie(outcome: Outcome) -> bool:
    """The peer was told that its cookie is stale, and never sent another INIT."""
    told = next((p.number for p in _of_us(outcome) if wire.ERROR in p.chunks and p.arrived), None)
    if told is None:
        return False
    return not any(wire.INIT in p.chunks and p.number > told for p in _of_peer(outcome))


def _lists(packets: list[Packet], chunk: int) -> bool:
    return any(chunk in p.supported for p in packets)


def never_lists_i_data(outcome: Outcome) -> bool:
    """The peer's INIT or INIT ACK does not list I-DATA, and it has sent DATA."""
    theirs = _of_peer(outcome)
    begun = any({wire.INIT, wire.INIT_ACK} & set(p.chunks) for p in theirs)
    return begun and not _lists(theirs, wire.I_DATA) and wire.count(theirs, wire.DATA) > 0


def never_offers_zero_checksum(outcome: Outcome) -> bool:
    """The peer's INIT or INIT ACK has no parameter Zero Checksum Acceptable."""
    theirs = [p for p in _of_peer(outcome) if {wire.INIT, wire.INIT_ACK} & set(p.chunks)]
    return bool(theirs) and not any(wire.ZERO_CHECKSUM in p.parameters for p in theirs)


QUEUE_LOST = Excuse(
    "its shutdown waits for what is in flight only: SHUTDOWN leaves while messages are queued, which are lost",
    queue_lost,
)
FIXED_PORT = Excuse("sends to the UDP port that the association began with", stays_at_old_port)
FLUSH_UNKNOWN = Excuse(
    "the streams begin anew, but then its count of what is buffered is wrong: the driver cannot wait for what its shutdown would lose",
    reset_then_queue_lost,
)
NO_PMTUD = Excuse(
    "has no path MTU discovery: it goes on with the size that it was given", repeats_what_is_too_long
)
NO_BUNDLES = Excuse("each chunk has a packet of its own: nothing is too long", bundles_nothing)
NO_PAD = Excuse(
    "throws packets with a PAD chunk away: probes are not answered, and ours stays at packets that every path carries",
    throws_probes_away,
)
NO_RESTART = Excuse("answers no INIT while it has an association: a peer cannot begin anew", answers_no_init)
NO_STALE_COOKIE = Excuse(
    "the error Stale Cookie ends its attempt: it begins no other (RFC 9260, 5.2.6)",
    knows_no_stale_cookie,
    deadline=300,
)
NO_IDATA = Excuse("has no RFC 8260", never_lists_i_data)
NO_ZERO = Excuse("has no RFC 9653", never_offers_zero_checksum)
DEAF_TO_SHUTDOWN = Excuse(
    "in SHUTDOWN-RECEIVED it takes neither SACK nor the Cumulative TSN Ack of SHUTDOWN",
    ignores_acks_of_shutdown,
)
DEAF_TO_FORWARD_TSN = Excuse(
    "when FORWARD-TSN has skipped a message it acknowledges nothing more", takes_no_forward_tsn
)
UNREAD_LOST = Excuse(
    "once the peer has reset a stream, its read answers nothing: what is unread is lost",
    acknowledged_but_not_read,
)
FSN = "its Fragment Sequence Numbers are one too low: the second fragment has 0 (RFC 8260, 2.1: 1)"
FSN_SENT = Excuse(f"{FSN}, and ours aborts", sends_low_fsns, deadline=20)
FSN_WANTED = Excuse(
    f"{FSN}, so it acknowledges fragments of others and never gives them to its user",
    reads_no_fragments,
    deadline=20,
)
NO_END = Excuse(
    "never begins a shutdown: nobody knows when the last message was given up", only_the_end_is_missing
)
