"""Goodput and queue of Linux's own TCP on the long paths of docs/explanation/rate.md: the witness for `crates/tcp`.

This runs inside a guest of user-mode Linux, as root: it makes two network namespaces, joins them by two TUN devices, and is itself the
path between them: a rate, a delay, a drop-tail queue in bytes, random losses. A path with CoDel leads through a third namespace, whose kernel has rate
and queue (tbf, codel); the program is only the delay then. In a kernel that was built with
CONFIG_UML_TIME_TRAVEL_SUPPORT=y and boots with `time-travel=inf-cpu` its time is virtual, and figures do not depend on the host.
Debian's linux-source-6.1 with that option, TUN, network namespaces, CUBIC, BBR, tbf and codel has given the figures of docs/explanation/rate.md.

usage: linux_tcp.py OUT.csv [--seeds N] [--every] [--controllers reno,cubic,bbr] [--paths 0,1,...] [--seconds S] [--no-hystart]

Seeds are those of random losses; a minute or two of a host's time for each run at 100 Mbit/s. Paths without losses are run once; as often as there are
seeds with --every.
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
# Constants for a TUN device without a header of its own (if_tun.h).
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000


@dataclasses.dataclass(frozen=True)
class Path:
    """The path between the two: bits a second, round trip in seconds, queue in bytes, losses, seconds of a run."""

    name: str
    rate: float
    round_trip: float
    queue: int
    loss: float = 0.0
    seconds: float = 30.0
    # Delay of acknowledgements by the receiver's host: up to so many seconds. Without it two flows can be locked in phase.
    spread: float = 0.0
    # The queue is the kernel's codel (5 ms, 100 ms, no ECN) of so many packets.
    codel: int = 0
    # The sender opens and sends so many bytes; the measure is the time from connect() until the last of them is read.
    transfer: int = 0


PATHS = (
    Path("100 Mbit/s, 10 ms", 100e6, 0.010, 125_000),
    Path("100 Mbit/s, 100 ms", 100e6, 0.100, 1_250_000),
    Path("100 Mbit/s, 100 ms, 0.1 BDP", 100e6, 0.100, 125_000),
    Path("100 Mbit/s, 100 ms, 0.1 % lost", 100e6, 0.100, 1_250_000, 1e-3),
    Path("100 Mbit/s, 100 ms, 1 % lost", 100e6, 0.100, 1_250_000, 1e-2),
    Path("50 Mbit/s, 300 ms", 50e6, 0.300, 1_875_000),
    Path("1 Gbit/s, 20 ms", 1e9, 0.020, 2_500_000, seconds=10.0),
    Path("100 Mbit/s, 100 ms, CoDel", 100e6, 0.100, 0, codel=10_000),
    Path("10 MB over 100 Mbit/s, 100 ms", 100e6, 0.100, 1_250_000, transfer=10_000_000),
)


def run(command: str) -> None:
    """A command that must succeed."""
    subprocess.run(command, shell=True, check=True)


def device(name: str, namespace: str, address: str) -> int:
    """A TUN device in a namespace of its own; the descriptor that packets come from and go to."""
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    run(f"ip netns add {namespace} 2> /dev/null; ip link set {name} netns {namespace}")
    run(f"ip -n {namespace} addr add {address}/24 dev {name}")
    # The queue of the device is not that of the path: it holds any window of the sender.
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
        # For each waiting packet: the time when it leaves, and its size.
        self.leaves: collections.deque[tuple[float, int]] = collections.deque()
        self.lost = self.dropped = self.forwarded = 0
        # Bytes of the way of data, by the protocol of the IP packets, from that time on.
        self.carried: collections.Counter[int] = collections.Counter()
        self.counts_from = 0.0
        self.area = self.looked = 0.0
        self.waiting = 0
        # The router's input, its output, and the arrival times of the packets in it.
        self.router = router(path) if path.codel else None
        self.inside: dict[bytes, float] = {}

    def enter(self, now: float, way: int, packet: bytes) -> None:
        """A packet of `way` 0, which is that of data, or 1."""
        path = self.path
        if way == 0 and self.router:
            # IP's identification and TCP's number: no two packets of the same time have the same.
            self.inside[packet[4:6] + packet[24:28]] = now
            os.write(self.router[0], packet)
            return
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
                # The packet waits until its transmission begins.
                self.waiting += len(packet)
                self.leaves.append((start, len(packet)))
            if path.loss and self.random.random() < path.loss:
                self.lost += 1
                return
        self.order += 1
        at = self.free[way] + path.round_trip / 2
        if way == 1 and path.spread:
            # Acknowledgements stay in order.
            at = self.latest = max(self.latest, at + self.random.uniform(0, path.spread))
        heapq.heappush(self.arriving, (at, self.order, self.devices[1 - way], packet))

    def leave(self, now: float, packet: bytes) -> None:
        """A packet has come out of the router: its transmission is over."""
        came = self.inside.pop(packet[4:6] + packet[24:28])
        self.forwarded += 1
        self.carried[packet[9]] += len(packet)
        self.area += max(0.0, now - came - len(packet) * 8 / self.path.rate) * len(packet)
        self.order += 1
        heapq.heappush(self.arriving, (now + self.path.round_trip / 2, self.order, self.devices[1], packet))

    def settle(self, now: float) -> None:
        """Computes the bytes in the queue now, and their integral over time until now."""
        while self.leaves and self.leaves[0][0] <= now:
            at, size = self.leaves.popleft()
            self.area += self.waiting * (at - self.looked)
            self.looked, self.waiting = at, self.waiting - size
        self.area += self.waiting * (now - self.looked)
        self.looked = now

    def carry(self, until: float) -> None:
        """Carries packets until then."""
        self.looked = began = time.monotonic()
        leaving = self.router[1] if self.router else -1
        every = (*self.devices, leaving) if self.router else self.devices
        while (now := time.monotonic()) < until:
            wait = min(self.arriving[0][0] if self.arriving else until, until) - now
            ready, _, _ = select.select(every, [], [], max(0.0, wait))
            now = time.monotonic()
            for tun in ready:
                way = every.index(tun)
                while True:
                    try:
                        packet = os.read(tun, 65_536)
                    except BlockingIOError:
                        break
                    if packet[0] >> 4 == 4:
                        if tun == leaving:
                            self.leave(now, packet)
                        else:
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
    """A server that sends as much as the other end reads."""
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
    """Reads for so long from the first byte on, and prints how many bytes came, and in how many seconds."""
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


def give(controller: str, size: int) -> None:
    """Opens, sends so much and closes; prints when it began."""
    connection = socket.socket()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, controller.encode())
    print(time.monotonic(), flush=True)
    connection.connect((CLIENT, PORT))
    connection.sendall(bytes(size))
    connection.close()


def take() -> None:
    """A server that reads all that comes; prints when it had the last byte, and how many there were."""
    listening = socket.create_server((CLIENT, PORT))
    print("ready", flush=True)
    connection, _ = listening.accept()
    total, last = 0, 0.0
    while got := len(connection.recv(1 << 20)):
        total, last = total + got, time.monotonic()
    print(last, total, flush=True)


def in_namespace(namespace: str, *arguments: str) -> "subprocess.Popen[str]":
    """Starts this program in a namespace, in the role of the arguments."""
    command = ["ip", "netns", "exec", namespace, sys.executable, __file__, *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def drain(devices: tuple[int, int]) -> None:
    """Reads the packets that are still in the devices for 2 s, and throws them away."""
    until = time.monotonic() + 2.0
    while (now := time.monotonic()) < until:
        for tun in select.select(devices, [], [], until - now)[0]:
            with contextlib.suppress(BlockingIOError):
                os.read(tun, 65_536)


def router(path: Path) -> tuple[int, int]:
    """A namespace that forwards from one device to another, which has the rate and the queue of the path."""
    into = device("tunC", "router", "10.9.1.1")
    out = device("tunD", "router", "10.9.2.1")
    run("ip netns exec router sysctl -q -w net.ipv4.ip_forward=1")
    run("ip -n router route add 10.9.0.0/24 dev tunD")
    run(f"tc -n router qdisc add dev tunD root handle 1: tbf rate {path.rate:.0f}bit burst 1600 limit 100mb")
    run(
        f"tc -n router qdisc add dev tunD parent 1:1 codel limit {path.codel} target 5ms interval 100ms noecn"
    )
    return into, out


def close_router(devices: tuple[int, int]) -> int:
    """How many packets its queue has dropped; there is no router any more."""
    told = subprocess.run(
        "tc -n router -s qdisc show dev tunD", shell=True, check=True, text=True, capture_output=True
    ).stdout
    print(told, flush=True)
    for tun in devices:
        os.close(tun)
    run("ip netns del router")
    return int(told.split("qdisc codel")[1].split("dropped ")[1].split(",")[0])


def transfer(path: Path, controller: str, seed: int, devices: tuple[int, int]) -> list[object]:
    """One transfer, alone on the path: a row of the table."""
    receiver = in_namespace("receiver", "take")
    receiver.stdout.readline()
    sender = in_namespace("sender", "give", controller, str(path.transfer))
    line = Line(path, devices, seed)
    line.carry(time.monotonic() + path.seconds)
    began = float(sender.stdout.readline())
    last, total = receiver.stdout.readline().split()
    if int(total) != path.transfer:
        raise ValueError(f"{total} bytes came")
    for process in (receiver, sender):
        process.wait()
    drain(devices)
    seconds = float(last) - began
    rate = path.transfer * 8 / seconds / 1e6
    return [path.name, controller, seed, f"{rate:.2f}", "", line.dropped, line.lost, f"{seconds:.3f}"]


def measure(path: Path, controller: str, seed: int, devices: tuple[int, int]) -> list[object]:
    """One flow, alone on the path: a row of the table."""
    sender = in_namespace("sender", "send", controller)
    sender.stdout.readline()
    receiver = in_namespace("receiver", "receive", str(path.seconds))
    line = Line(path, devices, seed)
    # Time for the start of the program, the handshake and the first byte is added to the run itself.
    line.carry(time.monotonic() + path.seconds + 1.0 + 2 * path.round_trip)
    total, seconds = (float(word) for word in receiver.stdout.readline().split())
    for process in (receiver, sender):
        process.kill()
        process.wait()
    # No packet of this run is left for the next.
    if line.router:
        line.dropped += close_router(line.router)
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
        f"{seconds:.3f}",
    ]


def played() -> bool:
    """Plays one end, if the arguments ask for one; returns whether they did."""
    if sys.argv[1] == "send":
        send(sys.argv[2])
    elif sys.argv[1] == "receive":
        receive(float(sys.argv[2]))
    elif sys.argv[1] == "give":
        give(sys.argv[2], int(sys.argv[3]))
    elif sys.argv[1] == "take":
        take()
    else:
        return False
    return True


def joined() -> tuple[int, int]:
    """Two namespaces and their devices, the sender's first."""
    devices = (device("tunA", "sender", SERVER), device("tunB", "receiver", CLIENT))
    for namespace in ("sender", "receiver"):
        # Windows are to be limited by the controller and not by buffers; each run begins without the kernel's saved metrics of the last one.
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
    parser.add_argument("--every", action="store_true", help="all seeds where nothing is lost at random, too")
    parser.add_argument("--controllers", default="reno,cubic,bbr")
    parser.add_argument("--paths", default=",".join(str(place) for place in range(len(PATHS))))
    parser.add_argument("--seconds", type=float, help="of a run, instead of the path's own")
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
        rows.writerow(
            ["path", "controller", "seed", "goodput_mbps", "queue_packets", "dropped", "lost", "seconds"]
        )
        for place in args.paths.split(","):
            path = PATHS[int(place)]
            if args.seconds:
                path = dataclasses.replace(path, seconds=args.seconds)
            for controller in args.controllers.split(","):
                for seed in range(1, (args.seeds if path.loss or args.every else 1) + 1):
                    measured = transfer if path.transfer else measure
                    rows.writerow(measured(path, controller, seed, devices))
                    file.flush()


if __name__ == "__main__":
    main()
