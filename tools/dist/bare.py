"""An empty root file system, the few files put into it, and the program run inside of it."""

import hashlib
import json
import os
import shutil
import socket
import stat
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from .common import ROOT

SECONDS = 120
MOVED = 3_000_000
SCENARIO = "bottleneck.toml"


@dataclass
class Bare:
    """A folder that becomes the root, and the program in it."""

    root: Path
    program: str = "/usr/bin/anabranch"
    # Before the program: an emulator of another processor.
    before: list[str] = field(default_factory=list)
    # None: the program runs as the present user. A container has its own user.
    user: str | None = None

    def command(self, *arguments: str) -> list[str]:
        """The command line that runs the program inside."""
        inside = [*self.before, self.program, *arguments]
        if os.geteuid() == 0:
            return ["chroot", *([f"--userspec={self.user}"] if self.user else []), str(self.root), *inside]
        return ["unshare", "--map-root-user", "--root", str(self.root), *inside]

    def output(self, *arguments: str) -> bytes:
        """Runs the program, which must succeed; returns its output."""
        return subprocess.run(
            self.command(*arguments),
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            timeout=SECONDS,
        ).stdout


@dataclass
class Installed(Bare):
    """A program that is installed where others are."""

    def command(self, *arguments: str) -> list[str]:
        """The command line."""
        return [*self.before, str(self.root / self.program.lstrip("/")), *arguments]


def names(root: Path) -> None:
    """Sets up the names that every system and every container has: its own name, and the devices of random numbers."""
    (root / "etc").mkdir(parents=True, exist_ok=True)
    (root / "dev").mkdir(exist_ok=True)
    if os.geteuid() == 0:
        # A program that is linked with glibc asks them; one with musl asks the kernel.
        for name, minor in (("random", 8), ("urandom", 9)):
            os.mknod(root / "dev" / name, stat.S_IFCHR | 0o644, os.makedev(1, minor))
    (root / "etc/hosts").write_text("127.0.0.1 localhost\n")


def try_out(place: Bare) -> str:
    """Moves a file over loopback and simulates an example; returns the outcome in a line."""
    version = place.output("--version").decode().split()[1]
    moved = move(place, "localhost" if not isinstance(place, Installed) else "127.0.0.1")
    unknown(place)
    return f"version {version}, {moved} bytes moved, {simulate(place)}"


def move(place: Bare, host: str) -> int:
    """Moves a file from one process to another; its size."""
    data = hashlib.shake_256(b"anabranch").digest(MOVED)
    port = free_port()
    listen = place.command("listen", "9000", "--bind", "127.0.0.1", "--udp-port", str(port), "--recv-only")
    receiver = subprocess.Popen(listen, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    try:
        wait_for(port, receiver)
        connect = place.command("connect", f"{host}:9000", "--peer-udp-port", str(port), "--no-progress")
        sender = subprocess.Popen(connect, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        # The received data fits no pipe: it is read while the other end sends.
        sender.stdin.write(data)
        sender.stdin.close()
        came, _ = receiver.communicate(timeout=SECONDS)
        if sender.wait(timeout=SECONDS) or receiver.returncode:
            raise AssertionError(f"connect ended with {sender.returncode}, listen with {receiver.returncode}")
    finally:
        receiver.kill()
    if came != data:
        raise AssertionError(f"{len(data)} bytes were sent, and {len(came)} came, or others")
    return len(came)


def free_port() -> int:
    """A UDP port that nobody has at this moment."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def wait_for(port: int, process: subprocess.Popen) -> None:
    """Waits until the receiver has its port: a peer that asks before that is refused."""
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        if process.poll() is not None:
            raise AssertionError(f"listen ended with {process.returncode}")
        if any(f":{port:04X} " in Path(f"/proc/net/{name}").read_text() for name in ("udp", "udp6")):
            return
        time.sleep(0.05)
    raise AssertionError(f"listen has not opened UDP port {port} within {SECONDS} s")


def unknown(place: Bare) -> None:
    """A name that nobody knows is an error of the program, not its end by a signal."""
    done = subprocess.run(
        place.command("connect", "nobody.invalid:9000"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=SECONDS,
    )
    if not 0 < done.returncode < 128 or b"nobody.invalid" not in done.stderr:
        raise AssertionError(
            f"connect to an unknown name ended with {done.returncode}: {done.stderr.decode()}"
        )


def simulate(place: Bare) -> str:
    """Simulates an example: the same numbers from every package."""
    inside = place.root / SCENARIO
    shutil.copy(ROOT / "examples" / SCENARIO, inside)
    inside.chmod(0o644)
    name = str(inside) if isinstance(place, Installed) else f"/{SCENARIO}"
    settings = ["--seeds", "1", "--set", "duration=20 s", "--set", "warmup=5 s"]
    result = json.loads(place.output("simulate", name, "--json", *settings))
    [run] = result["runs"]
    goodput = sum(flow["goodput_payload_bps"] for flow in run["flows"])
    if not goodput > 0:
        raise AssertionError("the simulated flows delivered nothing")
    digest = hashlib.sha256(json.dumps(run, sort_keys=True).encode()).hexdigest()[:12]
    return f"{goodput / 1e6:.3f} Mbit/s simulated, results {digest}"
