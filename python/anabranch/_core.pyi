"""The simulator, compiled from crates/py."""

from collections.abc import Callable, Sequence
from typing import Any, final

__version__: str

@final
class Outcome:
    """The result of a run."""

    @property
    def summary(self) -> str:
        """The summary as JSON, as `anabranch simulate --json` prints it for one seed."""

    @property
    def columns(self) -> list[tuple[str, str, int, bytes, bytes | None, list[str] | None]]:
        """The trace, column by column: name, type, length, bytes, validity bits or None, names or None."""

    @property
    def pcapng(self) -> bytes | None:
        """The capture as a pcapng file, if the scenario records one."""

@final
class Watch:
    """Ends runs from another thread, and tells how far they are."""

    def __new__(cls) -> Watch: ...
    def stop(self) -> None:
        """Every run that has this watch ends within a moment, with InterruptedError."""

    @property
    def now_ns(self) -> int:
        """Virtual time of the run that looked last, ns."""

@final
class Pair:
    """Two endpoints, 0 and 1. 0 has asked for the association."""

    def __new__(
        cls,
        a: tuple[str, Sequence[tuple[str, str]]],
        b: tuple[str, Sequence[tuple[str, str]]],
        delay_ns: int,
        seed: int,
    ) -> Pair: ...
    @property
    def now_ns(self) -> int:
        """Virtual time, ns."""

    def run(self, until_ns: int, lose: Callable[..., bool] | None = None) -> None:
        """Let time pass up to `until_ns`; `lose` gets number, time, side, size and text of each packet."""

    def send(
        self,
        side: int,
        payload: bytes,
        stream: int,
        ppid: int,
        unordered: bool,
        reliability: tuple[str, int] | None,
    ) -> int:
        """Hand in a message."""

    def receive(self, side: int) -> tuple[bytes, int, int, bool, int] | None:
        """The next message: payload, stream, ppid, unordered, time in ns."""

    def shutdown(self, side: int) -> None:
        """End the association in an orderly way."""

    def abort(self, side: int, reason: bytes) -> None:
        """End it at once."""

    def set(self, side: int, key: str, value: str) -> None:
        """Change an option of the living association."""

    def get(self, side: int, key: str) -> str | None:
        """An option as it is."""

    def state(self, side: int) -> str | None:
        """The state, or None where there is no association yet."""

    def statistics(self, side: int) -> list[tuple[str, int | None]]:
        """Every counter and gauge by name."""

    def window(self, side: int) -> tuple[int, int, int, int | None]:
        """Window, bytes in flight, the peer's window, round trip in ns."""

    def packets(self, first: int) -> list[tuple[int, int, int, int, str, bool]]:
        """Packets from a number on: number, time in ns, side, size, text, lost."""

    def events(self, side: int) -> list[tuple[int, str]]:
        """The events that the user of a side was told, with their times."""

_Address = tuple[str, int, int]
"""IP address, UDP port, and the interface that a link-local address is of (0: none)."""

@final
class Endpoint:
    """An SCTP endpoint without I/O: packets, the time and commands go in; packets, events and the time to wake go out."""

    def __new__(
        cls, local: _Address, port: int, seed: bytes, max_associations: int, largest: int
    ) -> Endpoint: ...
    def listen(self, profile: str | None, options: Sequence[tuple[str, str]]) -> None:
        """Let peers in."""

    def stop_listening(self) -> None:
        """Let nobody in any more."""

    def connect(
        self,
        now_ns: int,
        remote: _Address,
        port: int,
        profile: str | None,
        options: Sequence[tuple[str, str]],
    ) -> int:
        """Begin an association, and answer its number."""

    def handle_datagram(
        self, now_ns: int, source: _Address, destination: _Address, octet: int, packet: bytes
    ) -> None:
        """Take a packet."""

    def handle_icmp(self, now_ns: int, kind: str, value: int, destination: _Address, quoted: bytes) -> None:
        """Take what ICMP says."""

    def handle_timeout(self, now_ns: int) -> None:
        """Run every timer that is due."""

    def poll_timeout(self) -> int | None:
        """When `handle_timeout` wants to be called, ns."""

    def poll_transmit(self, now_ns: int) -> tuple[bytes, _Address, _Address | None, int, bool] | None:
        """The next packet: bytes, destination, source, octet, whether nobody may fragment it."""

    def poll_event(self) -> tuple[int, str, str, dict[str, Any]] | None:
        """The next event: association, name, in words, values."""

    def send(
        self,
        now_ns: int,
        association: int,
        payload: bytes,
        stream: int,
        ppid: int,
        unordered: bool,
        immediate: bool,
        policy: tuple[str, int] | None,
        dscp: int | None,
    ) -> int:
        """Hand in a message; BlockingIOError where there is no room."""

    def receive(self, association: int, stream: int | None) -> tuple[bytes, int, int, bool, int] | None:
        """The next message: payload, stream, ppid, unordered, time in ns."""

    def shutdown(self, now_ns: int, association: int, patience_ns: int | None) -> None:
        """End the association in an orderly way."""

    def abort(self, now_ns: int, association: int, reason: bytes) -> None:
        """End it at once."""

    def release(self, association: int) -> bool:
        """Forget a closed association."""

    def set_reliability(self, association: int, stream: int | None, policy: str, value: int) -> None:
        """Say how reliable messages are."""

    def set_stream_value(self, association: int, stream: int, value: int) -> None:
        """Set the priority or weight of a stream."""

    def tell_fates(self, association: int, on: bool) -> None:
        """Whether the fate of each message is told."""

    def tell_when_dry(self, now_ns: int, association: int) -> None:
        """Have SenderDry told each time that nothing is left to be sent or acknowledged."""

    def reset_streams(self, now_ns: int, association: int, direction: str, streams: Sequence[int]) -> None:
        """Begin streams anew."""

    def add_streams(self, now_ns: int, association: int, outgoing: int, incoming: int) -> None:
        """Ask for more streams."""

    def set(self, now_ns: int, association: int, key: str, value: str) -> None:
        """Change an option of the living association."""

    def get(self, association: int, key: str) -> str | None:
        """An option as it is."""

    def state(self, association: int) -> str | None:
        """The state, or None when the association is gone."""

    def statistics(self, association: int) -> list[tuple[str, int | None]]:
        """Every counter and gauge by name."""

    def buffered(self, association: int, stream: int | None) -> int:
        """Bytes accepted and not acknowledged."""

    def remote(self, association: int) -> _Address | None:
        """Where the peer is."""

    def peer_port(self, association: int) -> int:
        """The peer's SCTP port."""

    def associations(self) -> int:
        """How many associations are not closed."""

def simulate(
    scenario: str,
    seed: int,
    *,
    overrides: Sequence[tuple[str, str]] = ...,
    trace: bool = False,
    pcap: bool = False,
    origin: str = "scenario",
    folder: str | None = None,
    watch: Watch | None = None,
) -> Outcome:
    """Run a scenario, the text of a TOML file, with one seed."""

def check(
    scenario: str,
    *,
    overrides: Sequence[tuple[str, str]] = ...,
    origin: str = "scenario",
    folder: str | None = None,
) -> None:
    """Check a scenario without running it."""

def profiles() -> list[str]:
    """Names of the profiles of SCTP."""

def options(profile: str) -> list[tuple[str, str]]:
    """Every option of a profile with its value."""

def watched() -> bool:
    """Whether every association is watched for the formal properties: one that is broken ends the run with an exception."""
