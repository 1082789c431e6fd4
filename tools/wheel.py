#!/usr/bin/env python3
"""Builds a wheel with the Python module, the laboratory and the program `anabranch`: `wheel.py [FOLDER] [--program FILE]`.

Runs with the Python of `.venv`, which has maturin. Unless a program is given, it is compiled with what the module is compiled with, so that
the crates that both need are compiled once.
"""

import argparse
import base64
import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Compiles, builds, adds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "folder", nargs="?", type=Path, default=ROOT / "out" / "wheel", help="default out/wheel"
    )
    parser.add_argument("--program", type=Path, help="the program that goes into it")
    arguments = parser.parse_args()
    out, program = arguments.folder, arguments.program
    out.mkdir(parents=True, exist_ok=True)
    if program is None:
        cargo = ["cargo", "build", "--locked", "--quiet", "--profile", "python", "-p", "anabranch-cli"]
        subprocess.run(cargo, cwd=ROOT, check=True)
        program = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "python" / "anabranch"
    with tempfile.TemporaryDirectory() as folder:
        maturin = [sys.executable, "-m", "maturin", "build", "--locked", "--strip", "--out", folder]
        subprocess.run(maturin, cwd=ROOT, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        (built,) = Path(folder).glob("*.whl")
        path = out / built.name
        add(built, path, program)
    print(path)


def add(wheel: Path, to: Path, program: Path) -> None:
    """Copies a wheel with one more script in it, and the line of RECORD that belongs to it."""
    name, version = wheel.name.split("-")[:2]
    place = f"{name}-{version}.data/scripts/{program.name}"
    body = program.read_bytes()
    digest = base64.urlsafe_b64encode(hashlib.sha256(body).digest()).rstrip(b"=").decode()
    with (
        zipfile.ZipFile(wheel) as source,
        zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as target,
    ):
        for entry in source.infolist():
            data = source.read(entry)
            if entry.filename.endswith(".dist-info/RECORD"):
                data += f"{place},sha256={digest},{len(body)}\n".encode()
            target.writestr(entry, data)
        script = zipfile.ZipInfo(place, (1980, 1, 1, 0, 0, 0))
        script.compress_type = zipfile.ZIP_DEFLATED
        script.external_attr = 0o100755 << 16
        target.writestr(script, body)


if __name__ == "__main__":
    main()
