#!/usr/bin/env bash
# `make bench`: how fast the simulator is beside ns-2, and how much CPU the stack takes in memory. Times mean something
# only on a machine that does nothing else.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${SECONDS_SIMULATED:-100}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

echo "machine: $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1), $(nproc) processors, load $(cut -d ' ' -f 1 /proc/loadavg)"
if ! command -v ns >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing ns2 to compare with"
    apt-get install -y -qq ns2 >/dev/null 2>&1 || { apt-get update -qq && apt-get install -y -qq ns2 >/dev/null 2>&1; } || true
fi

echo; echo "== the simulator: 20 flows, 3 hops, $seconds simulated seconds, one core"
cargo bench --quiet --locked -p anabranch-sim --bench speed -- "$seconds" | tee "$work/speed-verify.txt"
echo "with checksums elided:"
cargo bench --quiet --locked -p anabranch-sim --bench speed -- "$seconds" elide | tee "$work/speed-elide.txt"

rate() { sed -n 's/^sctp: .* data packets, \([0-9]*\) a second.*/\1/p' "$1"; }
if command -v ns >/dev/null; then
    read -r data acks cpu < <(ns benches/ns2/speed.tcl "$seconds")
    awk -v d="$data" -v a="$acks" -v c="$cpu" -v v="$(rate "$work/speed-verify.txt")" -v e="$(rate "$work/speed-elide.txt")" 'BEGIN {
        printf "ns-2: %d data packets, %.0f a CPU second; %.0f packet-hops a CPU second\n", d, d / c, 3 * (d + a) / c
        printf "ratio to ns-2: %.2f with checksums, %.2f without\n", v * c / d, e * c / d }'
else
    echo "ns-2 is not installed (Debian: apt-get install ns2): no ratio"
fi

echo; echo "== two endpoints in memory, no link"
cargo bench --quiet --locked -p anabranch-bench
echo; echo "== memory of idle associations"
cargo run --quiet --release --locked -p anabranch-bench --bin memory
