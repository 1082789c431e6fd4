"""`python -m interop.bench`: what each stack costs, both ends the same stack, over UDP on loopback.

In one run, one stack after the other, again and again; medians. CPU time is that of both ends together, by getrusage, for each byte of
user data; throughput is what the receiving side saw.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from . import peers
from .run import HOST, Driver, free_ports

SIZES = (64, 1024, 16384)
PACKETS = (1228, 1472)
MOST_BYTES = 400_000_000
FIRST_BYTES = 2_000_000
SECONDS = 1.0
"""Seconds that one transfer should take at least: shorter ones measure the slow start."""


def transfer(command: list[str], size: int, packet: int, messages: int) -> dict[str, float] | None:
    """One transfer between two ends of a stack: ns of CPU for each byte, and bits a second."""
    one, other = (f"{HOST}:{port}" for port in free_ports(2))
    common = ["--mtu", str(packet), "--size", str(size), "--no-digest", "--deadline", "60"]
    with tempfile.TemporaryDirectory() as room:
        listening = Driver(
            [*command, "listen", "--local", other, "--remote", one, *common], Path(room) / "listen"
        )
        listening.wait_ready()
        line = [*command, "connect", "--local", one, "--remote", other, *common, "--send", str(messages)]
        line += ["--end", "shutdown"]
        connecting = Driver(line, Path(room) / "connect")
        sender, receiver = connecting.report(70), listening.report(20)
        for driver in (connecting, listening):
            driver.end()
    if not sender or not receiver or not receiver["received"]["bytes"] or receiver["deadline"]:
        return None
    received = receiver["received"]["bytes"]
    return {
        "ns_per_byte": (sender["cpu_ns"] + receiver["cpu_ns"]) / received,
        "bits_per_second": received * 8e9 / max(receiver["elapsed_ns"], 1),
        "seconds": receiver["elapsed_ns"] / 1e9,
        "bytes": received,
        "rss_mib": (sender["max_rss_kib"] + receiver["max_rss_kib"]) / 1024,
    }


def handshakes(command: list[str], count: int) -> dict[str, float] | None:
    """Associations set up and shut down one after the other: how many a second, and CPU time of one."""
    one, other = (f"{HOST}:{port}" for port in free_ports(2))
    common = ["--associations", str(count), "--no-digest", "--deadline", "60"]
    with tempfile.TemporaryDirectory() as room:
        listening = Driver(
            [*command, "listen", "--local", other, "--remote", one, *common], Path(room) / "listen"
        )
        listening.wait_ready()
        line = [*command, "connect", "--local", one, "--remote", other, *common, "--end", "shutdown"]
        connecting = Driver(line, Path(room) / "connect")
        caller, answerer = connecting.report(70), listening.report(20)
        for driver in (connecting, listening):
            driver.end()
    if not caller or not answerer or caller.get("cannot") or caller["established"] < count:
        return None
    return {
        "per_second": (count - 1) * 1e9 / max(caller["elapsed_ns"], 1),
        "cpu_us": (caller["cpu_ns"] + answerer["cpu_ns"]) / count / 1000,
    }


def floor(program: str, packet: int, batch: int) -> dict[str, float]:
    """Bare UDP: ns of CPU of the sender for a byte sent, and of the receiver for a byte received."""
    one, other = (f"{HOST}:{port}" for port in free_ports(2))
    options = ["--packet", str(packet), "--batch", str(batch)]
    with tempfile.TemporaryDirectory() as room:
        line = [program, "receive", "--local", other, "--remote", one, *options]
        receiving = Driver(line, Path(room) / "receive")
        receiving.wait_ready()
        sending = Driver([program, "send", "--local", one, "--remote", other, *options], Path(room) / "send")
        sent, got = sending.report(20) or {}, receiving.report(20) or {}
        for driver in (sending, receiving):
            driver.end()
    return {"ns_per_byte": sent["cpu_ns"] / sent["bytes"] + got["cpu_ns"] / max(got["bytes"], 1)}


def median(runs: list[dict[str, float]], key: str) -> float:
    """The median of one figure."""
    return statistics.median(run[key] for run in runs)


def conditions() -> str:
    """The conditions that a reader has to know of the machine."""
    model = platform.processor() or platform.machine()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    load = os.getloadavg()[0]
    return f"{model}, {os.cpu_count()} cores, kernel {platform.release()}, load before the run {load:.1f}"


def medians(runs: dict[tuple[Any, ...], list[dict[str, float]]], before: str) -> dict[str, Any]:
    """The medians of the runs so far."""
    found: dict[str, Any] = {"conditions": before, "transfer": {}, "handshakes": {}, "floor": {}}
    found["load_at_the_end"] = os.getloadavg()[0]
    found["rounds"] = max((len(values) for values in runs.values()), default=0)
    for kind, values in runs.items():
        if kind[0] == "floor":
            found["floor"][f"{kind[1]}/{kind[2]}"] = median(values, "ns_per_byte")
        elif kind[0] == "handshakes":
            found["handshakes"][kind[1]] = {key: median(values, key) for key in ("per_second", "cpu_us")}
        else:
            figures = {key: median(values, key) for key in ("ns_per_byte", "bits_per_second", "rss_mib")}
            found["transfer"].setdefault(kind[0], {})[f"{kind[1]}/{kind[2]}"] = figures
    return found


def measure(arguments: argparse.Namespace, commands: dict[str, list[str]], bare: str) -> dict[str, Any]:
    """Everything, alternating. The results so far are saved after each round, so that an interrupted run leaves some."""
    before = conditions()
    runs: dict[tuple[Any, ...], list[dict[str, float]]] = {}
    amount: dict[tuple[Any, ...], int] = {}
    kinds = [
        (name, size, packet) for packet in arguments.packet for size in arguments.size for name in commands
    ]
    for turn in range(arguments.runs + 1):
        for kind in kinds:
            name, size, packet = kind
            messages = amount.get(kind, max(FIRST_BYTES // size, 1))
            run = transfer(commands[name], size, packet, messages)
            if run is None:
                print(f"{name}, {size} B, {packet}: no result", flush=True)
                continue
            if turn == 0:
                # Only how much is enough for the wanted time.
                wanted = run["bits_per_second"] / 8 * SECONDS
                amount[kind] = max(int(min(wanted, MOST_BYTES) / size), 1)
                continue
            runs.setdefault(kind, []).append(run)
            print(
                f"{name}, {size} B, packets of {packet}: {run['ns_per_byte']:.2f} ns/B, "
                f"{run['bits_per_second'] / 1e9:.2f} Gbit/s",
                flush=True,
            )
        if turn:
            for packet in arguments.packet:
                for batch in (1, 40):
                    runs.setdefault(("floor", packet, batch), []).append(floor(bare, packet, batch))
            for name, command in commands.items():
                run = handshakes(command, 1000)
                if run:
                    runs.setdefault(("handshakes", name), []).append(run)
            save(medians(runs, before), arguments)
    return medians(runs, before)


def ratios(found: dict[str, Any], arguments: argparse.Namespace, packet: int) -> list[str]:
    """Rows that compare our sockets with the best of the others, and with the floor; empty where one of them is missing."""
    ours = found["transfer"].get("live")
    others = [by_kind for name, by_kind in found["transfer"].items() if name not in ("live", "anabranch")]
    bare = found["floor"].get(f"{packet}/40")
    if not ours or not others or not bare:
        return []
    best, floors = [], []
    for size in arguments.size:
        kind = f"{size}/{packet}"
        costs = [by_kind[kind]["ns_per_byte"] for by_kind in others if kind in by_kind]
        mine = ours.get(kind)
        best.append(f"{min(costs) / mine['ns_per_byte']:.1f}" if costs and mine else "none")
        floors.append(f"{mine['ns_per_byte'] / bare:.1f}" if mine else "none")
    return [
        "| the best other stack costs so many times `live` | " + " | ".join(best) + " | |",
        "| `live` costs so many times the floor | " + " | ".join(floors) + " | |",
    ]


def table(found: dict[str, Any], arguments: argparse.Namespace) -> str:
    """Markdown: a row for each stack, CPU ns a byte and Gbit/s for each size."""
    lines = [
        f"{found['conditions']}, after it {found['load_at_the_end']:.1f}; medians of {found['rounds']}",
        "",
    ]
    for packet in arguments.packet:
        lines.append(f"Packets of {packet} bytes: ns of CPU a byte, both ends (Gbit/s)")
        lines.append("")
        lines.append(
            "| stack | " + " | ".join(f"{size} B" for size in arguments.size) + " | memory, both, MiB |"
        )
        lines.append("|---|" + "---|" * (len(arguments.size) + 1))
        for name, by_kind in found["transfer"].items():
            cells = []
            for size in arguments.size:
                figures = by_kind.get(f"{size}/{packet}")
                cells.append(
                    f"{figures['ns_per_byte']:.2f} ({figures['bits_per_second'] / 1e9:.2f})"
                    if figures
                    else "none"
                )
            most = max((f["rss_mib"] for f in by_kind.values()), default=float("nan"))
            lines.append(f"| {name} | " + " | ".join(cells) + f" | {most:.0f} |")
        lines += ratios(found, arguments, packet)
        bare = [found["floor"].get(f"{packet}/{batch}", float("nan")) for batch in (40, 1)]
        lines += [
            "",
            f"The floor: {bare[0]:.2f} ns a byte with GSO and GRO, {bare[1]:.2f} one packet a call.",
            "",
        ]
    lines += ["| stack | handshakes and shutdowns a second | CPU of one, both ends, us |", "|---|---|---|"]
    for name, figures in found["handshakes"].items():
        lines.append(f"| {name} | {figures['per_second']:.0f} | {figures['cpu_us']:.0f} |")
    return "\n".join(lines)


def save(found: dict[str, Any], arguments: argparse.Namespace) -> str:
    """Writes figures and table; answers the table."""
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "bench.json").write_text(json.dumps(found, indent=1) + "\n")
    text = table(found, arguments)
    (arguments.out / "bench.md").write_text(text + "\n")
    return text


def main() -> int:
    """Builds, measures, prints and saves."""
    parser = argparse.ArgumentParser(prog="bench-peers", description=__doc__)
    parser.add_argument("--peer", action="append", default=[])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--size", type=int, action="append", default=[])
    parser.add_argument("--packet", type=int, action="append", default=[])
    parser.add_argument("--out", type=Path, default=peers.ROOT / "out" / "bench-peers")
    arguments = parser.parse_args()
    arguments.size = arguments.size or list(SIZES)
    arguments.packet = arguments.packet or list(PACKETS)
    peers.PROFILE = "release"
    commands = {}
    wanted = peers.named(arguments.peer)
    if not arguments.peer:
        wanted += peers.named(["live"])
    for peer in wanted:
        if peer.no_shutdown:
            print(f"{peer.name} is left out: two of it never end an association gracefully", file=sys.stderr)
            continue
        if peer.alone:
            print(f"{peer.name} is left out: there is one of it", file=sys.stderr)
            continue
        try:
            commands[peer.name] = peer.build()
        except peers.BuildError as error:
            print(f"{peer.name} is left out: {error}", file=sys.stderr)
    bare = peers.cargo("peer-floor")[0]
    began = time.monotonic()
    found = measure(arguments, commands, bare)
    text = save(found, arguments)
    print("\n" + text + f"\n\n{time.monotonic() - began:.0f} s; {arguments.out / 'bench.json'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
