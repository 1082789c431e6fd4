"""The driver of an endpoint: the sockets, the clock and the event loop around the protocol, which has none of them."""

from __future__ import annotations

import asyncio
import os
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from .. import _core
from ._socket import LINUX, Address, UdpSocket

_AT_ONCE = 64
"""Packets that are sent or read before other tasks have their turn: fewer than the receive buffer of a socket holds by default, as the peer
may be a task of the same loop."""


class Listener(Protocol):
    """A receiver of the events of an association."""

    def told(self, kind: str, text: str, values: dict[str, Any]) -> None:
        """Something has happened."""


class Driver:
    """An endpoint on UDP sockets in the running event loop."""

    def __init__(self, addresses: Sequence[Address], port: int, max_associations: int, largest: int):
        self._loop = asyncio.get_running_loop()
        self.sockets: list[UdpSocket] = []
        try:
            for host, udp_port, scope in addresses:
                self.sockets.append(UdpSocket((host, udp_port, scope)))
            seed = os.urandom(32)
            self.core = _core.Endpoint(self.sockets[0].address, port, seed, max_associations, largest)
            for socket in self.sockets:
                self._loop.add_reader(socket.fileno(), self._readable, socket)
        except BaseException:
            self._give_back()
            raise
        self.listeners: dict[int, Listener] = {}
        self.accept: Callable[[int], Listener] | None = None
        """Makes a listener for an association that a peer has begun."""
        self._waiting: deque[tuple[UdpSocket, tuple[Any, ...]]] = deque()
        """A packet that its socket did not take; nothing else leaves before it."""
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0
        self._planned = False
        self._ending = False
        self.closed = False

    @staticmethod
    def now() -> int:
        """Nanoseconds of a clock that never goes back."""
        return time.monotonic_ns()

    def close(self) -> None:
        """Stop, and give the ports back. Packets that have not left are dropped."""
        if self.closed:
            return
        self.closed = True
        if self._timer is not None:
            self._timer.cancel()
        self._give_back()

    def close_when_idle(self) -> None:
        """Stop as soon as nothing wants to leave any more."""
        self._ending = True
        self.plan()

    def _give_back(self) -> None:
        for socket in self.sockets:
            if socket.fileno() >= 0:
                self._loop.remove_reader(socket.fileno())
                self._loop.remove_writer(socket.fileno())
                socket.close()

    def plan(self) -> None:
        """Called after a command: sends its packets and tells its events soon, once for all commands of this turn of the loop."""
        if not self._planned and not self.closed:
            self._planned = True
            self._loop.call_soon(self._pump)

    def _readable(self, socket: UdpSocket) -> None:
        now, local = self.now(), socket.address
        for got in socket.received(_AT_ONCE):
            self.core.handle_datagram(now, got.source, got.destination or local, got.octet, got.data)
        for lost in socket.undeliverable():
            self.core.handle_icmp(now, lost.kind, lost.value, lost.destination, lost.quoted)
        self._pump()

    def _expired(self) -> None:
        self._timer = None
        self.core.handle_timeout(self.now())
        self._pump()

    def _pump(self) -> None:
        """Send the waiting packets, tell the waiting events, and set the next timer."""
        self._planned = False
        if self.closed:
            return
        for _ in range(_AT_ONCE):
            told = self._tell()
            # An association that was told of its end may have closed the driver.
            if self.closed:
                return
            if not self._send_one() and not told:
                break
        else:
            self.plan()
        if self._ending and not self._planned and not self._waiting:
            self.close()
        else:
            self._set_timer()

    def _tell(self) -> bool:
        found = False
        while (event := self.core.poll_event()) is not None:
            found = True
            number, kind, text, values = event
            listener = self.listeners.get(number)
            if listener is None and kind == "Accepted" and self.accept is not None:
                listener = self.listeners[number] = self.accept(number)
            if kind == "Closed":
                self.listeners.pop(number, None)
            if listener is not None:
                listener.told(kind, text, values)
            elif kind == "Closed":
                self.core.release(number)
        return found

    def _send_one(self) -> bool:
        if self._waiting:
            return False
        packet = self.core.poll_transmit(self.now())
        if packet is None:
            return False
        socket = next((each for each in self.sockets if each.reaches(packet[1])), None)
        # Without a socket of the address family the packet is lost, as it would be in an unreachable network.
        if socket is not None and not socket.send(*packet):
            self._waiting.append((socket, packet))
            self._loop.add_writer(socket.fileno(), self._writable, socket)
        return True

    def _writable(self, socket: UdpSocket) -> None:
        while self._waiting:
            to, packet = self._waiting[0]
            if not to.send(*packet):
                return
            self._waiting.popleft()
        self._loop.remove_writer(socket.fileno())
        self._pump()

    def _set_timer(self) -> None:
        at = self.core.poll_timeout()
        if at is None:
            return
        if self._timer is not None:
            # One that is too early finds nothing to do, and is set anew: cheaper than a new one for each packet.
            if self._timer_at <= at:
                return
            self._timer.cancel()
        self._timer_at = at
        self._timer = self._loop.call_later(max(0, at - self.now()) / 1e9, self._expired)


def suited(options: dict[str, str]) -> list[tuple[str, str]]:
    """Options for associations, with features that this system's sockets lack turned off unless they are asked for."""
    if LINUX:
        return list(options.items())
    return list(({"ecn": "off", "mtu_discovery": "off", "mtu": "1280"} | options).items())
