"""Plays one case: a relay, two drivers, a judgement."""

from __future__ import annotations

import itertools
import json
import os
import select
import socket
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from . import wire
from .cases import Case, Outcome, rate
from .excuses import Excuse
from .peers import ALL, Peer

HOST = "127.0.0.1"
GRACE = 4.0
"""Seconds that a driver may take beyond its deadline."""


@dataclass
class Cell:
    """One case with one peer in one role."""

    case: str
    peer: str
    role: str
    """The peer's."""
    state: str
    """"pass", "fail" or "cannot"."""
    why: list[str] = field(default_factory=list)
    seed: int = 1
    seconds: float = 0.0
    capture: str | None = None
    mbits: float | None = None
    """Mbit/s of user data, of a case that is measured."""
    alike: dict[str, float] = field(default_factory=dict)
    """The throughput between two ends of the same stack over the same relay, Mbit/s, by stack."""
    reports: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """For the file."""
        return asdict(self)


class Driver:
    """A program that says when it is ready, prints a report, and may stay until its standard input ends."""

    def __init__(self, command: list[str], log: Path) -> None:
        self.log = log.open("w")
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=False,
        )
        self.text = b""

    def wait_ready(self, seconds: float = 20.0) -> bool:
        """Waits for its first line; whether there is one."""
        self._until(lambda: b"\n" in self.text, seconds)
        return b"\n" in self.text

    def report(self, seconds: float) -> dict[str, Any] | None:
        """The report of the program; `None` if there is none within this time."""
        self._until(lambda: self._last() is not None, seconds)
        return self._last()

    def end(self) -> None:
        """Lets it end; makes it."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        if not self._until(lambda: False, 3.0):
            # A guest ends its kernel first.
            self.process.terminate()
            if not self._until(lambda: False, 1.0):
                self.process.kill()
        self.process.wait()
        self._close()

    def _close(self) -> None:
        if self.process.stdout is not None:
            self.process.stdout.close()
        self.log.close()

    def _last(self) -> dict[str, Any] | None:
        for line in reversed(self.text.decode(errors="replace").splitlines()):
            try:
                report = json.loads(line)
            except json.JSONDecodeError:
                continue
            if isinstance(report, dict) and "ready" not in report:
                return report
        return None

    def log_text(self) -> str:
        """The output of the driver besides its report."""
        return Path(self.log.name).read_text(errors="replace")

    def kill(self) -> None:
        """Ends it without a word."""
        self.process.kill()
        self.process.wait()
        self._close()

    def _until(self, done: Any, seconds: float) -> bool:
        until = time.monotonic() + seconds
        assert self.process.stdout is not None
        while not done():
            left = until - time.monotonic()
            if left <= 0:
                return False
            if not select.select([self.process.stdout], [], [], left)[0]:
                continue
            piece = os.read(self.process.stdout.fileno(), 65536)
            if not piece:
                return True
            self.text += piece
        return True


# Below the ports that the system gives out by itself (32,768 and above on Linux, 49,152 by RFC 6335): no other
# program is given one of them between the moment it is tried here and the moment a driver binds it.
_PORTS = range(20_000, 32_000)
_next_port = itertools.count(os.getpid() * 64)
_ports_lock = threading.Lock()
# A stranger takes ports by accident: five times in a row is another fault.
_PORT_TRIES = 5
# EADDRINUSE, as the system, Rust and Python tell it.
_ADDRESS_IN_USE = ("Address already in use", "AddrInUse", "EADDRINUSE")


def free_ports(count: int) -> list[int]:
    """UDP ports that nobody has at the moment. This process is never given one twice before all have been used."""
    ports: list[int] = []
    with _ports_lock:
        for _ in _PORTS:
            port = _PORTS[next(_next_port) % len(_PORTS)]
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
                try:
                    one.bind((HOST, port))
                except OSError:
                    continue
            ports.append(port)
            if len(ports) == count:
                return ports
    raise RuntimeError(f"no {count} UDP ports of {_PORTS.start} to {_PORTS.stop - 1} are free on {HOST}")


def _wait(drivers: dict[str, Driver], seconds: float) -> dict[str, Any]:
    """The reports of both sides. Nobody waits for the other side of one that cannot play, or that is no more."""
    until = time.monotonic() + seconds
    reports: dict[str, Any] = dict.fromkeys(drivers)
    while time.monotonic() < until and not all(reports.values()):
        for side, driver in drivers.items():
            reports[side] = reports[side] or driver.report(0.1)
            if (reports[side] or {}).get("cannot") or (driver.process.poll() and not reports[side]):
                return reports
    return reports


def turned(case: Case) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The options of both sides where the listening side is to shut down, once it has everything."""
    connect = tuple("wait" if word == "shutdown" else word for word in case.connect)
    if "shutdown" not in case.connect:
        return case.connect, case.listen
    expected = case.connect[case.connect.index("--send") + 1] if "--send" in case.connect else "0"
    return connect, (*case.listen, "--expect", expected, "--end", "shutdown")


def aborted(case: Case) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The options of both sides where neither begins a shutdown: the listener aborts, once it has everything."""
    connect, listen = turned(case)
    return connect, tuple("abort" if word == "shutdown" else word for word in listen)


SHARE = 1 / 3
"""The least throughput of two different stacks, as a part of that of the slower stack with another of its kind."""
STAND_IN = "usrsctp"
"""The stack that takes the place of a second one of the same kind, where a machine has only one."""


def measure(
    case: Case,
    peer: Peer,
    role: str,
    commands: dict[str, list[str]],
    out: Path,
    seed: int,
    alike: dict[str, float],
) -> Cell:
    """Plays a case whose figure counts. `alike` has earlier measurements of two ends of one stack; new ones are added to it."""
    ours = next(known for known in ALL if known.name == "anabranch")
    kinds = {"anabranch": (ours, "connect", "anabranch")}
    if peer.alone is None:
        kinds[peer.name] = (peer, "connect", peer.name)
    else:
        kinds[f"{peer.name}, which {role}s, with {STAND_IN}"] = (peer, role, STAND_IN)
    for name, (one, its_role, other) in kinds.items():
        if name not in alike and other in commands:
            cell = play(case, one, its_role, commands, out, seed, "-alike", other)
            if cell.mbits:
                alike[name] = cell.mbits
    cell = play_often(case, peer, role, commands, out, seed)
    cell.alike = {name: alike[name] for name in kinds if name in alike}
    if cell.state == "pass" and cell.mbits is not None and len(cell.alike) == len(kinds):
        least = SHARE * min(cell.alike.values())
        if cell.mbits < least:
            cell.state = "fail"
            cell.why = [
                f"{cell.mbits} Mbit/s, and with another of its kind each has more: {cell.alike} Mbit/s"
            ]
    return cell


def play_often(
    case: Case, peer: Peer, role: str, commands: dict[str, list[str]], out: Path, seed: int = 1
) -> Cell:
    """Plays a case as often as it says."""
    if case.times == 1:
        with peer.alone or nullcontext():
            return play(case, peer, role, commands, out, seed)
    if peer.alone:
        with peer.alone:
            cells = [play(case, peer, role, commands, out, seed + n, f"-{n}") for n in range(case.times)]
        return _worst(case, cells)
    with ThreadPoolExecutor(max_workers=10) as pool:
        cells = list(
            pool.map(lambda n: play(case, peer, role, commands, out, seed + n, f"-{n}"), range(case.times))
        )
    return _worst(case, cells)


def _worst(case: Case, cells: list[Cell]) -> Cell:
    """The cell of a failure, if there is one; otherwise a cell of state `cannot`, if there is one."""
    states = [cell.state for cell in cells]
    state = next(state for state in ("fail", "cannot", "pass") if state in states)
    worst = cells[states.index(state)]
    if state == "fail":
        failed = states.count("fail")
        worst.why.insert(
            0, f"{case.times - failed} of {case.times}; the first that failed has seed {worst.seed}"
        )
    worst.seconds = max(cell.seconds for cell in cells)
    return worst


def play(
    case: Case,
    peer: Peer,
    role: str,
    commands: dict[str, list[str]],
    out: Path,
    seed: int = 1,
    mark: str = "",
    other: str = "anabranch",
) -> Cell:
    """
    Plays a case with the peer in that role, against ours or another stack. `commands` has both and the relay's.

    A port that was free can be another program's when a driver binds it. That says nothing of a stack: the case is
    played again with other ports.
    """
    stem = out / f"{case.name}-{peer.name}-{role}{mark}"
    for _ in range(_PORT_TRIES):
        cell, logs = _play_once(case, peer, role, commands, stem, seed, other)
        if cell.state != "fail" or not any(port_was_taken(log) for log in logs):
            break
    return cell


def port_was_taken(log: str) -> bool:
    """Whether a driver or the relay says that it could not bind because somebody else has the address."""
    return any(words in log for words in _ADDRESS_IN_USE)


def _play_once(
    case: Case, peer: Peer, role: str, commands: dict[str, list[str]], stem: Path, seed: int, other: str
) -> tuple[Cell, list[str]]:
    """The case once, with ports of its own and files that begin with `stem`; with the programs' output besides their reports."""
    cell = Cell(case.name, peer.name, role, "fail", seed=seed)
    excuse = peer.excuse(case.name, role)
    deadline = min(case.deadline, excuse.deadline) if excuse else case.deadline
    connect, listen = case.connect, case.listen
    if peer.no_shutdown and role == "connect" and not case.own_end:
        connect, listen = turned(case) if other != peer.name else aborted(case)
    began = time.monotonic()
    ports = free_ports(4)
    theirs = 2 if role == "connect" else 3
    hosts = [HOST] * 4
    hosts[theirs], hosts[theirs - 2] = peer.address, peer.host
    near, far, from_, to = (f"{host}:{port}" for host, port in zip(hosts, ports, strict=True))
    capture = stem.with_suffix(".pcapng") if case.capture else None
    relay_command = [*commands["relay"], "--near", near, "--far", far, "--from", from_, "--to", to]
    relay_command += ["--seed", str(seed), *case.relay]
    relay_command += peer.relay.get(case.name, ()) if role == "connect" else ()
    if capture:
        relay_command += ["--pcapng", str(capture)]
    names = {side: peer.name if side == role else other for side in ("connect", "listen")}

    def options(side: str) -> list[str]:
        addresses = {"connect": (from_, near), "listen": (to, far)}[side]
        line = [*commands[names[side]], side, "--local", addresses[0], "--remote", addresses[1]]
        line += ["--case", case.name, "--deadline", str(deadline), *case.both]
        line += connect if side == "connect" else listen
        if side != role:
            line += case.ours
        return line

    relay = Driver(relay_command, stem.with_suffix(".relay.log"))
    if not relay.wait_ready():
        relay.end()
        said = relay.log_text().strip().splitlines() or ["nothing"]
        cell.why = [f"the relay did not start; it said: {said[-1]}"]
        return cell, [relay.log_text()]
    listening = Driver(options("listen"), stem.with_suffix(".listen.log"))
    listening.wait_ready()
    if case.restart:
        line = [*options("connect"), "--send", "0", "--end", "wait", "--until-up"]
        first = Driver(line, stem.with_suffix(".first.log"))
        first.report(case.deadline / 2)
        first.kill()
    connecting = Driver(options("connect"), stem.with_suffix(".connect.log"))
    reports = _wait({"connect": connecting, "listen": listening}, deadline + GRACE)
    for driver in (connecting, listening, relay):
        driver.end()
    reports["relay"] = relay.report(0)
    cell.seconds = round(time.monotonic() - began, 2)
    cell.reports = reports
    cell.capture = capture.name if capture else None
    judge(cell, case, reports, capture, excuse)
    return cell, [driver.log_text() for driver in (relay, listening, connecting)]


def judge(
    cell: Cell, case: Case, reports: dict[str, Any], capture: Path | None, excuse: Excuse | None = None
) -> None:
    """Fills in how the cell ended."""
    for side in ("connect", "listen", "relay"):
        report = reports.get(side)
        if report is None and side != "relay":
            cell.why.append(f"the {side}ing driver printed no report")
        elif report and report.get("cannot"):
            cell.state, cell.why = "cannot", [report["cannot"]]
            return
    if cell.why:
        return
    packets = wire.read(capture) if capture and (case.wire or excuse) else []
    outcome = Outcome(
        reports["connect"],
        reports["listen"],
        reports.get("relay") or {},
        packets,
        "listen" if cell.role == "connect" else "connect",
    )
    cell.why = case.check(outcome)
    cell.state = "fail" if cell.why else "pass"
    if case.measured:
        cell.mbits = round(rate(outcome), 1)
    if cell.why and excuse:
        if excuse.shows(outcome):
            cell.state, cell.why = "cannot", [excuse.reason]
        else:
            cell.why.append(f'the capture does not show what the peer is known for: "{excuse.reason}"')
