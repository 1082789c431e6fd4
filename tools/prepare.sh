#!/usr/bin/env bash
# Makes .venv with the pinned packages. Asks for what only the system can give; installs it when run as root.
set -euo pipefail
cd "$(dirname "$0")/.."

need() { # need DEBIAN-PACKAGE WHAT-FOR: installs it, or says what to install
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "installing $1 ($2)"
        # Another one may be under way.
        local install=(apt-get install -y -qq -o DPkg::Lock::Timeout=300 "$1")
        DEBIAN_FRONTEND=noninteractive "${install[@]}" >/dev/null 2>&1 ||
            { apt-get update -qq && DEBIAN_FRONTEND=noninteractive "${install[@]}" >/dev/null; }
    else
        echo "missing: $2. On Debian: apt-get install $1" >&2
        exit 1
    fi
}

command -v cargo >/dev/null || { echo "missing: Rust 1.85 or newer (cargo), by rustup or from your distribution" >&2; exit 1; }
command -v cc >/dev/null || need gcc "a linker for Rust (cc)"

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }
python=${PYTHON:-}
if [ -z "$python" ]; then
    for candidate in python3 python3.11 python3.12 python3.13; do
        if command -v "$candidate" >/dev/null && new_enough "$candidate"; then python=$candidate; break; fi
    done
fi
if [ -z "$python" ]; then need python3 "Python 3.11 or newer"; python=python3; fi
new_enough "$python" || { echo "$python is older than Python 3.11; set PYTHON=..." >&2; exit 1; }
"$python" -c 'import venv, ensurepip' 2>/dev/null || need python3-venv "Python's venv module"

# uv installs in seconds what pip takes a minute for, and compiles nothing that may never be imported. It asks where pip is told to ask.
stamp=.venv/stamp
if [ ! -f "$stamp" ] || ! cat requirements.txt requirements-alone.txt | cmp -s - "$stamp"; then
    echo "installing the lab's Python packages into .venv"
    [ -x .venv/bin/python ] || "$python" -m venv .venv
    .venv/bin/python -m pip install --quiet --disable-pip-version-check "$(grep '^uv==' requirements.txt)"
    [ -z "${PIP_INDEX_URL:-}" ] || export UV_DEFAULT_INDEX="${UV_DEFAULT_INDEX:-$PIP_INDEX_URL}"
    [ -z "${PIP_CERT:-}" ] || export SSL_CERT_FILE="${SSL_CERT_FILE:-$PIP_CERT}"
    install=(.venv/bin/uv pip install --quiet --python .venv/bin/python)
    "${install[@]}" --requirement requirements.txt
    "${install[@]}" --no-deps --requirement requirements-alone.txt
    cat requirements.txt requirements-alone.txt >"$stamp"
fi
