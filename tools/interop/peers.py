"""The stacks: how each driver is built and started, and the cases that it cannot play."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from . import excuses
from .excuses import Excuse

ROOT = Path(__file__).resolve().parents[2]
PEERS = ROOT / "benches" / "peers"
BUILT = ROOT / "target" / "peers"
PROFILE = "interop"
"""The profile of cargo; measurements take "release"."""
BUILDS = True
"""Whether anything is built, or the drivers are there already."""


class BuildError(Exception):
    """A driver cannot be had on this machine; says why."""


@dataclass(frozen=True)
class Peer:
    """A stack, and its driver."""

    name: str
    about: str
    build: Callable[[], list[str]]
    """Builds the driver and answers the beginning of its command line."""
    cannot: dict[str, Excuse] = field(default_factory=dict)
    """Cases that it cannot play in either role, and its behaviour in place of that."""
    cannot_listen: dict[str, Excuse] = field(default_factory=dict)
    """Cases that it cannot play when it listens."""
    cannot_connect: dict[str, Excuse] = field(default_factory=dict)
    """Cases that it cannot play when it connects."""
    by_name: bool = False
    """Whether it is played only where it is named."""
    relay: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Further options of the relay in some cases."""
    no_shutdown: bool = False
    """Whether the stack never begins a shutdown, so that the other side must."""
    address: str = "127.0.0.1"
    """IP address of its driver."""
    host: str = "127.0.0.1"
    """IP address at which it reaches this machine."""
    alone: threading.Lock | None = None
    """Held while it plays, if only one of it can at a time."""
    crates_only: bool = True
    """Whether nothing but crates is needed to build it."""

    def excuse(self, case: str, role: str) -> Excuse | None:
        """The known deviation of this peer in that case and role."""
        by_role = self.cannot_listen if role == "listen" else self.cannot_connect
        return self.cannot.get(case) or by_role.get(case)


def _run(command: list[str], where: Path) -> None:
    if not BUILDS:
        return
    try:
        done = subprocess.run(command, cwd=where, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise BuildError(f"{command[0]} is not installed") from error
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise BuildError(f"{' '.join(command[:3])}: " + " / ".join(lines[-4:]))


_TOGETHER: set[tuple[str, str]] = set()
"""Crates that were built with others, by profile."""


def _cargo(crates: list[str]) -> None:
    packages = [word for crate in crates for word in ("-p", crate)]
    options = ["--quiet", "--locked", "--profile", PROFILE, "--target-dir", str(BUILT)]
    _run(["cargo", "build", *options, *packages], PEERS)


def together(names: list[str]) -> None:
    """Builds several drivers of the cargo workspace at once.

    One after the other, each would build the shared crates again, with the features that it alone needs. If one does not build, each is
    built by itself later, and says so.
    """
    crates = [f"peer-{name}" for name in names if (PEERS / name / "Cargo.toml").exists()]
    try:
        _cargo(crates)
    except BuildError:
        return
    _TOGETHER.update((PROFILE, crate) for crate in crates)


def cargo(crate: str) -> list[str]:
    """Builds a driver of the cargo workspace."""
    if (PROFILE, crate) not in _TOGETHER:
        _cargo([crate])
    return [str(BUILT / PROFILE / crate)]


def _crate(name: str) -> Callable[[], list[str]]:
    return lambda: cargo(f"peer-{name}")


def need(program: str, package: str) -> None:
    """Fails with the Debian package that has a program, if it is missing."""
    if shutil.which(program) is None:
        raise BuildError(f"{program} is missing: apt-get install {package}")


def _pion() -> list[str]:
    need("go", "golang-go")
    program = BUILT / "go" / "peer-pion"
    _run(["go", "build", "-o", str(program), "."], PEERS / "pion")
    return [str(program)]


def _aiortc() -> list[str]:
    room, wanted = BUILT / "venv", PEERS / "aiortc" / "requirements.txt"
    python, stamp = room / "bin" / "python", room / "stamp"
    if not stamp.exists() or stamp.read_text() != wanted.read_text():
        _run([sys.executable, "-m", "venv", str(room)], PEERS)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        _run([*pip, "--requirement", str(wanted)], PEERS)
        stamp.write_text(wanted.read_text())
    return [str(python), str(PEERS / "aiortc" / "driver.py")]


def _linux() -> list[str]:
    need("cc", "gcc")
    need("linux.uml", "user-mode-linux")
    need("busybox", "busybox-static")
    need("ip", "iproute2")
    need("ethtool", "ethtool")
    if os.geteuid() != 0 or not Path("/dev/net/tun").exists():
        raise BuildError("a guest needs a TAP device, and that needs root")
    if not Path("/usr/include/netinet/sctp.h").exists():
        raise BuildError("netinet/sctp.h is missing: apt-get install libsctp-dev")
    program = BUILT / "c" / "peer-linux"
    program.parent.mkdir(parents=True, exist_ok=True)
    flags = ["-DKERNEL", "-O2", "-static", "-Wall", "-Wextra", "-std=gnu11"]
    _run(["cc", *flags, "usrsctp.c", "-o", str(program), "-lsctp", "-lpthread"], PEERS / "c")
    guest = [sys.executable, str(PEERS / "linux" / "guest.py")]
    # The relay has an address there before the first guest runs.
    subprocess.run([*guest, "network"], check=True)
    return [*guest, str(program)]


def _usrsctp() -> list[str]:
    need("cc", "gcc")
    if not Path("/usr/include/usrsctp.h").exists():
        raise BuildError("usrsctp is missing: apt-get install libusrsctp-dev")
    program = BUILT / "c" / "peer-usrsctp"
    program.parent.mkdir(parents=True, exist_ok=True)
    flags = ["-O2", "-Wall", "-Wextra", "-std=gnu11"]
    _run(["cc", *flags, "usrsctp.c", "-o", str(program), "-lusrsctp", "-lpthread"], PEERS / "c")
    return [str(program)]


WEBRTC_RS = {"i-data": excuses.NO_IDATA, "zero-checksum": excuses.NO_ZERO}
"""Cases that no stack around webrtc-rs can pass."""
NO_PMTUD = dict.fromkeys(("small-path", "path-cut", "path-cut-old"), excuses.NO_PMTUD)
NO_PAD = dict.fromkeys(("path-cut", "path-cut-old"), excuses.NO_PAD)

ALL: list[Peer] = [
    Peer("anabranch", "this stack", _crate("anabranch")),
    Peer(
        "live",
        "this stack on its own sockets (anabranch-live), for measurements",
        _crate("live"),
        by_name=True,
    ),
    Peer(
        "dcsctp",
        "dcSCTP 0.1.16, of Chromium's WebRTC",
        _crate("dcsctp"),
        cannot_connect=NO_PMTUD,
    ),
    Peer(
        "sctp-proto",
        "sctp-proto 0.10.8, of str0m",
        _crate("sctp-proto"),
        cannot=WEBRTC_RS,
        cannot_listen={"udp-port": excuses.FIXED_PORT, **NO_PAD},
        cannot_connect={
            "lossy-handshake": excuses.NO_STALE_COOKIE,
            "reset": excuses.FLUSH_UNKNOWN,
            "shutdown": excuses.QUEUE_LOST,
            **NO_PMTUD,
        },
    ),
    Peer(
        "rtc-sctp",
        "rtc-sctp 0.21.1, of webrtc-rs (sans-I/O)",
        _crate("rtc-sctp"),
        cannot=WEBRTC_RS,
        cannot_listen={"udp-port": excuses.FIXED_PORT, **NO_PAD},
        cannot_connect={"reset": excuses.FLUSH_UNKNOWN, "shutdown": excuses.QUEUE_LOST, **NO_PMTUD},
    ),
    Peer(
        "webrtc-sctp",
        "webrtc-sctp 0.17.2, of webrtc-rs (tokio)",
        _crate("webrtc-sctp"),
        cannot=WEBRTC_RS,
        cannot_listen={
            "restart": excuses.NO_RESTART,
            "corruption": excuses.DEAF_TO_SHUTDOWN,
            "pr-sctp": excuses.DEAF_TO_FORWARD_TSN,
            "reset": excuses.UNREAD_LOST,
        },
        cannot_connect={
            "lossy-handshake": excuses.NO_STALE_COOKIE,
            "shutdown": excuses.QUEUE_LOST,
            **NO_PMTUD,
        },
    ),
    Peer(
        "pion",
        "pion/sctp 1.11.3 (Go)",
        _pion,
        cannot_listen={"restart": excuses.NO_RESTART, **NO_PAD},
        cannot_connect=NO_PMTUD,
        crates_only=False,
    ),
    Peer(
        "usrsctp",
        "usrsctp 0.9.5, FreeBSD's stack in user space",
        _usrsctp,
        cannot={"zero-checksum": excuses.NO_ZERO},
        cannot_connect=NO_PMTUD,
        crates_only=False,
    ),
    Peer(
        "aiortc",
        "aiortc 1.16.0 (Python)",
        _aiortc,
        cannot=WEBRTC_RS,
        cannot_connect={"pr-sctp": excuses.NO_END, **NO_PMTUD, "path-cut": excuses.NO_BUNDLES},
        no_shutdown=True,
        crates_only=False,
    ),
    Peer(
        "linux",
        "the SCTP of Linux 6.1, in a guest (user-mode Linux)",
        _linux,
        cannot={"zero-checksum": excuses.NO_ZERO},
        cannot_listen={"i-data": excuses.FSN_WANTED},
        cannot_connect={"i-data": excuses.FSN_SENT},
        address="10.77.0.2",
        host="10.77.0.1",
        # Data leaves before its search for the path MTU has ended; it lets IP fragment packets that were too long.
        relay={"small-path": ("--fragments",), "path-cut": ("--fragments",)},
        alone=threading.Lock(),
        crates_only=False,
    ),
]


def named(names: list[str]) -> list[Peer]:
    """The peers of these names; all of them where none is given."""
    by_name = {peer.name: peer for peer in ALL}
    unknown = [name for name in names if name not in by_name]
    if unknown:
        raise SystemExit(f"no such peer: {', '.join(unknown)}; there are {', '.join(by_name)}")
    return [by_name[name] for name in names] or [peer for peer in ALL if not peer.by_name]
