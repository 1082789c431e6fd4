"""Instruction counts of fixed work, allocations of a short life, misses of the code cache, and the memory of an idle association, against
those of the last accepted change.

usage: instructions.py BINARIES [--accept]

Counts come from valgrind's callgrind: the same for the same binary whatever else the machine does, so a regression
shows in CI where times would not. So are allocated bytes, and the misses of a code cache of a given size, which cost the simulator more
than instructions do (docs/performance.md). A count may grow by TOLERANCE before this fails; `--accept` writes the
new counts. valgrind has no AVX-512, so CRC32c runs its SSE path here.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys

TOLERANCE = 0.03
# The addresses of functions change with any change of the code, and with them the number of cache lines that they share.
MISSES_TOLERANCE = 0.15
# The code cache that misses are counted for: bytes, ways, bytes of a line.
CODE_CACHE = "32768,8,64"
HERE = pathlib.Path(__file__).resolve().parent
ACCEPTED = HERE / "instructions.json"
EXAMPLES = HERE.parent / "examples"

# The work whose misses are counted, and the name of that count.
SIMULATOR = "simulator: data packet over 3 hops and its SACK"
MISSES = "simulator: misses of a code cache of 32 KiB, per data packet"

# The counted work: name, program, arguments. Each pair of a long and a short run gives the cost of the difference.
WORK = {
    "transfer: 16 KiB messages, per packet of 1452 bytes": ("transfer", ["400"], ["200"], 200 * 16384 / 1436),
    "transfer: 100-byte messages, per message": ("transfer", ["9000", "100"], ["5000", "100"], 4000),
    "snapshot of an association with one path and one subflow": (
        "transfer",
        ["100", "16384", "1452", "16", "3000"],
        ["100", "16384", "1452", "16", "1000"],
        2000,
    ),
    "life: handshake and shutdown, both ends": ("life", ["3000"], ["1000"], 2000),
    SIMULATOR: (
        "anabranch",
        ["simulate", str(EXAMPLES / "speed.toml"), "--json", "--threads", "1", "--set", "duration=6 s"],
        ["simulate", str(EXAMPLES / "speed.toml"), "--json", "--threads", "1", "--set", "duration=4 s"],
        2 * 100e6 / 12000,
    ),
}

# The cost of a simulated packet of `modern` over that of `rfc9260-rack`, in thousandths: (long, short) runs of each, divided by the packets sent.
PROFILE = "simulator: packet of the profile modern, to one of rfc9260-rack"
PROFILES = ("modern", "rfc9260-rack")

# Bytes allocated for each end of an idle association: the program `memory` prints them.
MEMORY = "memory: idle association, for each end"

# Blocks that both ends allocate from a handshake to the end of its shutdown.
ALLOCATIONS = "life: allocations, both ends"

# Limits that hold also where larger counts were accepted: goals that were met (docs/performance.md).
LIMITS = {MEMORY: 4096, "transfer: 100-byte messages, per message": 1560, PROFILE: 1050}
UNITS = {MEMORY: "bytes", ALLOCATIONS: "blocks", MISSES: "misses", PROFILE: "parts in a thousand"}


def memory(binary: pathlib.Path) -> int:
    """Bytes allocated for each end of an idle association."""
    done = subprocess.run([str(binary), "10000"], check=True, capture_output=True, text=True)
    found = re.search(r"(\d+) bytes allocated for each end", done.stdout)
    if not found:
        raise SystemExit(f"{binary} printed no number of bytes")
    return int(found.group(1))


def count(binary: pathlib.Path, arguments: list[str], caches: bool) -> tuple[int, int]:
    """Instructions of one run, and, where `caches` are simulated, misses of the code cache."""
    options = ["--cache-sim=yes", f"--I1={CODE_CACHE}"] if caches else []
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *options, str(binary)]
    done = subprocess.run([*command, *arguments], check=True, capture_output=True, text=True)
    # Instructions, data read and written, misses of code.
    found = re.search(r"Collected : (\d+)(?: \d+ \d+ (\d+))?", done.stderr)
    if not found or (caches and not found.group(2)):
        raise SystemExit(f"callgrind printed no count for {binary}")
    return int(found.group(1)), int(found.group(2) or 0)


def allocations(binary: pathlib.Path, lives: int) -> int:
    """Blocks allocated in so many lives."""
    done = subprocess.run(
        ["valgrind", "--tool=memcheck", "--leak-check=no", str(binary), str(lives)],
        check=True,
        capture_output=True,
        text=True,
    )
    found = re.search(r"total heap usage: ([\d,]+) allocs", done.stderr)
    if not found:
        raise SystemExit(f"memcheck printed no count for {binary}")
    return int(found.group(1).replace(",", ""))


def packet(binary: pathlib.Path, engine: str, seconds: int) -> tuple[int, int]:
    """Instructions of a run with that profile, and packets sent in it."""
    arguments = ["simulate", str(EXAMPLES / "speed.toml"), "--json", "--threads", "1"]
    arguments += ["--set", f"duration={seconds} s", "--set", f"flow.sctp.engine={engine}"]
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", str(binary)]
    done = subprocess.run([*command, *arguments], check=True, capture_output=True, text=True)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if not found:
        raise SystemExit(f"callgrind printed no count for {binary}")
    [run] = json.loads(done.stdout)["runs"]
    return int(found.group(1)), sum(flow["packets_sent"] for flow in run["flows"])


def compiler() -> str:
    """The compiler that counts depend on."""
    return subprocess.run(["rustc", "--version"], check=True, capture_output=True, text=True).stdout.strip()


def main() -> int:
    """Count, and compare or accept."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "binaries", type=pathlib.Path, help="folder of the binaries, built with the profile dist"
    )
    parser.add_argument("--accept", action="store_true", help="write the counts instead of comparing")
    args = parser.parse_args()
    # Counts do not depend on other running programs: as many at a time as there are processors.
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = {
            name: [
                pool.submit(count, args.binaries / program, arguments, name == SIMULATOR)
                for arguments in (long, short)
            ]
            for name, (program, long, short, _) in WORK.items()
        }
        each = {
            name: [
                (more - less) / WORK[name][3]
                for more, less in zip(long.result(), short.result(), strict=True)
            ]
            for name, (long, short) in runs.items()
        }
        profiles = {
            engine: [pool.submit(packet, args.binaries / "anabranch", engine, seconds) for seconds in (6, 4)]
            for engine in PROFILES
        }
        counts = {name: round(instructions) for name, (instructions, _) in each.items()}
        counts[MISSES] = round(each[SIMULATOR][1])
    cost = {}
    for engine, (long, short) in profiles.items():
        (more, packets), (less, before) = long.result(), short.result()
        cost[engine] = (more - less) / (packets - before)
        print(f"{engine}: {cost[engine]:.0f} instructions for a simulated packet")
    counts[PROFILE] = round(1000 * cost["modern"] / cost["rfc9260-rack"])
    many, few = (allocations(args.binaries / "life", lives) for lives in (1500, 500))
    counts[ALLOCATIONS] = round((many - few) / 1000)
    counts[MEMORY] = memory(args.binaries / "memory")
    if args.accept:
        ACCEPTED.write_text(json.dumps({"compiler": compiler(), "counts": counts}, indent=2) + "\n")
    record = json.loads(ACCEPTED.read_text())
    accepted, limits = record["counts"], LIMITS
    if record["compiler"] != compiler():
        print(f"accepted counts are of {record['compiler']}, this is {compiler()}: shown, not judged")
        accepted, limits = counts, {MEMORY: LIMITS[MEMORY]}
    worse = 0
    for name, now in counts.items():
        before = accepted.get(name, now)
        change = now / before - 1
        tolerance = MISSES_TOLERANCE if name == MISSES else TOLERANCE
        too_much = change > tolerance or now > limits.get(name, now)
        unit = UNITS.get(name, "instructions")
        worse += too_much
        print(f"{name}: {now} {unit}, accepted {before}, {change:+.1%}{'  TOO MUCH' if too_much else ''}")
    print(f"{len(counts) - worse} passed, {worse} failed")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
