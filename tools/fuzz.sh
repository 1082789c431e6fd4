#!/usr/bin/env bash
# Fuzz targets, some seconds each: tools/fuzz.sh SECONDS [TARGET...]. FUZZ_JOBS of them run at a time (1), with the seed FUZZ_SEED (1).
# With FUZZ_RUNS=N each has N executions instead, drawn from a fixed seed: the same every time; 0 is the kept corpus alone.
# Guided by coverage, with a stable compiler: what cargo-fuzz tells a nightly one is said here without the sanitizer, which safe Rust
# does not need.
set -euo pipefail
cd "$(dirname "$0")/../fuzz"
seconds=${1:?seconds for each target}
shift
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(packet cookie endpoint script scenario capture)
jobs=${FUZZ_JOBS:-1}

host=$(rustc -vV | sed -n 's/^host: //p')
flags="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters"
flags+=" -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing"
# With --target the flags are not for build scripts and macros.
RUSTFLAGS=$flags cargo build --release --quiet --locked --target "$host"
echo "built in $SECONDS s"
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
length=(-max_total_time="$seconds" -seed="${FUZZ_SEED:-1}")
[ -z "${FUZZ_RUNS:-}" ] || length=(-runs="$FUZZ_RUNS" -seed=1)

# One target, from its beginning to what is said of it.
fuzz() {
    local target=$1 log=$logs/$1 begun=$SECONDS status=0 executions coverage found
    # New inputs go beside the kept corpus, which is only read here.
    # Runs that are to be the same every time do not begin with what others have found.
    [ -z "${FUZZ_RUNS:-}" ] || rm -rf "target/found/$target"
    mkdir -p "target/found/$target"
    "target/$host/release/$target" "target/found/$target" "corpus/$target" "${length[@]}" -max_len=4096 \
        -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="target/$target-" >"$log" 2>&1 || status=$?
    executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    if [ "$status" -ne 0 ] || [ "${executions:-0}" -eq 0 ]; then
        tail -60 "$log" >&2
        # The input that failed, for a machine whose files are gone after the run: base64 -d > fuzz/corpus/TARGET/NAME
        for input in $(sed -n 's/^.*Test unit written to \(.*\)$/\1/p' "$log"); do
            echo "fuzz $target: $input, in base64: $(base64 -w0 <"$input")" >&2
        done
        echo "fuzz $target: stopped with status $status after ${executions:-an unknown number of} executions" >&2
        return 1
    fi
    # A target that ends before its time has not been fuzzed, whatever it says.
    if [ -n "${FUZZ_RUNS:-}" ] && [ "$executions" -lt "$FUZZ_RUNS" ] ||
        [ -z "${FUZZ_RUNS:-}" ] && [ $((SECONDS - begun + 2)) -lt "$seconds" ]; then
        tail -60 "$log" >&2
        echo "fuzz $target: ended after $((SECONDS - begun)) s of $seconds" >&2
        return 1
    fi
    coverage=$(grep -oE "cov: [0-9]+" "$log" | tail -1) || true
    found=$(sed -n 's/^stat::new_units_added: *//p' "$log")
    echo "fuzz $target: $executions executions, $found new inputs, ${coverage:-no coverage}"
    if [ -z "$coverage" ]; then
        echo "fuzz $target: built without instrumentation" >&2
        return 1
    fi
}

failed=0
running=0
for target in "${targets[@]}"; do
    if [ "$running" -ge "$jobs" ]; then
        wait -n || failed=1
        running=$((running - 1))
    fi
    fuzz "$target" &
    running=$((running + 1))
done
while [ "$running" -gt 0 ]; do
    wait -n || failed=1
    running=$((running - 1))
done
exit "$failed"
