"""UDP sockets that do not block, with the data that SCTP needs beyond the payload.

On Linux: the code point and ECN field of each packet, its destination address, ICMP errors, packets that nobody may fragment. On
other systems a packet is its payload and the address of its peer.
"""

import contextlib
import errno
import socket
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass

Address = tuple[str, int, int]
"""IP address, UDP port, and the interface that a link-local address is of (0: none)."""

LINUX = sys.platform == "linux"

# linux/in.h, linux/in6.h, linux/errqueue.h: the module `socket` has not all of them.
_IP_PKTINFO = 8
_IP_MTU_DISCOVER = 10
_IP_RECVERR = 11
_IPV6_MTU_DISCOVER = 23
_IPV6_RECVERR = 25
_IPV6_DONTFRAG = 62
_PMTUDISC_DONT = 0
_PMTUDISC_PROBE = 3
_MSG_ERRQUEUE = 0x2000
_ORIGIN_LOCAL = 1
_ERROR = struct.Struct("=IBBBBII")
"""struct sock_extended_err."""

_CONTROL = 256
_PACKET = 65536
_RECEIVE_BUFFER = 4 << 20
_SEND_BUFFER = 1 << 20


@dataclass(frozen=True, slots=True)
class Datagram:
    """A packet that has arrived."""

    data: bytes
    source: Address
    destination: Address
    octet: int
    """Code point and ECN field, as the IP header has them."""


@dataclass(frozen=True, slots=True)
class Undeliverable:
    """An error of ICMP, or of this host, about a packet that we have sent."""

    kind: str
    """`"too-big"`, `"protocol"`, `"port"` or `"unreachable"`."""
    value: int
    """The MTU, or the code."""
    destination: Address
    quoted: bytes


class UdpSocket:
    """A UDP socket that does not block."""

    def __init__(self, address: Address):
        self._v6 = ":" in address[0]
        self._socket = socket.socket(socket.AF_INET6 if self._v6 else socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._configure(address)
        except BaseException:
            self._socket.close()
            raise
        self._fragments: bool | None = None
        self.address = _address(self._socket.getsockname())
        """The local address of the socket."""

    def _configure(self, address: Address) -> None:
        self._socket.setblocking(False)
        for option, size in ((socket.SO_RCVBUF, _RECEIVE_BUFFER), (socket.SO_SNDBUF, _SEND_BUFFER)):
            # A system that does not allow so much gives less or refuses; it works with less.
            with contextlib.suppress(OSError):
                self._socket.setsockopt(socket.SOL_SOCKET, option, size)
        if self._v6:
            self._socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        if LINUX and self._v6:
            self._socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVTCLASS, 1)
            self._socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVPKTINFO, 1)
            self._socket.setsockopt(socket.IPPROTO_IPV6, _IPV6_RECVERR, 1)
        elif LINUX:
            self._socket.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
            self._socket.setsockopt(socket.IPPROTO_IP, _IP_PKTINFO, 1)
            self._socket.setsockopt(socket.IPPROTO_IP, _IP_RECVERR, 1)
        host, port, scope = address
        self._socket.bind((host, port, 0, scope) if self._v6 else (host, port))

    def fileno(self) -> int:
        """The descriptor, for `add_reader`."""
        return self._socket.fileno()

    def close(self) -> None:
        """Gives the port back."""
        self._socket.close()

    def reaches(self, destination: Address) -> bool:
        """Whether it is of the family of an address."""
        return (":" in destination[0]) == self._v6

    def send(
        self, data: bytes, destination: Address, source: Address | None, octet: int, dont_fragment: bool
    ) -> bool:
        """Send a packet; false when the socket takes none now. A packet that the system refuses is lost, as others are."""
        host, port, scope = destination
        to = (host, port, 0, scope) if self._v6 else (host, port)
        try:
            if not LINUX:
                self._socket.sendto(data, to)
                return True
            self._let_fragment(not dont_fragment)
            self._socket.sendmsg([data], self._said(source, octet), 0, to)
        except (BlockingIOError, InterruptedError):
            return False
        except OSError as error:
            # ICMP spoke of an earlier packet, and this one was not sent.
            if error.errno in (errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.EPROTO, errno.ENOPROTOOPT):
                with contextlib.suppress(OSError):
                    self._socket.sendmsg([data], self._said(source, octet), 0, to)
        return True

    def _said(self, source: Address | None, octet: int) -> list[tuple[int, int, bytes]]:
        said = []
        if octet and self._v6:
            said.append((socket.IPPROTO_IPV6, socket.IPV6_TCLASS, struct.pack("@i", octet)))
        elif octet:
            said.append((socket.IPPROTO_IP, socket.IP_TOS, struct.pack("@i", octet)))
        if source is not None and self._v6:
            info = socket.inet_pton(socket.AF_INET6, source[0]) + struct.pack("@I", 0)
            said.append((socket.IPPROTO_IPV6, socket.IPV6_PKTINFO, info))
        elif source is not None:
            info = struct.pack("@I4s4s", 0, socket.inet_aton(source[0]), bytes(4))
            said.append((socket.IPPROTO_IP, _IP_PKTINFO, info))
        return said

    def _let_fragment(self, allowed: bool) -> None:
        if allowed == self._fragments:
            return
        self._fragments = allowed
        how = _PMTUDISC_DONT if allowed else _PMTUDISC_PROBE
        if self._v6:
            self._socket.setsockopt(socket.IPPROTO_IPV6, _IPV6_MTU_DISCOVER, how)
            self._socket.setsockopt(socket.IPPROTO_IPV6, _IPV6_DONTFRAG, int(not allowed))
        else:
            self._socket.setsockopt(socket.IPPROTO_IP, _IP_MTU_DISCOVER, how)

    def received(self, most: int) -> Iterator[Datagram]:
        """Packets that are here, so many at most."""
        for _ in range(most):
            try:
                if LINUX:
                    data, control, _flags, source = self._socket.recvmsg(_PACKET, _CONTROL)
                else:
                    (data, source), control = self._socket.recvfrom(_PACKET), []
            except (BlockingIOError, InterruptedError):
                return
            except OSError:
                # An ICMP error about an earlier packet; `undeliverable` reads it.
                continue
            destination, octet = self.address, 0
            for _level, kind, value in control:
                if kind == (socket.IPV6_TCLASS if self._v6 else socket.IP_TOS):
                    octet = value[0] if len(value) == 1 else struct.unpack("@i", value[:4])[0] & 0xFF
                elif kind == (socket.IPV6_PKTINFO if self._v6 else _IP_PKTINFO):
                    to = (
                        socket.inet_ntop(socket.AF_INET6, value[:16])
                        if self._v6
                        else socket.inet_ntoa(value[8:12])
                    )
                    destination = (to, self.address[1], 0)
            yield Datagram(data, _address(source), destination, octet)

    def undeliverable(self) -> Iterator[Undeliverable]:
        """Errors about packets of ours since the last call."""
        while LINUX:
            try:
                quoted, control, _flags, destination = self._socket.recvmsg(_PACKET, _CONTROL, _MSG_ERRQUEUE)
            except OSError:
                return
            for _level, kind, value in control:
                if kind == (_IPV6_RECVERR if self._v6 else _IP_RECVERR) and len(value) >= _ERROR.size:
                    number, origin, icmp, code, _pad, info, _data = _ERROR.unpack_from(value)
                    found = _kind(number, origin, icmp, code, info)
                    if found and destination:
                        yield Undeliverable(*found, _address(destination), quoted)


def _kind(number: int, origin: int, icmp: int, code: int, info: int) -> tuple[str, int] | None:
    """The kind and value of an error in the queue (RFC 792, RFC 4443); None for others."""
    match origin, icmp, code:
        case (2, 3, 2) | (3, 4, 1):
            return "protocol", 0
        case (2, 3, 3) | (3, 1, 4):
            return "port", 0
        case (2, 3, 4) | (3, 2, _):
            return "too-big", info
        case (2, 3, _) | (3, 1, _):
            return "unreachable", code
    # The local host reports a too big packet itself, when it must not be fragmented.
    return ("too-big", info) if origin == _ORIGIN_LOCAL and number == errno.EMSGSIZE else None


def _address(given: tuple[str, int] | tuple[str, int, int, int]) -> Address:
    host = given[0].partition("%")[0]
    return host, given[1], given[3] if len(given) == 4 else 0
