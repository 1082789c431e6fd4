"""How associations begin: `connect` and `serve`."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import random
import socket
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from .. import running
from ..units import nanoseconds
from ._association import Association, ClosedError
from ._driver import Driver, suited
from ._socket import Address

UDP_PORT = 9899
"""The default UDP port of SCTP in UDP: "sctp-tunneling" (RFC 6951, 8)."""

LARGEST = 16 << 20
"""Longest message that is taken, bytes, unless told otherwise."""

_DYNAMIC = (49152, 65535)

Handler = Callable[[Association], Awaitable[None]]


class Connecting:
    """An association to be: `await` it, or use it with `async with`."""

    def __init__(self, begin: Callable[[], Awaitable[Association]]):
        self._begin = begin
        self._association: Association | None = None

    def __await__(self) -> Generator[Any, None, Association]:
        """The association, once it is up."""
        return self._begin().__await__()

    async def __aenter__(self) -> Association:
        """The association, once it is up."""
        self._association = await self._begin()
        return self._association

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End it, as the association itself does."""
        if self._association is not None:
            await self._association.__aexit__(kind, error, trace)


def connect(
    target: str,
    *,
    udp_port: int = UDP_PORT,
    local: str | None = None,
    local_udp_port: int = 0,
    local_port: int = 0,
    profile: str | None = None,
    options: Mapping[str, Any] | None = None,
    streams: int | None = None,
    largest: int = LARGEST,
    timeout: str | float = "20 s",
) -> Connecting:
    """Begin an association with a server: `async with connect("host:9000") as association`.

    `target`: host and SCTP port, `"example.org:9000"` or `"[::1]:9000"`. `udp_port`: the UDP port of the server. `local`,
    `local_udp_port`, `local_port`: IP address, UDP port and SCTP port of this side, where it matters. `profile`, `options`: the settings that the
    association begins with (`anabranch.profiles()`, `anabranch.options()`); `streams`: how many are asked for, and allowed to the peer.
    `largest`: the longest message that is taken from the peer, bytes. Every address of the host is tried; after `timeout` it is given up.

    Raises ConnectionError when there is no association: TimeoutError when nobody has answered, ConnectionRefusedError when nothing
    listens or the peer does not want one; OSError when the name has no address; ValueError for a wrong option.
    """
    host, port = _target(target)
    chosen = _chosen(options, streams)
    patience = nanoseconds(timeout) / 1e9

    async def begin() -> Association:
        loop = asyncio.get_running_loop()
        what, end = f"{target}, UDP port {udp_port}", loop.time() + patience
        silence = TimeoutError(f"{what}: no answer within {patience:g} s")
        failure: Exception = silence
        try:
            async with asyncio.timeout_at(end):
                addresses = await _addresses(host, udp_port)
        except TimeoutError:
            raise silence from None
        for tried, address in enumerate(addresses):
            # One that is silent leaves time for the others.
            share = (end - loop.time()) / (len(addresses) - tried)
            try:
                async with asyncio.timeout(share):
                    mine = (_local(local, address), local_udp_port, local_port)
                    return await _try(address, port, mine, profile, chosen, largest)
            except TimeoutError:
                failure = silence
            except ClosedError as closed:
                failure = ConnectionRefusedError(f"{what}: {closed}")
            except OSError as error:
                failure = error
        raise failure

    return Connecting(begin)


async def _try(
    address: Address,
    port: int,
    mine: tuple[str, int, int],
    profile: str | None,
    options: dict[str, str],
    largest: int,
) -> Association:
    local, local_udp_port, local_port = mine
    local_port = local_port or random.SystemRandom().randint(*_DYNAMIC)
    driver = Driver([(local, local_udp_port, address[2])], local_port, 1, largest)
    association: Association | None = None
    try:
        number = driver.core.connect(driver.now(), address, port, profile, suited(options))
        association = Association(driver, number, owns_driver=True)
        driver.plan()
        await association._up()
    except BaseException:
        if association is not None:
            association.abort()
            # The ABORT leaves before the socket is closed.
            driver._pump()
        driver.close()
        raise
    return association


class Server:
    """Takes associations that peers begin, and calls a handler for each in a task of its own."""

    def __init__(self, driver: Driver, port: int, handler: Handler):
        self._driver = driver
        self._handler = handler
        self._tasks: set[asyncio.Task[None]] = set()
        self._ended = asyncio.get_running_loop().create_future()
        self.port = port
        """The SCTP port."""
        driver.accept = self._accept

    @property
    def addresses(self) -> list[tuple[str, int]]:
        """IP address and UDP port of each socket."""
        return [each.address[:2] for each in self._driver.sockets]

    @property
    def associations(self) -> int:
        """How many there are."""
        return len(self._tasks)

    async def serve_forever(self) -> None:
        """Wait until the server is closed."""
        await asyncio.shield(self._ended)

    async def close(self, timeout: str | float = "5 s") -> None:
        """Let nobody in any more, wait for handlers that run, and after `timeout` cancel them."""
        if not self._driver.closed:
            self._driver.core.stop_listening()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=nanoseconds(timeout) / 1e9)
        await self._cancel()

    async def _cancel(self) -> None:
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        self._driver.close()
        if not self._ended.done():
            self._ended.set_result(None)

    def _accept(self, number: int) -> Association:
        association = Association(self._driver, number, owns_driver=False)
        task = asyncio.get_running_loop().create_task(self._handle(association))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return association

    async def _handle(self, association: Association) -> None:
        try:
            async with association:
                await self._handler(association)
        except ClosedError:
            # The peer has gone: nothing that the server could do about it.
            pass
        except Exception as error:
            context = {"message": f"the handler of {association!r} failed", "exception": error}
            asyncio.get_running_loop().call_exception_handler(context)

    async def __aenter__(self) -> Self:
        """Itself."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it; after an exception handlers are cancelled at once."""
        if kind is None:
            await self.close()
        else:
            self._driver.core.stop_listening()
            await self._cancel()


async def serve(
    handler: Handler,
    port: int,
    *,
    host: str | Sequence[str] | None = None,
    udp_port: int = UDP_PORT,
    profile: str | None = None,
    options: Mapping[str, Any] | None = None,
    streams: int | None = None,
    largest: int = LARGEST,
    max_associations: int = 1 << 16,
) -> Server:
    """Take associations at SCTP port `port`, and call `handler` with each in a task of its own.

    When the handler returns, the association ends in order; after an exception by force, and the event loop's handler of exceptions is
    told. `host`: local IP addresses; all of them where it is not given. `udp_port`: 0 lets the system choose (`Server.addresses` has
    it). The rest is as for `connect`. Peers beyond `max_associations` are turned away.

    Raises OSError when the UDP port cannot be had, ValueError for a wrong option.
    """
    if not 1 <= port <= 65535:
        raise ValueError(f"{port}: an SCTP port is 1 to 65535")
    hosts = ["0.0.0.0", "::"] if host is None else [host] if isinstance(host, str) else list(host)
    addresses: list[Address] = []
    for each in hosts:
        addresses += (await _addresses(each, udp_port))[:1]
    try:
        driver = Driver(addresses, port, max_associations, largest)
    except OSError:
        # A host without IPv6 has IPv4 all the same.
        if host is not None:
            raise
        driver = Driver(addresses[:1], port, max_associations, largest)
    try:
        driver.core.listen(profile, suited(_chosen(options, streams)))
    except BaseException:
        driver.close()
        raise
    return Server(driver, port, handler)


def _target(target: str) -> tuple[str, int]:
    host, colon, port = target.rpartition(":")
    if not colon or not host or not port.isdecimal() or not 1 <= int(port) <= 65535:
        raise ValueError(
            f"{target}: write HOST:PORT, such as example.org:9000 or [::1]:9000; the SCTP port is 1 to 65535"
        )
    return host.removeprefix("[").removesuffix("]"), int(port)


def _chosen(options: Mapping[str, Any] | None, streams: int | None) -> dict[str, str]:
    chosen = {}
    if streams is not None:
        chosen = dict.fromkeys(("outbound_streams", "inbound_streams", "max_outbound_streams"), str(streams))
    for key, value in (options or {}).items():
        chosen[key] = value if isinstance(value, str) else running._toml(value)
    return chosen


async def _addresses(host: str, port: int) -> list[Address]:
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_DGRAM)
    addresses: list[Address] = []
    for _family, _type, _protocol, _name, at in found:
        address = (str(at[0]).partition("%")[0], int(at[1]), int(at[3]) if len(at) == 4 else 0)
        if address not in addresses:
            addresses.append(address)
    return addresses


def _local(given: str | None, remote: Address) -> str:
    if given is not None:
        with contextlib.suppress(ValueError):
            ipaddress.ip_address(given)
            return given
        raise ValueError(f"`{given}` is no IP address")
    return "::" if ":" in remote[0] else "0.0.0.0"
