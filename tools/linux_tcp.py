"""Goodput and queue of Linux's own TCP on the long paths of docs/rate.md: the witness for `crates/tcp`.

This runs inside a guest of user-mode Linux, as root: it makes two network namespaces, joins them by two TUN devices, and is itself the
path between them: a rate, a delay, a drop-tail queue in bytes, random losses. In a kernel that was built with
CONFIG_UML_TIME_TRAVEL_SUPPORT=y and boots with `time-travel=inf-cpu` its time is virtual, and figures do not depend on the host.
Debian's linux-source-6.1 with that option, TUN, network namespaces, CUBIC and BBR is what the figures of docs/rate.md are of.

usage: linux_tcp.py OUT.csv [--seeds N] [--controllers reno,cubic,bbr] [--paths 0,1,...] [--no-hystart]

Seeds are those of random losses; a minute or two of a host's time for each run at 100 Mbit/s.
"""

import argparse
import collections
import contextlib
import csv
import dataclasses
import fcntl
import heapq
import os
import random
import select
import socket
import struct
import subprocess
import sys
import time

SERVER, CLIENT = "10.9.0.1", "10.9.0.2"
PORT = 5001
HYSTART = "/sys/module/tcp_cubic/parameters/hystart"
# Of a TUN device without a header of its own (if_tun.h).
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000


@dataclasses.dataclass(frozen=True)
class Path:
    """What lies between the two: bits a second, round trip in seconds, queue in bytes, losses, seconds of a run."""

    name: str
    rate: float
    round_trip: float
    queue: int
    loss: float = 0.0
    seconds: float = 30.0
    # What the receiver's host takes for an acknowledgement: up to so many seconds. Without it two flows can be locked in phase.
    spread: float = 0.0


PATHS = (
    Path("100 Mbit/s, 10 ms", 100e6, 0.010, 125_000),
    Path("100 Mbit/s, 100 ms", 100e6, 0.100, 1_250_000),
    Path("100 Mbit/s, 100 ms, 0.1 BDP", 100e6, 0.100, 125_000),
    Path("100 Mbit/s, 100 ms, 0.1 % lost", 100e6, 0.100, 1_250_000, 1e-3),
    Path("100 Mbit/s, 100 ms, 1 % lost", 100e6, 0.100, 1_250_000, 1e-2),
    Path("50 Mbit/s, 300 ms", 50e6, 0.300, 1_875_000),
    Path("1 Gbit/s, 20 ms", 1e9, 0.020, 2_500_000, seconds=10.0),
)


def run(command: str) -> None:
    """A command that must succeed."""
    subprocess.run(command, shell=True, check=True)


def device(name: str, namespace: str, address: str) -> int:
    """A TUN device in a namespace of its own; the descriptor that packets come from and go to."""
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    run(f"ip netns add {namespace}; ip link set {name} netns {namespace}")
    run(f"ip -n {namespace} addr add {address}/24 dev {name}")
    # What waits in the device is not in the queue of the path: it holds whatever the sender makes of a window.
    run(f"ip -n {namespace} link set {name} mtu 1500 txqueuelen 20000 up; ip -n {namespace} link set lo up")
    return tun


class Line:
    """The path itself."""

    def __init__(self, path: Path, devices: tuple[int, int], seed: int) -> None:
        """`devices`: of the sender and the receiver of data."""
        self.path, self.devices = path, devices
        self.random = random.Random(seed)
        self.arriving: list[tuple[float, int, int, bytes]] = []
        self.order = 0
        self.free = [0.0, 0.0]
        self.latest = 0.0
        # When what waits leaves, and how long it is.
        self.leaves: collections.deque[tuple[float, int]] = collections.deque()
        self.lost = self.dropped = self.forwarded = 0
        # Bytes of the way of data, by the protocol of the IP packets, from that time on.
        self.carried: collections.Counter[int] = collections.Counter()
        self.counts_from = 0.0
        self.area = self.looked = 0.0
        self.waiting = 0

    def enter(self, now: float, way: int, packet: bytes) -> None:
        """A packet of `way` 0, which is that of data, or 1."""
        path = self.path
        if way == 0:
            self.settle(now)
            if self.waiting + len(packet) > path.queue and self.free[0] > now:
                self.dropped += 1
                return
        start = max(now, self.free[way])
        self.free[way] = start + len(packet) * 8 / path.rate
        if way == 0:
            self.forwarded += 1
            if now >= self.counts_from:
                self.carried[packet[9]] += len(packet)
            if start > now:
                # It waits until its transmission begins.
                self.waiting += len(packet)
                self.leaves.append((start, len(packet)))
            if path.loss and self.random.random() < path.loss:
                self.lost += 1
                return
        self.order += 1
        at = self.free[way] + path.round_trip / 2
        if way == 1 and path.spread:
            # They stay in order.
            at = self.latest = max(self.latest, at + self.random.uniform(0, path.spread))
        heapq.heappush(self.arriving, (at, self.order, self.devices[1 - way], packet))

    def settle(self, now: float) -> None:
        """Works out what waits now, and what has waited on average until now."""
        while self.leaves and self.leaves[0][0] <= now:
            at, size = self.leaves.popleft()
            self.area += self.waiting * (at - self.looked)
            self.looked, self.waiting = at, self.waiting - size
        self.area += self.waiting * (now - self.looked)
        self.looked = now

    def carry(self, until: float) -> None:
        """Carries packets until then."""
        self.looked = began = time.monotonic()
        while (now := time.monotonic()) < until:
            wait = min(self.arriving[0][0] if self.arriving else until, until) - now
            ready, _, _ = select.select(self.devices, [], [], max(0.0, wait))
            now = time.monotonic()
            for tun in ready:
                way = self.devices.index(tun)
                while True:
                    try:
                        packet = os.read(tun, 65_536)
                    except BlockingIOError:
                        break
                    if packet[0] >> 4 == 4:
                        self.enter(now, way, packet)
            while self.arriving and self.arriving[0][0] <= now + 1e-9:
                _, _, tun, packet = heapq.heappop(self.arriving)
                try:
                    os.write(tun, packet)
                except OSError:
                    self.dropped += 1
        self.settle(time.monotonic())
        self.mean_queue = self.area / (time.monotonic() - began)


def send(controller: str) -> None:
    """A server that sends whatever is taken."""
    listening = socket.create_server((SERVER, PORT))
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, controller.encode())
    print("ready", flush=True)
    connection, _ = listening.accept()
    data = bytes(16_384)
    try:
        while True:
            connection.sendall(data)
    except OSError:
        pass


def receive(seconds: float) -> None:
    """Reads for so long from the first byte on, and prints how many bytes came in what time."""
    connection = socket.create_connection((SERVER, PORT))
    total, began = 0, None
    while began is None or time.monotonic() < began + seconds:
        connection.settimeout(seconds if began is None else max(0.001, began + seconds - time.monotonic()))
        try:
            got = len(connection.recv(1 << 20))
        except TimeoutError:
            break
        if not got:
            break
        began = began or time.monotonic()
        total += got
    print(total, time.monotonic() - began if began else 0.0, flush=True)


def in_namespace(namespace: str, *arguments: str) -> "subprocess.Popen[str]":
    """This program in another part, in a namespace."""
    command = ["ip", "netns", "exec", namespace, sys.executable, __file__, *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def drain(devices: tuple[int, int]) -> None:
    """Reads for 2 s what devices still have, and throws it away."""
    until = time.monotonic() + 2.0
    while (now := time.monotonic()) < until:
        for tun in select.select(devices, [], [], until - now)[0]:
            with contextlib.suppress(BlockingIOError):
                os.read(tun, 65_536)


def measure(path: Path, controller: str, seed: int, devices: tuple[int, int]) -> list[object]:
    """One flow, alone on the path: a row of the table."""
    sender = in_namespace("sender", "send", controller)
    sender.stdout.readline()
    receiver = in_namespace("receiver", "receive", str(path.seconds))
    line = Line(path, devices, seed)
    # Beside the run itself: the program begins, the handshake, and the first byte.
    line.carry(time.monotonic() + path.seconds + 1.0 + 2 * path.round_trip)
    total, seconds = (float(word) for word in receiver.stdout.readline().split())
    for process in (receiver, sender):
        process.kill()
        process.wait()
    # Nothing of this run is left for the next.
    drain(devices)
    rate = total * 8 / max(seconds, path.seconds) / 1e6
    return [
        path.name,
        controller,
        seed,
        f"{rate:.2f}",
        f"{line.mean_queue / 1500:.1f}",
        line.dropped,
        line.lost,
    ]


def played() -> bool:
    """Plays one end, if that is what this program was begun for."""
    if sys.argv[1] == "send":
        send(sys.argv[2])
    elif sys.argv[1] == "receive":
        receive(float(sys.argv[2]))
    else:
        return False
    return True


def joined() -> tuple[int, int]:
    """Two namespaces and their devices, that of who sends first."""
    devices = (device("tunA", "sender", SERVER), device("tunB", "receiver", CLIENT))
    for namespace in ("sender", "receiver"):
        # Windows are to be limited by the controller and not by buffers; each run begins without what the last one has learnt.
        for key, value in (
            ("tcp_rmem", "4096 131072 67108864"),
            ("tcp_wmem", "4096 131072 67108864"),
            ("tcp_no_metrics_save", "1"),
        ):
            run(f"ip netns exec {namespace} sysctl -q -w net.ipv4.{key}='{value}'")
    return devices


def main() -> None:
    """Every controller on every path."""
    if played():
        return
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--controllers", default="reno,cubic,bbr")
    parser.add_argument("--paths", default=",".join(str(place) for place in range(len(PATHS))))
    parser.add_argument(
        "--no-hystart", action="store_true", help="CUBIC's slow start ends with the first loss (needs sysfs)"
    )
    args = parser.parse_args()
    if args.no_hystart:
        with open(HYSTART, "w", encoding="ascii") as file:
            file.write("0")
    devices = joined()
    with open(args.out, "w", newline="", encoding="ascii") as file:
        rows = csv.writer(file)
        rows.writerow(["path", "controller", "seed", "goodput_mbps", "queue_packets", "dropped", "lost"])
        for path in (PATHS[int(place)] for place in args.paths.split(",")):
            for controller in args.controllers.split(","):
                for seed in range(1, (args.seeds if path.loss else 1) + 1):
                    rows.writerow(measure(path, controller, seed, devices))
                    file.flush()


if __name__ == "__main__":
    main()
