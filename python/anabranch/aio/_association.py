"""An association and its streams, for tasks that wait."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self, TypedDict, Unpack

from ..units import nanoseconds
from ._driver import Driver

_EVENTS = 4096
"""The most events that are kept until the user reads them."""

_FREQUENT = ("Readable", "Writable")
"""Events that `receive` and `send` handle themselves."""


class SendOptions(TypedDict, total=False):
    """Options of `Association.send` beside payload and stream."""

    ppid: int
    unordered: bool
    immediate: bool
    lifetime: str | float | None
    retransmissions: int | None
    priority: int | None
    dscp: int | None


_LAST_STREAM = 65_535
_NO_ROOM = 4
"""Error cause "Out of Resource" (RFC 9260, 3.3.10.4)."""


class ClosedError(ConnectionError):
    """The association has ended, and not because both sides wanted it; says why."""


def _refusal(reason: str, causes: Sequence[int] | None, said: str | None) -> str:
    """Returns why there is no association, with advice; `reason` where the peer has not aborted."""
    if causes is None:
        return reason
    if said is not None:
        return f"the peer refuses: {said}; ask who runs it"
    if _NO_ROOM in causes:
        return "the peer is busy, and has no room for another association: try again later"
    if not causes:
        return (
            "SCTP answers there, and nobody listens at that SCTP port: check the port, or start the listener"
        )
    return reason


@dataclass(frozen=True)
class Message:
    """A received message."""

    data: bytes = field(repr=False)
    stream: int
    """Stream id."""
    ppid: int
    """Payload protocol identifier."""
    unordered: bool

    def __len__(self) -> int:
        """Bytes of it."""
        return len(self.data)


@dataclass(frozen=True)
class Event:
    """An event of an association."""

    kind: str
    """`"Delivered"`, `"PathDown"`, `"StreamsReset"`, ...: the names of docs/reference/api.md."""
    text: str
    """In words."""
    values: dict[str, Any]
    """The values of the event by name: `{"message": 7}`."""

    def __str__(self) -> str:
        """In words."""
        return self.text


class _Waiters:
    """Tasks that wait until something may have changed."""

    def __init__(self) -> None:
        self._futures: list[asyncio.Future[None]] = []

    async def wait(self) -> None:
        future = asyncio.get_running_loop().create_future()
        self._futures.append(future)
        try:
            await future
        finally:
            if future in self._futures:
                self._futures.remove(future)

    def wake(self) -> None:
        futures, self._futures = self._futures, []
        for future in futures:
            if not future.done():
                future.set_result(None)


class Association:
    """An association with a peer.

    It is made by `connect`, or by `serve` for its handler. As a context manager it ends in order, or by force if an exception has
    ended the block. `async for message in association` reads until the peer sends nothing any more.
    """

    def __init__(self, driver: Driver, number: int, owns_driver: bool):
        self._driver = driver
        self._number = number
        self._owns_driver = owns_driver
        self._readable = _Waiters()
        self._writable = _Waiters()
        self._news = _Waiters()
        self._turns: dict[int, asyncio.Lock] = {}
        """A lock for each stream: tasks that wait to send on it go on in the order in which they came."""
        self._events: deque[Event] | None = None
        self._established = False
        self._peer_done = False
        self._reason: str | None = None
        self._graceful = False
        self._refused: tuple[list[int] | None, str | None] = (None, None)
        self._last: dict[str, int | None] | None = None
        self._remote = driver.core.remote(number)
        self.missed_events = 0
        """Events that were not kept, as 4,096 had not been read."""
        driver.listeners[number] = self

    async def send(
        self,
        data: bytes | bytearray | memoryview | str,
        stream: int = 0,
        *,
        ppid: int = 0,
        unordered: bool = False,
        immediate: bool = False,
        lifetime: str | float | None = None,
        retransmissions: int | None = None,
        priority: int | None = None,
        dscp: int | None = None,
    ) -> int:
        """Send a message, and wait while the send buffer is full. Returns its number in the association.

        A `str` leaves as UTF-8. `unordered`: it may overtake others of its stream. `immediate`: the peer is asked to acknowledge at once.
        `lifetime` (`"100 ms"`, or seconds), `retransmissions` or `priority` says when it is given up (RFC 7496). `dscp`: the code point
        that it leaves with; its stream goes to a subflow of that code point. Cancelled while it waits, nothing was sent.

        Raises TypeError when `data` is none of these, ValueError when the message cannot be sent as it is, `ClosedError` when the association has ended, and ConnectionError when it is
        shutting down.
        """
        if not isinstance(data, str | bytes | bytearray | memoryview):
            raise TypeError(f"a message is bytes, bytearray, memoryview or str, not {type(data).__name__}")
        if not 0 <= stream <= _LAST_STREAM:
            raise ValueError(f"stream {stream}: a stream is 0 to {_LAST_STREAM}")
        data = data.encode() if isinstance(data, str) else bytes(data)
        given = {
            "lifetime": None if lifetime is None else nanoseconds(lifetime),
            "retransmissions": retransmissions,
            "priority": priority,
        }
        chosen = [(policy, value) for policy, value in given.items() if value is not None]
        if len(chosen) > 1:
            raise ValueError(f"{' and '.join(policy for policy, _ in chosen)}: a message has one policy")
        policy = chosen[0] if chosen else None
        turn = self._turns.get(stream)
        if turn is None:
            turn = self._turns[stream] = asyncio.Lock()
        async with turn:
            while True:
                self._raise_if_ended()
                core, now = self._driver.core, self._driver.now()
                try:
                    number = core.send(
                        now, self._number, data, stream, ppid, unordered, immediate, policy, dscp
                    )
                except BlockingIOError:
                    await self._writable.wait()
                except RuntimeError as error:
                    raise ConnectionError(str(error)) from None
                else:
                    self._driver.plan()
                    return number

    async def receive(self, stream: int | None = None) -> Message | None:
        """Wait for the next message, of one stream or of any. None when the peer sends nothing any more and all was read.

        A stream that is not read keeps no other from being read, as long as the receive buffer has room. Raises `ClosedError` when the
        association has ended otherwise than in order, and all arrived messages were read.
        """
        while True:
            message = self._take(stream)
            if message is not None:
                return message
            if self._reason is not None and not self._graceful:
                raise ClosedError(self._reason)
            if self._reason is not None or self._peer_done:
                return None
            await self._readable.wait()

    def _take(self, stream: int | None) -> Message | None:
        try:
            found = self._driver.core.receive(self._number, stream)
        except KeyError:
            return None
        except BufferError as error:
            self.abort(str(error))
            raise ClosedError(str(error)) from None
        if found is None:
            return None
        # The read message makes room, of which the peer may have to be told.
        self._driver.plan()
        return Message(*found[:4])

    def __aiter__(self) -> AsyncIterator[Message]:
        """Messages until the peer sends nothing any more."""
        return self._messages(None)

    async def _messages(self, stream: int | None) -> AsyncIterator[Message]:
        while (message := await self.receive(stream)) is not None:
            yield message

    def stream(self, number: int) -> Stream:
        """One stream, to send on and to read by itself."""
        return Stream(self, number)

    async def events(self) -> AsyncIterator[Event]:
        """Every event that comes after the first step of this iterator; ends after `Closed`. Messages are read with `receive`."""
        if self._events is None:
            self._events = deque()
        while True:
            while self._events:
                yield self._events.popleft()
            if self._reason is not None:
                return
            await self._news.wait()

    async def shutdown(self, timeout: str | float | None = None) -> None:
        """End the association in order: all sent messages are delivered first. Waits for the end; cancelled, it goes on ending.

        After `timeout` (`"5 s"`, or seconds) it is aborted. Raises `ClosedError` when it ends otherwise than in order.
        """
        if self._reason is None:
            patience = None if timeout is None else nanoseconds(timeout)
            self._driver.core.shutdown(self._driver.now(), self._number, patience)
            self._driver.plan()
        await self.wait_closed()
        if not self._graceful:
            raise ClosedError(self._reason)

    def abort(self, reason: str | bytes = b"") -> None:
        """End the association at once. The peer is told `reason`; messages that are not delivered yet are lost."""
        if self._reason is None:
            said = reason.encode() if isinstance(reason, str) else reason
            self._driver.core.abort(self._driver.now(), self._number, said)
            self._driver.plan()

    async def wait_closed(self) -> str:
        """Wait for the end, and say how it came."""
        while self._reason is None:
            await self._news.wait()
        return self._reason

    async def wait_delivered(self) -> None:
        """Wait until everything that was sent so far, and meanwhile, is acknowledged. Raises `ClosedError` when the association ends first."""
        if self._reason is None:
            self._driver.core.tell_when_dry(self._driver.now(), self._number)
            self._driver.plan()
        while self._reason is None and self.buffered() > 0:
            await self._news.wait()
        if self._reason is not None and not self._graceful:
            raise ClosedError(self._reason)

    def set_reliability(
        self,
        stream: int | None = None,
        *,
        lifetime: str | float | None = None,
        retransmissions: int | None = None,
    ) -> None:
        """Say how reliable messages are that do not say so themselves: of one stream, or of all that were not named. Neither: full."""
        if lifetime is not None and retransmissions is not None:
            raise ValueError("lifetime and retransmissions: a stream has one policy")
        policy, value = "full", 0
        if lifetime is not None:
            policy, value = "lifetime", nanoseconds(lifetime)
        elif retransmissions is not None:
            policy, value = "retransmissions", retransmissions
        self._driver.core.set_reliability(self._number, stream, policy, value)

    def tell_fates(self, on: bool = True) -> None:
        """Have `events` tell the fate of each message that is sent from now on: Delivered, Abandoned or Failed."""
        self._driver.core.tell_fates(self._number, on)

    def reset_streams(self, streams: Sequence[int] = (), direction: str = "outgoing") -> None:
        """Let streams begin anew (RFC 6525): these, or all; `"outgoing"`, `"incoming"` or `"both"`. `events` tells when it is done."""
        self._driver.core.reset_streams(self._driver.now(), self._number, direction, list(streams))
        self._driver.plan()

    def add_streams(self, outgoing: int = 0, incoming: int = 0) -> None:
        """Ask for more streams (RFC 6525). `events` tells when they are there."""
        self._driver.core.add_streams(self._driver.now(), self._number, outgoing, incoming)
        self._driver.plan()

    def set(self, key: str, value: str) -> None:
        """Change an option of the living association: `set("heartbeat_interval", "5 s")`."""
        self._driver.core.set(self._driver.now(), self._number, key, value)
        self._driver.plan()

    def get(self, key: str) -> str:
        """An option as it is; `anabranch.options()` lists them. Raises KeyError for a key that there is not."""
        found = self._driver.core.get(self._number, key)
        if found is None:
            raise KeyError(key)
        return found

    def buffered(self, stream: int | None = None) -> int:
        """Bytes handed in and not acknowledged yet, of a stream or of all."""
        return 0 if self._reason is not None else self._driver.core.buffered(self._number, stream)

    @property
    def state(self) -> str:
        """`"Established"`, ..., `"Closed"`: the states of RFC 9260."""
        return self._driver.core.state(self._number) or "Closed"

    @property
    def statistics(self) -> dict[str, int | None]:
        """Every counter and gauge by name; times are in nanoseconds (`_ns`), None is one without a sample."""
        if self._last is not None:
            return dict(self._last)
        return dict(self._driver.core.statistics(self._number))

    @property
    def remote(self) -> tuple[str, int]:
        """IP address and UDP port of the peer, as they were last known."""
        found = self._driver.core.remote(self._number) or self._remote
        return ("?", 0) if found is None else found[:2]

    async def __aenter__(self) -> Self:
        """Itself."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End it in order, within 30 seconds, or by force after an exception."""
        try:
            if kind is not None:
                self.abort()
                await self.wait_closed()
            elif self._reason is None:
                await self.shutdown("30 s")
        except asyncio.CancelledError:
            self.abort()
            raise
        finally:
            await self._settle()

    async def _settle(self) -> None:
        """Release the association, and the driver if it owns it, once the last packet had a chance to leave."""
        await asyncio.sleep(0)
        if self._reason is not None:
            self._driver.core.release(self._number)
        if self._owns_driver:
            self._driver.close()

    async def _up(self) -> None:
        while not self._established and self._reason is None:
            await self._news.wait()
        if not self._established:
            raise ClosedError(_refusal(self._reason or "", *self._refused))

    def _raise_if_ended(self) -> None:
        if self._reason is not None:
            raise ClosedError(self._reason)

    def told(self, kind: str, text: str, values: dict[str, Any]) -> None:
        """For the driver: something has happened."""
        if kind in ("Established", "Accepted"):
            self._established = True
            self._remote = self._driver.core.remote(self._number) or self._remote
        elif kind == "PeerShutdown":
            self._peer_done = True
        elif kind == "Closed":
            self._last = dict(self._driver.core.statistics(self._number))
            self._graceful, self._reason = values["graceful"], values["reason"]
            self._refused = (values["causes"], values["said"])
            if self._owns_driver:
                self._driver.close_when_idle()
        if self._events is not None and kind not in _FREQUENT:
            if len(self._events) < _EVENTS:
                self._events.append(Event(kind, text, values))
            else:
                self.missed_events += 1
        if kind in ("Readable", "PeerShutdown", "Closed"):
            self._readable.wake()
        if kind in ("Writable", "Closed"):
            self._writable.wake()
        self._news.wake()

    def __repr__(self) -> str:
        """The address of its peer, and its state."""
        host, port = self.remote
        return f"<anabranch.aio.Association with {host} at UDP port {port}: {self.state}>"


class Stream:
    """One stream of an association, in both directions."""

    def __init__(self, association: Association, number: int):
        self.association = association
        self.number = number
        """Its id."""

    async def send(self, data: bytes | bytearray | memoryview | str, **options: Unpack[SendOptions]) -> int:
        """Send a message on this stream, as `Association.send` does."""
        return await self.association.send(data, self.number, **options)

    async def receive(self) -> Message | None:
        """Wait for the next message of this stream, as `Association.receive` does."""
        return await self.association.receive(self.number)

    def __aiter__(self) -> AsyncIterator[Message]:
        """Messages of this stream until the peer sends nothing any more."""
        return self.association._messages(self.number)
