"""`make msrv`: whether the oldest Rust that Cargo.toml promises compiles every program and library. rustup's toolchain of that version, else Debian's."""

import os
import subprocess
import sys
import tomllib

from . import toolchain
from .common import OUT, ROOT, MissingError, output, run


def main() -> int:
    """Checks the workspace with that compiler."""
    promised = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["rust-version"]
    try:
        compiler = old(promised)
    except MissingError as missing:
        print(f"missing: {missing}", file=sys.stderr)
        return 1
    print(output(compiler, "--version").strip(), flush=True)
    # In a folder of its own: crates that another compiler made are of no use.
    command = ["cargo", "check", "--workspace", "--locked", "--quiet", "--target-dir", OUT.parent / "msrv"]
    try:
        run(*command, env=os.environ | {"RUSTC": str(compiler)})
    except subprocess.CalledProcessError:
        print(f"Rust {promised} does not compile the workspace: see above", file=sys.stderr)
        return 1
    print(f"Rust {promised} compiles every library and program of the workspace")
    return 0


def old(version: str) -> str:
    """A compiler of that version."""
    try:
        found = subprocess.run(
            ["rustup", "which", "rustc", "--toolchain", version], capture_output=True, text=True, check=True
        )
        return found.stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return str(toolchain.rustc(toolchain.compiler(version=version)))


if __name__ == "__main__":
    sys.exit(main())
