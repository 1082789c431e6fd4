"""Functions for every part: folders, the version, and running commands."""

import gzip
import hashlib
import io
import os
import subprocess
import tarfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
OUT = ROOT / "out" / "dist"
VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
SUMMARY = "SCTP in user space, and a simulator of networks that runs it"

# Names of an architecture: Rust's and the kernel's, Debian's, and that of container images.
DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}


class MissingError(Exception):
    """Something that this machine lacks, in a sentence that says how to get it."""


def run(*command: str | Path, **options) -> subprocess.CompletedProcess:
    """Runs a command that must succeed; its output is shown."""
    return subprocess.run(
        [str(each) for each in command], check=True, cwd=options.pop("cwd", ROOT), **options
    )


def output(*command: str | Path, **options) -> str:
    """Runs a command that must succeed; returns its output."""
    return run(*command, text=True, stdout=subprocess.PIPE, **options).stdout


def epoch() -> int:
    """The time that files in packages bear: that of the commit, so that the same commit gives the same packages."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    return int(given or output("git", "log", "-1", "--format=%ct"))


def sha256(path: Path) -> str:
    """The checksum of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def pack(folder: Path, time: int, prefix: str = "") -> bytes:
    """A tar archive of a folder, in the order of names, owned by root: the same contents give the same bytes."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for path in sorted(folder.rglob("*")):
            entry = archive.gettarinfo(path, prefix + str(path.relative_to(folder)))
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = "root"
            entry.mtime = time
            if entry.isfile():
                entry.mode = 0o755 if entry.mode & 0o100 else 0o644
                with path.open("rb") as file:
                    archive.addfile(entry, file)
            else:
                entry.mode = 0o755
                archive.addfile(entry)
    return buffer.getvalue()


def squeeze(data: bytes) -> bytes:
    """Compressed with gzip, without a time or a name in it."""
    return gzip.compress(data, 9, mtime=0)
