#!/usr/bin/env bash
# `make bench`: the simulator beside ns-2, the stack in memory, the memory of idle associations. Times mean something
# only on a machine that does nothing else.
set -euo pipefail
cd "$(dirname "$0")/.."
target="${CARGO_TARGET_DIR:-target}/dist"

echo "machine: $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1), $(nproc) processors, load $(cut -d ' ' -f 1 /proc/loadavg)"
if ! command -v ns >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing ns2 to compare with"
    apt-get install -y -qq ns2 >/dev/null 2>&1 || { apt-get update -qq && apt-get install -y -qq ns2 >/dev/null 2>&1; } || true
fi
cargo build --profile dist --locked --quiet -p anabranch-cli -p anabranch-bench

echo; echo "== the simulator and ns-2, one core"
python3 benches/speed.py "$target/anabranch"

echo; echo "== two endpoints in memory, no link; ns per payload byte = 1 / (GB/s)"
cargo bench --profile dist --quiet --locked -p anabranch-bench

echo; echo "== memory of idle associations"
"$target/memory"
