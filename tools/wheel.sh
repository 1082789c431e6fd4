#!/usr/bin/env bash
# Builds a wheel with the Python module, the laboratory and the program `anabranch`; into out/wheel, or the folder that is named.
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-out/wheel}
# With what the module is built with: the crates that both need are compiled once.
cargo build --locked --profile python -p anabranch-cli
scripts=crates/py/_core.data/scripts
trap 'rm -rf crates/py/_core.data' EXIT
mkdir -p "$scripts"
cp "${CARGO_TARGET_DIR:-target}/python/anabranch" "$scripts/"
rm -rf "$out"
.venv/bin/python -m maturin build --locked --profile python --out "$out"
ls "$out"
