"""The simulator beside ns-2, the same scenario in the same run: data packets and packet-hops per CPU second.

usage: speed.py ANABRANCH [--rounds N] [--seconds S]

CPU time is user + system of the whole process, start-up included, on one core. The rounds alternate between the
programs, so that whatever else the machine does meets all of them; the best round of each counts.
"""

import argparse
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
HOPS = 3


def cpu_seconds(command: list[str]) -> tuple[float, str]:
    """User and system time of a finished child, and its output."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def anabranch(program: str, seconds: int, checksums: str) -> tuple[float, int, int]:
    """CPU seconds, data packets and SACKs that left the bottleneck."""
    scenario = HERE.parent / "examples" / "speed.toml"
    command = [program, "simulate", str(scenario), "--json", "--threads", "1"]
    command += ["--set", f"duration={seconds} s", "--set", f"checksums={checksums}"]
    cpu, out = cpu_seconds(command)
    run = json.loads(out)
    sent = {link["name"]: link["sent"] for link in run["runs"][0]["links"]}
    return cpu, sent["bottleneck"], sent["bottleneck-back"]


def ns2(seconds: int) -> tuple[float, int, int]:
    """CPU seconds of ns-2, data packets and SACKs that left the bottleneck."""
    cpu, out = cpu_seconds(["ns", str(HERE / "ns2" / "speed.tcl"), str(seconds)])
    data, acks = map(int, out.split()[:2])
    return cpu, data, acks


def main() -> int:
    """Run the rounds and print the rates and their ratio."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("program", help="path of the anabranch binary")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=100)
    args = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    runs = {
        "anabranch, CRC32c": lambda: anabranch(args.program, args.seconds, "verify"),
        "anabranch, elided": lambda: anabranch(args.program, args.seconds, "elide"),
    }
    if shutil.which("ns"):
        runs["ns-2"] = lambda: ns2(args.seconds)
    else:
        print("ns-2 is not installed (Debian's package ns2): no ratio", file=sys.stderr)
    best: dict[str, tuple[float, int, int]] = {}
    for _ in range(args.rounds):
        for name, run in runs.items():
            result = run()
            best[name] = min(best.get(name, result), result)
    rate = {}
    print(
        f"20 SCTP associations, 100 Mbit/s, {HOPS} hops, {args.seconds} simulated seconds, best of {args.rounds}"
    )
    for name, (cpu, data, acks) in best.items():
        rate[name] = data / cpu
        hops = HOPS * (data + acks)
        print(
            f"{name:18} {cpu:6.3f} s CPU {data:8} data packets {data / cpu:10,.0f} /s {hops / cpu:12,.0f} hops/s"
        )
    for name in list(rate)[:2]:
        if "ns-2" in rate:
            print(f"{name} : ns-2 = {rate[name] / rate['ns-2']:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
