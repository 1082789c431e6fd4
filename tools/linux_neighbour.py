"""Our SCTP beside Linux's own TCP on one bottleneck: the share of each, and whether the simulator has the same.

As `linux_tcp.py`, whose path it takes, this runs inside a guest of user-mode Linux with virtual time, as root. SCTP is the program
`anabranch perf` over UDP with its own sockets, TCP the kernel's. The network is that of `experiments/rate/fairness`: 20 Mbit/s, a round
trip of 40 ms, drop-tail queues of 0.25 to 4 bandwidth-delay products; both have something to send all the time, and the share is
that of the bytes that the bottleneck carries in 100 s after 20 s. The first to begin, and the delay of the other, up to 2 s, are drawn.

A host takes up to 1 ms for an acknowledgement. Without that nothing on this path is random, and flows are locked in phase: whose packets come
right before the queue moves finds it full (docs/explanation/rate.md).

usage: linux_neighbour.py ANABRANCH OUT.csv [--seeds N] [--sctp reno,cubic+hystart,bbr] [--tcp reno,cubic,bbr] [--queues 0.25,1,2,4]
       [--spread MS]
"""

import argparse
import csv
import random
import subprocess
import sys
import time

import linux_tcp

WARM_UP, MEASURED = 20.0, 100.0
PRODUCT = 100_000
TCP, UDP = 6, 17


def measure(
    program: str, sctp: str, tcp: str, path: linux_tcp.Path, seed: int, devices: tuple[int, int]
) -> list[object]:
    """One pair: a row of the table."""
    drawn = random.Random(seed)
    line = linux_tcp.Line(path, devices, seed)
    lasts = WARM_UP + MEASURED + 5.0
    server = ["ip", "netns", "exec", "receiver", program, "perf", "server", "--count", "1"]
    client = ["ip", "netns", "exec", "sender", program, "perf", "client", linux_tcp.CLIENT]
    client += ["--time", str(int(lasts)), "--interval", "60", "--set", f"congestion_control={sctp}"]
    running = [subprocess.Popen(server, stdout=subprocess.DEVNULL)]
    sender = linux_tcp.in_namespace("sender", "send", tcp)
    sender.stdout.readline()
    running.append(sender)
    begins = sorted([(drawn.uniform(0, 2), "sctp"), (drawn.uniform(0, 2), "tcp")])
    began = time.monotonic()
    line.counts_from = began + WARM_UP
    for at, who in begins:
        line.carry(began + at)
        if who == "sctp":
            running.append(subprocess.Popen(client, stdout=subprocess.DEVNULL))
        else:
            running.append(linux_tcp.in_namespace("receiver", "receive", str(lasts)))
    line.carry(began + WARM_UP + MEASURED)
    for process in running:
        process.kill()
        process.wait()
    # Packets of this pair that are under way are not there for the next.
    linux_tcp.drain(devices)
    ours, theirs = line.carried[UDP], line.carried[TCP]
    total = 8 * (ours + theirs) / MEASURED / 1e6
    return [path.name, sctp, tcp, seed, f"{ours / max(1, ours + theirs):.4f}", f"{total:.2f}"]


def main() -> None:
    """Every pair at every queue."""
    if linux_tcp.played():
        return
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("out")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--sctp", default="reno,cubic+hystart,bbr")
    parser.add_argument("--tcp", default="reno,cubic,bbr")
    parser.add_argument("--queues", default="0.25,1,2,4")
    parser.add_argument(
        "--spread", type=float, default=1.0, help="ms that a host takes for an acknowledgement, at most"
    )
    args = parser.parse_args()
    devices = linux_tcp.joined()
    with open(args.out, "w", newline="", encoding="ascii") as file:
        rows = csv.writer(file)
        rows.writerow(["queue", "sctp", "tcp", "seed", "share_of_sctp", "carried_mbps"])
        for queue in (float(word) for word in args.queues.split(",")):
            path = linux_tcp.Path(
                f"{queue:g} BDP", 20e6, 0.040, int(queue * PRODUCT), spread=args.spread / 1e3
            )
            for sctp in args.sctp.split(","):
                for tcp in args.tcp.split(","):
                    for seed in range(1, args.seeds + 1):
                        rows.writerow(measure(args.program, sctp, tcp, path, seed, devices))
                        file.flush()


if __name__ == "__main__":
    sys.exit(main())
