"""The containers of packaging/compose.yaml without an engine: each in the unpacked root of the image and a network namespace of its own, joined
by a pair of virtual devices. They find each other by name, as an engine lets them."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import yaml

from .common import ROOT, run

SECONDS = 60
FILE = ROOT / "packaging" / "compose.yaml"


def talk(root: Path, config: dict) -> str:
    """Starts the services of compose.yaml, in their order; returns the outcome in words."""
    services = yaml.safe_load(FILE.read_text())["services"]
    if os.geteuid() != 0 or not shutil.which("ip"):
        return "compose.yaml not tried: that needs root and iproute2"
    tag = f"ab{os.getpid()}"
    names = list(services)
    addresses = {name: f"10.203.7.{number}" for number, name in enumerate(names, 1)}
    (root / "etc/hosts").write_text("".join(f"{address} {name}\n" for name, address in addresses.items()))
    spaces = {name: f"{tag}{name}" for name in names}
    started = {}
    try:
        for name in names:
            run("ip", "netns", "add", spaces[name])
        first, second = names
        run(
            "ip",
            "link",
            "add",
            f"{tag}a",
            "netns",
            spaces[first],
            "type",
            "veth",
            "peer",
            "name",
            f"{tag}b",
            "netns",
            spaces[second],
        )
        for name, device in ((first, f"{tag}a"), (second, f"{tag}b")):
            within = ["ip", "-n", spaces[name]]
            run(*within, "address", "add", f"{addresses[name]}/24", "dev", device)
            run(*within, "link", "set", device, "up")
            run(*within, "link", "set", "lo", "up")
        for name, service in services.items():

            def inside(*command: str, space: str = spaces[name]) -> list[str]:
                return [
                    "ip",
                    "netns",
                    "exec",
                    space,
                    "chroot",
                    f"--userspec={config['User']}",
                    str(root),
                    *command,
                ]

            started[name] = subprocess.Popen(
                inside(*config["Entrypoint"], *service["command"]),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
            if "healthcheck" in service:
                wait_for(name, service["healthcheck"], inside)
        # The last one ends by itself, and the others with it.
        last = started[names[-1]]
        said, _ = last.communicate(timeout=SECONDS)
        if last.returncode or b"bit/s" not in said:
            raise AssertionError(f"{names[-1]} of compose.yaml ended with {last.returncode}: {said.decode()}")
        for name in names[:-1]:
            if started[name].poll() is not None:
                raise AssertionError(
                    f"{name} of compose.yaml ended with {started[name].returncode} before it was asked to"
                )
            started[name].terminate()
            started[name].communicate(timeout=SECONDS)
    finally:
        for process in started.values():
            process.kill()
        for name in names:
            subprocess.run(["ip", "netns", "delete", spaces[name]], check=False, stderr=subprocess.DEVNULL)
    return f"compose.yaml: {' and '.join(names)} talked"


def wait_for(name: str, check: dict, inside: Callable[..., list[str]]) -> None:
    """Asks as often as the file says whether a service is healthy."""
    for _ in range(check["retries"]):
        done = subprocess.run(
            inside(*check["test"][1:]),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=SECONDS,
        )
        if done.returncode == 0:
            return
        time.sleep(float(check["interval"].removesuffix("s")))
    raise AssertionError(f"{name} of compose.yaml is not healthy: {done.stderr.decode()}")
