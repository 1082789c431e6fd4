"""Runs the driver of the Linux kernel's SCTP in a guest: user-mode Linux, Debian's kernel, with a TAP device to the host.

    guest.py DRIVER listen|connect --local 10.77.0.2:PORT ...
    guest.py network

The second form makes the TAP device only: the relay has an address there before a guest runs. The guest's root is the host's file
tree, read-only. Needs root (for the TAP device), the Debian packages user-mode-linux, busybox-static and iproute2. One guest at a
time: there is one TAP device.
"""

from __future__ import annotations

import glob
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

TAP, HOST, GUEST = "anabranch0", "10.77.0.1", "10.77.0.2"
MODULES = (
    "crypto/hmac",
    "lib/crc-ccitt",
    "net/ipv6/ipv6",
    "net/ipv6/ip6_udp_tunnel",
    "net/ipv4/udp_tunnel",
    "net/sctp/sctp",
)
"""The kernel modules of SCTP, in the order in which the kernel wants them; without hmac listen() fails."""

INIT = """#!/bin/busybox sh
B=/bin/busybox
$B mount -t proc proc /proc
$B mount -t sysfs sys /sys
$B mount -t tmpfs tmpfs /run
for module in {modules}; do [ -f "$module" ] && $B insmod "$module" 2>/dev/null; done
# Messages of 256 KiB are more than the kernel lets a socket hold otherwise.
for limit in rmem_max wmem_max; do echo 4194304 > /proc/sys/net/core/$limit; done
$B ip link set lo up
$B ip link set vec0 up
$B ip addr add {guest}/24 dev vec0
$B sleep 1
# Its driver drops what the kernel leaves to be cut later.
{ethtool} -K vec0 gso off tso off tx off 2>/dev/null
for setting in {settings}; do echo "${{setting#*=}}" > /proc/sys/net/sctp/"${{setting%%=*}}"; done
{command} 2>/run/errors
$B cat /run/errors
$B grep -v '[[:space:]]0$' /proc/net/sctp/snmp
# The kernel answers late packets until somebody ends it.
while :; do $B sleep 1000; done
"""


def option(words: list[str], name: str) -> str:
    """The value of an option of the driver."""
    return words[words.index(name) + 1]


def network() -> None:
    """The TAP device, if it is not there yet."""
    if not Path(f"/sys/class/net/{TAP}").exists():
        subprocess.run(["ip", "tuntap", "add", "dev", TAP, "mode", "tap"], check=True)
    subprocess.run(["ip", "addr", "replace", f"{HOST}/24", "dev", TAP], check=True)
    subprocess.run(["ip", "link", "set", TAP, "up"], check=True)
    # While an earlier guest has it, this one would have no network.
    until = time.monotonic() + 5
    while Path(f"/sys/class/net/{TAP}/carrier").read_text().strip() == "1" and time.monotonic() < until:
        time.sleep(0.05)


def await_end(guest: subprocess.Popen[bytes]) -> None:
    """Waits until the guest ends, which it does when the standard input of this program is closed, or this program is ended."""

    def end(*_: object) -> None:
        if guest.poll() is None:
            os.killpg(guest.pid, signal.SIGKILL)

    signal.signal(signal.SIGTERM, end)
    threading.Thread(target=lambda: (sys.stdin.buffer.read(), end()), daemon=True).start()
    guest.wait()


def main() -> int:
    """Boots the guest; its output is that of the driver."""
    if sys.argv[1:] == ["network"]:
        network()
        return 0
    driver, words = sys.argv[1], sys.argv[2:]
    port = option(words, "--local").rsplit(":", 1)[1]
    remote = option(words, "--remote").rsplit(":", 1)[1]
    settings = [
        f"udp_port={port}",
        f"encap_port={remote}",
        "reconf_enable=1",
        "intl_enable=1",
        "prsctp_enable=1",
        "plpmtud_probe_interval=5000",
    ]
    newest = sorted(glob.glob("/usr/lib/uml/modules/*/kernel"))[-1]
    network()
    with tempfile.TemporaryDirectory() as room:
        init = Path(room) / "init"
        init.write_text(
            INIT.format(
                modules=" ".join(f"{newest}/{name}.ko" for name in MODULES),
                guest=GUEST,
                ethtool="/usr/sbin/ethtool",
                settings=" ".join(settings),
                command=" ".join([driver, *words]),
            )
        )
        init.chmod(0o755)
        kernel = ["linux.uml", "mem=256M", "rootfstype=hostfs", "rootflags=/", "ro", "quiet", f"init={init}"]
        kernel += [
            "con=null",
            "con0=null,fd:1",
            f"vec0:transport=tap,ifname={TAP},depth=128,gro=0,mac=02:00:00:00:00:02",
        ]
        guest = subprocess.Popen(
            kernel,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            env={**os.environ, "TMPDIR": room},
        )

        # However this program ends, the guest (which is several processes) does not outlive it and keep the TAP device.
        last_will = ["sh", "-c", f"read -r _; kill -s KILL -- -{guest.pid} 2>/dev/null"]
        with subprocess.Popen(last_will, stdin=subprocess.PIPE, start_new_session=True) as watcher:
            await_end(guest)
            watcher.stdin.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
