"""Two endpoints with one association between them, packet by packet: to look at the protocol."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from . import _core, running
from .units import nanoseconds

SIDES = ("a", "b")
SECOND = ("ACK", "ECHO", "COMPLETE", "TSN")
"""Second words of names of chunks; other words behind the first are flags and fields."""


@dataclass(frozen=True)
class Message:
    """A received message."""

    data: bytes = field(repr=False)
    stream: int
    """Stream id."""
    ppid: int
    """Payload protocol identifier."""
    unordered: bool
    time: float
    """The time at which its last chunk came, seconds."""

    def __len__(self) -> int:
        """Bytes of it."""
        return len(self.data)


@dataclass(frozen=True)
class Packet:
    """A sent packet."""

    number: int
    """The number of the packet, from 0; both sides are counted together."""
    time: float
    """The time at which it left, seconds."""
    source: str
    """`"a"` or `"b"`."""
    size: int
    """Bytes, with an IP header of 20."""
    text: str
    """The chunks of the packet with their fields."""
    lost: bool

    @property
    def chunks(self) -> list[str]:
        """Each chunk in words: `DATA ...`, `SACK ...`."""
        _, _, rest = self.text.partition("tag=")
        return [chunk.strip() for chunk in rest.partition(" ")[2].split("; ")]

    @property
    def kinds(self) -> list[str]:
        """Types of its chunks in order: `["COOKIE ECHO", "DATA"]`."""
        found = []
        for chunk in self.chunks:
            first, _, rest = chunk.partition(" ")
            second = rest.split(" ")[0]
            found.append(f"{first} {second}" if second in SECOND else first)
        return found

    def __str__(self) -> str:
        """A line of a log."""
        arrow = "->" if self.source == "a" else "<-"
        return f"{self.time:9.6f} a {arrow} b  {'; '.join(self.chunks)}{'  (lost)' if self.lost else ''}"


@dataclass(frozen=True)
class Event:
    """An event that the user of an endpoint was told."""

    time: float
    """Seconds."""
    text: str
    """The name of the event, a colon, and its details in words: `"Established: 10 streams out, 10 in"`."""

    def __str__(self) -> str:
        """A line of a log."""
        return f"{self.time:9.6f} {self.text}"


class Association:
    """One side of the association."""

    def __init__(self, network: "Network", side: int):
        self._network = network
        self._side = side

    @property
    def name(self) -> str:
        """`"a"`, which has asked for the association, or `"b"`."""
        return SIDES[self._side]

    def send(
        self,
        data: bytes,
        stream: int = 0,
        *,
        ppid: int = 0,
        unordered: bool = False,
        lifetime: str | float | None = None,
        retransmissions: int | None = None,
        priority: int | None = None,
    ) -> int:
        """Hands in a message; it leaves when time passes (`Network.run`). Returns its number.

        `lifetime` (`"100 ms"`, or seconds), `retransmissions` or `priority` says when it is given up (RFC 7496). Raises ValueError
        when it is not taken: the buffer is full, there is no such stream.
        """
        given = {
            "lifetime": None if lifetime is None else nanoseconds(lifetime),
            "retransmissions": retransmissions,
            "priority": priority,
        }
        chosen = [(policy, value) for policy, value in given.items() if value is not None]
        if len(chosen) > 1:
            raise ValueError(f"{' and '.join(policy for policy, _ in chosen)}: a message has one policy")
        policy = chosen[0] if chosen else None
        return self._pair.send(self._side, data, stream, ppid, unordered, policy)

    def receive(self) -> Message | None:
        """The next message that has arrived, or None."""
        found = self._pair.receive(self._side)
        return None if found is None else Message(*found[:4], found[4] / 1e9)

    def received(self) -> list[Message]:
        """Every message that has arrived and was not read yet."""
        found = []
        while (message := self.receive()) is not None:
            found.append(message)
        return found

    def shutdown(self) -> None:
        """Ends the association when everything is delivered."""
        self._pair.shutdown(self._side)

    def abort(self, reason: bytes = b"") -> None:
        """Ends it at once."""
        self._pair.abort(self._side, reason)

    def set(self, key: str, value: Any) -> None:
        """Changes an option of the living association: `set("heartbeat_interval", "5 s")`."""
        self._pair.set(self._side, key, _text(value))

    def get(self, key: str) -> str:
        """An option as it is; `anabranch.options()` lists them."""
        found = self._pair.get(self._side, key)
        if found is None:
            raise KeyError(key)
        return found

    @property
    def state(self) -> str | None:
        """`"Established"`, ...; None where there is no association yet."""
        return self._pair.state(self._side)

    @property
    def events(self) -> list[Event]:
        """Everything that the user was told."""
        return [Event(time / 1e9, text) for time, text in self._pair.events(self._side)]

    @property
    def statistics(self) -> dict[str, int | None]:
        """Every counter and gauge by name; times are in nanoseconds (`_ns`), None is one without a sample."""
        return dict(self._pair.statistics(self._side))

    @property
    def cwnd(self) -> int:
        """Congestion window, bytes."""
        return self._pair.window(self._side)[0]

    @property
    def flight(self) -> int:
        """Sent and not acknowledged, bytes."""
        return self._pair.window(self._side)[1]

    @property
    def peer_window(self) -> int:
        """Room in the peer's receive buffer, bytes."""
        return self._pair.window(self._side)[2]

    @property
    def srtt(self) -> float | None:
        """Smoothed round-trip time, seconds; None before the first sample."""
        found = self._pair.window(self._side)[3]
        return None if found is None else found / 1e9

    @property
    def _pair(self) -> _core.Pair:
        return self._network._pair

    def __repr__(self) -> str:
        """Its name and state."""
        return f"<anabranch.Association {self.name}: {self.state or 'none yet'}>"


class Network:
    """Two endpoints and the wire between them, in virtual time."""

    def __init__(self, pair: _core.Pair, lose: Callable[[Packet], bool] | None):
        self._pair = pair
        self.a = Association(self, 0)
        """The side that has asked for the association."""
        self.b = Association(self, 1)
        """The side that listens."""
        self.lose = lose
        """Decides for each packet that leaves whether the wire loses it; None loses none."""

    @property
    def now(self) -> float:
        """Virtual time, seconds."""
        return self._pair.now_ns / 1e9

    def run(self, time: str | float) -> "Network":
        """Lets so much time pass (`"100 ms"`, or seconds): packets travel, timers expire."""
        lose = self.lose
        asked = None if lose is None else lambda *each: lose(_packet((*each, False)))
        self._pair.run(self._pair.now_ns + nanoseconds(time), asked)
        return self

    @property
    def packets(self) -> list[Packet]:
        """Every packet so far."""
        return [_packet(each) for each in self._pair.packets(0)]

    def log(self, since: int = 0) -> str:
        """The packets from a number on, a line each."""
        return "\n".join(str(_packet(each)) for each in self._pair.packets(since))


def connect(
    a: str | Mapping[str, Any] = "rfc9260",
    b: str | Mapping[str, Any] | None = None,
    *,
    delay: str | float = "10 ms",
    seed: int = 1,
    lose: Callable[[Packet], bool] | None = None,
    wait: str | float = "1 s",
) -> Network:
    """Two endpoints with one association between them.

    `a` and `b`: a profile (`anabranch.profiles()`), or options as a dict, in which `profile` names the profile:
    `{"profile": "linux-6.1", "mtu": 1280}`. `b` is like `a` where it is not given.
    `delay`: of the wire in one direction. The wire has no rate: packets take nothing but the delay.
    `lose`: which packets are lost: `lambda packet: packet.number == 7`.
    `wait`: how much time passes before it returns, enough for the handshake; `0` shows it from the start.
    """
    pair = _core.Pair(_profile(a), _profile(a if b is None else b), nanoseconds(delay), seed)
    network = Network(pair, lose)
    network.run(wait)
    return network


def _profile(given: str | Mapping[str, Any]) -> tuple[str, list[tuple[str, str]]]:
    if isinstance(given, str):
        if ":" in given:
            raise ValueError(
                f"{given}: an address and no profile; anabranch.aio.connect begins associations on sockets"
            )
        return given, []
    rest = {key: _text(value) for key, value in given.items() if key != "profile"}
    return str(given.get("profile", "rfc9260")), list(rest.items())


def _text(value: Any) -> str:
    return value if isinstance(value, str) else running._toml(value)


def _packet(each: tuple[int, int, int, int, str, bool]) -> Packet:
    number, time, side, size, text, lost = each
    return Packet(number, time / 1e9, SIDES[side], size, text, lost)
