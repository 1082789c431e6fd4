"""The stacks: how each driver is built and started, and what it cannot do."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PEERS = ROOT / "benches" / "peers"
BUILT = ROOT / "target" / "peers"


class BuildError(Exception):
    """A driver cannot be had on this machine; says why."""


@dataclass(frozen=True)
class Peer:
    """A stack, and its driver."""

    name: str
    about: str
    build: Callable[[], list[str]]
    """Builds the driver and answers the beginning of its command line."""
    cannot: dict[str, str] = field(default_factory=dict)
    """Cases that it cannot play in either role, and why."""
    cannot_listen: dict[str, str] = field(default_factory=dict)
    """Cases that it cannot play when it listens."""
    cannot_connect: dict[str, str] = field(default_factory=dict)
    """Cases that it cannot play when it connects."""
    crates_only: bool = True
    """Whether nothing but crates is needed to build it."""

    def reason(self, case: str, role: str) -> str | None:
        """Why this peer cannot play the case in that role."""
        by_role = self.cannot_listen if role == "listen" else self.cannot_connect
        return self.cannot.get(case) or by_role.get(case)


def _run(command: list[str], where: Path) -> None:
    try:
        done = subprocess.run(command, cwd=where, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise BuildError(f"{command[0]} is not installed") from error
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise BuildError(f"{' '.join(command[:3])}: " + " / ".join(lines[-4:]))


def cargo(crate: str, profile: str = "interop") -> list[str]:
    """Builds a driver of the cargo workspace."""
    _run(
        [
            "cargo",
            "build",
            "--quiet",
            "--locked",
            "--profile",
            profile,
            "--target-dir",
            str(BUILT),
            "-p",
            crate,
        ],
        PEERS,
    )
    return [str(BUILT / profile / crate)]


def _crate(name: str) -> Callable[[], list[str]]:
    return lambda: cargo(f"peer-{name}")


def need(program: str, package: str) -> None:
    """Fails with the Debian package that has a program, if it is missing."""
    if shutil.which(program) is None:
        raise BuildError(f"{program} is missing: apt-get install {package}")


NO_RESTART = "takes a new association's INIT for a packet of the old one, or for one of a stranger: it does not know restarts"
ONE_PORT = "sends to the port that the association began with"

QUEUE_LOST = (
    "its shutdown waits for what is in flight only: SHUTDOWN leaves while messages are queued, which are lost"
)

ALL: list[Peer] = [
    Peer("anabranch", "this stack", _crate("anabranch")),
    Peer(
        "dcsctp",
        "dcSCTP 0.1.16, of Chromium's WebRTC",
        _crate("dcsctp"),
        cannot_connect={"shutdown": QUEUE_LOST},
    ),
    Peer(
        "sctp-proto",
        "sctp-proto 0.10.8, of str0m",
        _crate("sctp-proto"),
        cannot_connect={"shutdown": QUEUE_LOST},
    ),
    Peer(
        "rtc-sctp",
        "rtc-sctp 0.21.1, of webrtc-rs (sans-I/O)",
        _crate("rtc-sctp"),
        cannot_connect={"shutdown": QUEUE_LOST},
    ),
]


def named(names: list[str]) -> list[Peer]:
    """The peers of these names; all of them where none is given."""
    by_name = {peer.name: peer for peer in ALL}
    unknown = [name for name in names if name not in by_name]
    if unknown:
        raise SystemExit(f"no such peer: {', '.join(unknown)}; there are {', '.join(by_name)}")
    return [by_name[name] for name in names] or ALL
