"""Driver of aiortc's SCTP: the command line and the report are those of ../README.md.

aiortc has its SCTP below data channels and above DTLS, and offers neither end to a program: the driver stands in for both.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import sys
import time
import zlib
from typing import Any

from aiortc import rtcsctptransport
from aiortc.rtcsctptransport import RTCSctpTransport

HEADERS = 28
"""Common header, and header of a DATA chunk."""
SEND_BUFFER = 400
"""Chunks that may be queued: aiortc itself has no limit."""
BINARY = 53
ABORT, SHUTDOWN_COMPLETE, INIT = 6, 14, 1


class Tally:
    """Counts messages; its digests are those of ../README.md."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet
        self.messages = self.bytes = self.sum = 0
        self.streams: dict[int, int] = {}

    def message(self, stream: int, payload: bytes) -> None:
        """Counts one."""
        self.messages += 1
        self.bytes += len(payload)
        if not self.quiet:
            self.streams[stream] = zlib.crc32(payload, self.streams.get(stream, 0))
            self.sum += zlib.crc32(payload)

    def report(self) -> dict[str, Any]:
        """The counts as they are printed."""
        digest = sum((2 * stream + 1) * crc for stream, crc in self.streams.items())
        whole = 1 << 64
        return {
            "messages": self.messages,
            "bytes": self.bytes,
            "digest": f"{digest % whole:016x}",
            "sum": f"{self.sum % whole:016x}",
        }


class Wire(asyncio.DatagramProtocol):
    """The UDP socket, in the place of DTLS."""

    state = "connected"
    _role = "client"

    def __init__(self, remote: tuple[str, int]) -> None:
        self.remote = remote
        self.receiver: Any = None
        self.queue: asyncio.Queue[bytes] = asyncio.Queue()
        self.aborted = self.completed = False

    def connection_made(self, transport: Any) -> None:
        """The socket is open."""
        self.transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        """A packet."""
        self.remote = addr
        self.queue.put_nowait(data)

    def _register_data_receiver(self, receiver: Any) -> None:
        self.receiver = receiver

    def _unregister_data_receiver(self, receiver: Any) -> None:
        if self.receiver is receiver:
            self.receiver = None

    async def _send_data(self, data: bytes) -> None:
        self.transport.sendto(data, self.remote)

    async def pump(self) -> None:
        """Hands packets over, one after the other, as DTLS does."""
        while True:
            packet = await self.queue.get()
            kind = packet[12] if len(packet) > 12 else 255
            while kind == INIT and self.completed:
                # This INIT is for the next association: it waits until the driver has made that.
                await asyncio.sleep(0.0005)
            self.aborted |= kind == ABORT
            self.completed |= kind == SHUTDOWN_COMPLETE
            if self.receiver is not None:
                await self.receiver._handle_data(packet)


class Sctp(RTCSctpTransport):
    """The SCTP of aiortc, with messages handed to the driver in place of data channels."""

    received: Tally
    last = 0.0
    was_up = False

    async def _receive(self, stream_id: int, pp_id: int, data: bytes) -> None:
        self.received.message(stream_id, data)
        self.last = time.monotonic()

    def listen(self) -> None:
        """Waits for INIT: aiortc itself lets both sides send one."""
        self._RTCSctpTransport__started = True
        self._remote_port = 5000
        self.transport._register_data_receiver(self)

    def _set_state(self, state: RTCSctpTransport.State) -> None:
        # Seen here, as the association may be over before the driver looks.
        self.was_up |= state == self.State.ESTABLISHED
        super()._set_state(state)

    @property
    def up(self) -> bool:
        """Whether the association is established."""
        return self._association_state == self.State.ESTABLISHED

    @property
    def over(self) -> bool:
        """Whether there is none."""
        return self._association_state == self.State.CLOSED


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("role", choices=["listen", "connect"])
    for name in ("local", "remote"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--case", default="")
    for name, default in (("send", 0), ("expect", 0), ("associations", 1), ("size", 1024), ("streams", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    for name, default in (("pause", 0), ("mtu", 1228), ("window", None), ("rtx", None)):
        parser.add_argument(f"--{name}", type=int, default=default)
    for name in ("until-up", "unordered", "reset", "at-once", "interleaving", "zero-checksum", "no-digest"):
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--end", default="wait", choices=["wait", "shutdown", "abort"])
    parser.add_argument("--deadline", type=float, default=30.0)
    return parser.parse_args()


def cannot(plan: argparse.Namespace) -> str | None:
    """The reason why this driver cannot play the case, if there is one."""
    if plan.end == "shutdown":
        return "never begins a shutdown: it only aborts"
    if plan.pause:
        return "hands messages over as they come: its user cannot hold them up"
    if plan.reset:
        return "resets only the streams of its own data channels"
    return None


def usage() -> tuple[int, int]:
    """CPU time (ns) and most memory (KiB)."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return int((used.ru_utime + used.ru_stime) * 1e9), used.ru_maxrss


class Driver:
    """Plays the plan."""

    def __init__(self, plan: argparse.Namespace, wire: Wire) -> None:
        self.plan, self.wire = plan, wire
        self.sent, self.received = Tally(plan.no_digest), Tally(plan.no_digest)
        self.counts = dict.fromkeys(("established", "graceful", "aborted", "lost", "restarts", "resets"), 0)
        self.first_up = self.last = 0.0
        self.template = bytes((at * 31 + 7) % 256 for at in range(plan.size))
        self.cpu = usage()[0]

    def message(self, number: int) -> bytes:
        """The message of that number."""
        if self.plan.no_digest:
            return self.template
        digits = number.to_bytes(8, "little")[: self.plan.size]
        return digits + self.template[len(digits) :]

    async def write(self, sctp: Sctp) -> None:
        """Sends all messages."""
        for number in range(self.plan.send):
            while len(sctp._outbound_queue) > SEND_BUFFER and sctp.up:
                await asyncio.sleep(0.001)
            if not sctp.up:
                return
            stream, payload = number % self.plan.streams, self.message(number)
            await sctp._send(
                stream, BINARY, payload, max_retransmits=self.plan.rtx, ordered=not self.plan.unordered
            )
            self.sent.message(stream, payload)
            self.last = time.monotonic()

    async def one(self) -> None:
        """One association."""
        sctp = Sctp(self.wire)
        sctp.received, before = self.received, self.received.messages
        self.wire.aborted = self.wire.completed = False
        if self.plan.role == "listen":
            sctp.listen()
        else:
            await sctp.start(None, 5000)
        while not sctp.was_up:
            if sctp.over and self.plan.role == "connect":
                self.counts["lost"] += 1
                return
            await asyncio.sleep(0.001)
        self.counts["established"] += 1
        self.last = time.monotonic()
        self.first_up = self.first_up or self.last
        if self.plan.until_up:
            return
        if self.plan.window:
            sctp._advertised_rwnd = self.plan.window
        await self.write(sctp)
        while self.received.messages - before < self.plan.expect and not sctp.over:
            await asyncio.sleep(0.001)
        if self.plan.end == "abort":
            await sctp.stop()
        while not sctp.over:
            await asyncio.sleep(0.001)
        self.last = max(self.last, sctp.last)
        end = "aborted" if self.wire.aborted else "graceful" if self.wire.completed else "lost"
        self.counts[end] += 1

    def print(self, deadline: bool) -> None:
        """The report."""
        cpu, rss = usage()
        report = {
            "stack": "aiortc",
            **self.counts,
            "deadline": deadline,
            "sent": self.sent.report(),
            "received": self.received.report(),
            "elapsed_ns": int((self.last - self.first_up) * 1e9) if self.first_up else 0,
            "cpu_ns": cpu - self.cpu,
            "max_rss_kib": rss,
            "notes": [],
        }
        print(json.dumps(report), flush=True)


def address(text: str) -> tuple[str, int]:
    """IP:PORT."""
    host, port = text.rsplit(":", 1)
    return host, int(port)


async def main() -> None:
    """Plays the plan and prints the report."""
    plan = arguments()
    why = cannot(plan)
    if why:
        print(json.dumps({"stack": "aiortc", "cannot": why}), flush=True)
        return
    rtcsctptransport.USERDATA_MAX_LENGTH = plan.mtu - HEADERS
    loop = asyncio.get_running_loop()
    wire = Wire(address(plan.remote))
    await loop.create_datagram_endpoint(lambda: wire, local_addr=address(plan.local))
    driver = Driver(plan, wire)
    pump = asyncio.ensure_future(wire.pump())
    print('{"ready":true}', flush=True)

    async def everything() -> None:
        for _ in range(plan.associations):
            await driver.one()

    try:
        await asyncio.wait_for(everything(), plan.deadline)
        driver.print(False)
        await loop.run_in_executor(None, sys.stdin.read)
    except TimeoutError:
        driver.print(True)
    pump.cancel()
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(main())
