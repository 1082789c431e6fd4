"""`make dist`: the packages of a release in out/dist.

Parts, in the order in which they are made (all of them unless some are named):

  crates   source crates, each as cargo would publish it
  program  the static program in a tar archive, for x86_64 and, where this machine can compile and run it, aarch64
  deb      a Debian package of the program, with manual pages and completions
  image    a container image of the program, without a daemon
  wheel    a Python wheel with the module, the laboratory and the program
  sbom     the bill of materials in CycloneDX
  sums     SHA256SUMS of all that is there
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from . import deb, image, program, sbom
from .common import OUT, ROOT, VERSION, MissingError, output, run, sha256

PARTS = ("crates", "program", "deb", "image", "wheel", "sbom", "sums")
OF_PROGRAM = {"program", "deb", "image", "wheel"}


def main() -> int:
    """Makes the packages that the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="dist", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)} (default: all)")
    parser.add_argument(
        "--arch",
        action="append",
        choices=("x86_64", "aarch64"),
        help="only for this architecture; may be repeated",
    )
    parser.add_argument(
        "--profile",
        default="dist",
        help="how the program is compiled (default dist: slow to build, fast to run)",
    )
    parser.add_argument(
        "--program", type=Path, help="pack this static program of this machine instead of compiling one"
    )
    parser.add_argument(
        "--no-verify", action="store_true", help="do not compile the source crates from their archives"
    )
    arguments = parser.parse_args()
    unknown = [each for each in arguments.parts if each not in PARTS]
    if unknown:
        parser.error(f"no part is called {unknown[0]}; there are {', '.join(PARTS)}")
    parts = set(arguments.parts or PARTS)
    OUT.mkdir(parents=True, exist_ok=True)
    try:
        made = list(make(parts, arguments))
    except MissingError as missing:
        print(f"missing: {missing}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        print(f"failed: {' '.join(map(str, error.cmd))}", file=sys.stderr)
        return 1
    for path in made:
        print(f"{path.stat().st_size / 1e6:8.2f} MB  {path.relative_to(ROOT)}")
    return 0


def make(parts: set[str], arguments: argparse.Namespace):
    """Makes each part; yields the files."""
    if "crates" in parts:
        yield from crates(verify=not arguments.no_verify)
    programs = compiled(arguments) if parts & OF_PROGRAM else {}
    if programs:
        native = programs.get(os.uname().machine)
        if native is None:
            raise MissingError(
                f"a program for {os.uname().machine}, which writes the manual pages: name it with --arch, too"
            )
        static(native)
    for architecture, each in programs.items():
        if "program" in parts:
            yield program.archive(each, architecture, native)
        if "deb" in parts:
            yield deb.package(each, architecture, native)
    if "image" in parts:
        yield image.image(programs)
    if "wheel" in parts:
        yield wheel(native)
    if "sbom" in parts:
        yield sbom.write()
    if "sums" in parts:
        yield sums()


def compiled(arguments: argparse.Namespace) -> dict[str, Path]:
    """The program of each architecture. One that was not named and cannot be made is left out, with a message."""
    machine = os.uname().machine
    if arguments.program:
        return {machine: program.stripped(arguments.program.resolve(), machine)}
    found = {}
    for architecture in arguments.arch or ("x86_64", "aarch64"):
        try:
            found[architecture] = program.build(architecture, arguments.profile)
        except MissingError as missing:
            if arguments.arch or architecture == machine:
                raise
            print(f"left out: packages for {architecture}, for want of {missing}", file=sys.stderr)
    return found


def static(path: Path) -> None:
    """Refuses a program that needs libraries: a packed program must run on systems without them."""
    headers = output("readelf", "--program-headers", path)
    if "INTERP" in headers:
        raise MissingError(f"a static program: {path} asks for a loader of libraries")


def crates(verify: bool):
    """Packs every crate that may be published, and compiles each from its archive."""
    folder = OUT / "crates"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    command = ["cargo", "package", "--workspace", "--locked", "--quiet"]
    command += [] if verify else ["--no-verify"]
    if output("git", "status", "--porcelain"):
        print("crates: with changes that are not committed", file=sys.stderr)
        command.append("--allow-dirty")
    target = OUT / "build" / "crates"
    # An archive of an earlier run must not pass for one of this.
    shutil.rmtree(target / "package", ignore_errors=True)
    metadata = output("cargo", "metadata", "--no-deps", "--locked", "--format-version", "1")
    run(*command, *hidden(metadata), "--target-dir", target)
    for path in sorted((target / "package").glob(f"*-{VERSION}.crate")):
        yield Path(shutil.copy(path, folder))


def hidden(metadata: str) -> list[str]:
    """Options that leave out the crates that are never published."""
    named = [each["name"] for each in json.loads(metadata)["packages"] if each["publish"] == []]
    return [word for name in named for word in ("--exclude", name)]


def wheel(native: Path) -> Path:
    """The wheel with the static program in it."""
    folder = OUT / "build" / "wheel"
    shutil.rmtree(folder, ignore_errors=True)
    run(sys.executable, "tools/wheel.py", folder, "--program", native)
    (built,) = folder.glob("*.whl")
    return Path(shutil.copy(built, OUT))


def sums() -> Path:
    """The checksums of all packages, as `sha256sum --check` reads them."""
    path = OUT / "SHA256SUMS"
    files = [
        each
        for each in sorted(OUT.rglob("*"))
        if each.is_file() and each != path and OUT / "build" not in each.parents
    ]
    path.write_text("".join(f"{sha256(each)}  {each.relative_to(OUT)}\n" for each in files))
    return path


if __name__ == "__main__":
    sys.exit(main())
