"""A Debian package of the static program: no dependencies, so that it fits every release of Debian and the distributions derived from it."""

import gzip
import os
import shutil
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path

from .common import DEBIAN, OUT, ROOT, SUMMARY, VERSION, epoch, run
from .program import share

DESCRIPTION = """\
 Moves data over SCTP in UDP between hosts, without root and without SCTP in
 the kernel; measures and pings peers; decodes captures of SCTP and TCP and
 names the reason of each retransmission; and simulates networks in virtual
 time with the same protocol stack.
"""
COPYRIGHT = """\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: anabranch

Files: *
Copyright: {years} the authors of anabranch
License: MIT or Apache-2.0

License: MIT
{mit}

License: Apache-2.0
 On Debian systems the full text is in /usr/share/common-licenses/Apache-2.0.
"""
MAINTAINER = "The authors of anabranch <anabranch@localhost>"


def package(program: Path, architecture: str, native: Path) -> Path:
    """Packs a program with its manual pages and completions."""
    folder = OUT / "build" / f"deb-{architecture}"
    shutil.rmtree(folder, ignore_errors=True)
    time = epoch()
    (folder / "usr/bin").mkdir(parents=True)
    shutil.copy(program, folder / "usr/bin/anabranch")
    share(native, folder)
    for page in sorted((folder / "usr/share/man/man1").iterdir()):
        compressed(page, page.read_bytes())
        page.unlink()
    documents = folder / "usr/share/doc/anabranch"
    documents.mkdir(parents=True)
    (documents / "copyright").write_text(copyright_file())
    date = format_datetime(datetime.fromtimestamp(time, UTC))
    changes = f"anabranch ({VERSION}) unstable; urgency=medium\n\n  * Release {VERSION}.\n\n -- {MAINTAINER}  {date}\n"
    compressed(documents / "changelog", changes.encode())
    kilobytes = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) // 1024
    control = folder / "DEBIAN"
    control.mkdir()
    (control / "control").write_text(
        f"Package: anabranch\nVersion: {VERSION}\nArchitecture: {DEBIAN[architecture]}\nMaintainer: {MAINTAINER}\n"
        f"Installed-Size: {kilobytes}\nSection: net\nPriority: optional\nDescription: {SUMMARY}\n{DESCRIPTION}"
    )
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() or path.parent.name == "bin" else 0o644)
    path = OUT / f"anabranch_{VERSION}_{DEBIAN[architecture]}.deb"
    # It takes the time that the files bear from the environment.
    run(
        "dpkg-deb",
        "--root-owner-group",
        "-Zxz",
        "--build",
        folder,
        path,
        env=os.environ | {"SOURCE_DATE_EPOCH": str(time)},
    )
    return path


def compressed(path: Path, data: bytes) -> None:
    """Writes a file with .gz after its name, as Debian wants documents."""
    path.with_name(path.name + ".gz").write_bytes(gzip.compress(data, 9, mtime=0))


def copyright_file() -> str:
    """The licences, in Debian's form: an empty line is a dot."""
    text = (ROOT / "LICENSE-MIT").read_text().strip()
    years = next(word for word in text.split() if word.isdigit())
    mit = "\n".join(f" {line}" if line.strip() else " ." for line in text.splitlines())
    return COPYRIGHT.format(mit=mit, years=years)
