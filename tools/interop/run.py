"""Plays one case: a relay, two drivers, a judgement."""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from . import wire
from .cases import Case, Outcome

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
    seconds: float = 0.0
    capture: str | None = None
    reports: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """For the file."""
        return asdict(self)


class Driver:
    """A program that says when it is ready and prints a line of JSON at its end."""

    def __init__(self, command: list[str], log: Path, *, stdin: bool = False) -> None:
        self.log = log.open("w")
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=False,
        )
        self.text = b""

    def wait_ready(self, seconds: float = 20.0) -> bool:
        """Waits for its first line."""
        return self._until(lambda: b"\n" in self.text, seconds)

    def finish(self, seconds: float) -> dict[str, Any] | None:
        """Its report, once it has ended; `None` if it has none."""
        ended = self._until(lambda: False, seconds)
        if not ended:
            self.process.kill()
        self.process.wait()
        self.log.close()
        for line in reversed(self.text.decode(errors="replace").splitlines()):
            try:
                report = json.loads(line)
            except json.JSONDecodeError:
                continue
            if isinstance(report, dict) and "ready" not in report:
                return report
        return None

    def kill(self) -> None:
        """Ends it without a word."""
        self.process.kill()
        self.process.wait()

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


def free_ports(count: int) -> list[int]:
    """UDP ports that nobody has at the moment."""
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(count)]
    for one in sockets:
        one.bind((HOST, 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def play(case: Case, peer: str, role: str, commands: dict[str, list[str]], out: Path, seed: int = 1) -> Cell:
    """Plays a case with the peer in that role. `commands` has ours, the peer's and the relay's."""
    stem = out / f"{case.name}-{peer}-{role}"
    cell = Cell(case.name, peer, role, "fail")
    began = time.monotonic()
    near, far, from_, to = (f"{HOST}:{port}" for port in free_ports(4))
    capture = stem.with_suffix(".pcapng") if case.capture else None
    relay_command = [*commands["relay"], "--near", near, "--far", far, "--from", from_, "--to", to]
    relay_command += ["--seed", str(seed), *case.relay]
    if capture:
        relay_command += ["--pcapng", str(capture)]
    names = {
        "connect": peer if role == "connect" else "anabranch",
        "listen": peer if role == "listen" else "anabranch",
    }

    def options(side: str) -> list[str]:
        addresses = {"connect": (from_, near), "listen": (to, far)}[side]
        line = [*commands[names[side]], side, "--local", addresses[0], "--remote", addresses[1]]
        line += ["--case", case.name, "--deadline", str(case.deadline), *case.both]
        line += case.connect if side == "connect" else case.listen
        if side != role:
            line += case.ours
        return line

    relay = Driver(relay_command, stem.with_suffix(".relay.log"), stdin=True)
    relay.wait_ready()
    listening = Driver(options("listen"), stem.with_suffix(".listen.log"))
    listening.wait_ready()
    if case.restart:
        first = Driver([*options("connect"), "--end", "wait"], stem.with_suffix(".first.log"))
        time.sleep(1.5)
        first.kill()
    connecting = Driver(options("connect"), stem.with_suffix(".connect.log"))
    reports: dict[str, Any] = {
        "connect": connecting.finish(case.deadline + GRACE),
        "listen": listening.finish(case.deadline + GRACE),
    }
    assert relay.process.stdin is not None
    relay.process.stdin.close()
    reports["relay"] = relay.finish(10)
    cell.seconds = round(time.monotonic() - began, 2)
    cell.reports = reports
    cell.capture = capture.name if capture else None
    judge(cell, case, reports, capture)
    return cell


def judge(cell: Cell, case: Case, reports: dict[str, Any], capture: Path | None) -> None:
    """Fills in how the cell ended."""
    for side in ("connect", "listen"):
        report = reports[side]
        if report is None:
            cell.why.append(f"the {side}ing driver printed no report")
        elif report.get("cannot"):
            cell.state, cell.why = "cannot", [report["cannot"]]
            return
    if cell.why:
        return
    packets = wire.read(capture) if case.wire and capture else []
    outcome = Outcome(
        reports["connect"],
        reports["listen"],
        reports["relay"] or {},
        packets,
        "listen" if cell.role == "connect" else "connect",
    )
    cell.why = case.check(outcome)
    cell.state = "fail" if cell.why else "pass"
