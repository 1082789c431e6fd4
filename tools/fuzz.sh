#!/usr/bin/env bash
# Fuzz targets, some seconds each: tools/fuzz.sh SECONDS [TARGET...]. Guided by coverage, with a stable compiler: what cargo-fuzz tells
# a nightly one is said here without the sanitizer, which safe Rust does not need.
set -euo pipefail
cd "$(dirname "$0")/../fuzz"
seconds=${1:?seconds for each target}
shift
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(packet cookie endpoint script scenario capture)

host=$(rustc -vV | sed -n 's/^host: //p')
flags="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters"
flags+=" -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing"
# With --target the flags are not for build scripts and macros.
RUSTFLAGS=$flags cargo build --release --quiet --locked --target "$host"
for target in "${targets[@]}"; do
    # What is found goes beside the kept corpus, which is read only here.
    mkdir -p "target/found/$target"
    echo "fuzz $target, $seconds s"
    "target/$host/release/$target" "target/found/$target" "corpus/$target" -max_total_time="$seconds" -seed=1 -max_len=4096 \
        -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="target/$target-" 2>&1 |
        grep -E 'stat::(number_of_executed|new_units)|cov:|SUMMARY|panicked|Test unit|assertion' | tail -12
done
