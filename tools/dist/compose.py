"""The containers of packaging/compose.yaml without an engine: each in the unpacked root of the image and a network namespace of its own, joined
by a pair of virtual devices. They find each other by name, as an engine lets them."""

import os
import shutil
import subprocess
from pathlib import Path

import yaml

from .common import ROOT, run

SECONDS = 60
FILE = ROOT / "packaging" / "compose.yaml"


def talk(root: Path, config: dict) -> str:
    """Starts what the file says, in its order; what was seen."""
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
            if not set(service.get("depends_on", [])) <= set(started):
                raise AssertionError(f"{name} stands before what it depends on")
            inside = [
                "chroot",
                f"--userspec={config['User']}",
                str(root),
                *config["Entrypoint"],
                *service["command"],
            ]
            started[name] = subprocess.Popen(
                ["ip", "netns", "exec", spaces[name], *inside],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
        for name in reversed(names):
            said, _ = started[name].communicate(timeout=SECONDS)
            if started[name].returncode:
                raise AssertionError(
                    f"{name} of compose.yaml ended with {started[name].returncode}: {said.decode()}"
                )
            if name == names[-1] and b"bit/s" not in said:
                raise AssertionError(f"{name} of compose.yaml printed no rate: {said.decode()}")
    finally:
        for process in started.values():
            process.kill()
        for name in names:
            subprocess.run(["ip", "netns", "delete", spaces[name]], check=False, stderr=subprocess.DEVNULL)
    return f"compose.yaml: {' and '.join(names)} talked"
