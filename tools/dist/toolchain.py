"""Compilers that make static programs with musl: rustup's where it has the standard library for the target, else Debian's.

Debian has no standard library for musl, but its sources, and musl itself: cargo compiles the one from the other. The packages are
unpacked into out/toolchain, not installed: Debian's rustc and rustup exclude each other.
"""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from .common import DEBIAN, ROOT, MissingError, output, run

FOLDER = ROOT / "out" / "toolchain"


@dataclass
class Toolchain:
    """How cargo is called for a target, and the tool that removes symbols from the program."""

    target: str
    whose: str
    strip: str
    arguments: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)


def musl(architecture: str) -> Toolchain:
    """The compiler of static programs for an architecture, as Rust names it."""
    target = f"{architecture}-unknown-linux-musl"
    gnu = f"{architecture}-linux-gnu-"
    native = architecture == os.uname().machine
    gcc = "cc" if native else gnu + "gcc"
    if not shutil.which(gcc):
        raise MissingError(
            f"a linker for {target} ({gcc}). On Debian: apt-get install gcc-{architecture.replace('_', '-')}-linux-gnu"
        )
    tool = Toolchain(target, "rustup", "strip" if native else gnu + "strip", ["--target", target])
    tool.environment[f"CARGO_TARGET_{target.upper().replace('-', '_')}_LINKER"] = gcc
    library = Path(output("rustc", "--print", "target-libdir", "--target", target).strip())
    if not any(library.glob("libstd-*")):
        debian(tool, architecture, gcc)
    return tool


def debian(tool: Toolchain, architecture: str, gcc: str) -> None:
    """Makes a toolchain that compiles the standard library, from Debian's packages."""
    if not shutil.which("apt-get"):
        raise MissingError(f"the standard library for {tool.target}: rustup target add {tool.target}")
    home = compiler(["rust-web-src"])
    triplet = f"{architecture}-linux-gnu"
    package = f"musl-dev:{DEBIAN[architecture]}"
    unpacked = FOLDER / f"musl-{architecture}"
    if not unpacked.exists():
        unpack(download([package], DEBIAN[architecture]), unpacked)
    # The files that rustup puts there: the C library, the code at the beginning and end of a program, and the unwinder.
    parts = home / "usr/lib/rustlib" / tool.target / "lib/self-contained"
    parts.mkdir(parents=True, exist_ok=True)
    for each in (unpacked / "usr/lib" / f"{architecture}-linux-musl").glob("*.[oa]"):
        shutil.copy(each, parts)
    for name in ("crtbegin.o", "crtbeginS.o", "crtend.o", "crtendS.o"):
        shutil.copy(output(gcc, f"-print-file-name={name}").strip(), parts)
    unwinder = parts / "libunwind.a"
    shutil.copy(output(gcc, "-print-file-name=libgcc_eh.a").strip(), unwinder)
    found = parts / "find_object.o"
    run(gcc, "-O2", "-fPIC", "-Wall", "-Werror", "-c", Path(__file__).with_name("find_object.c"), "-o", found)
    run(shutil.which(f"{triplet}-ar") or "ar", "r", unwinder, found, stderr=subprocess.DEVNULL)
    tool.whose = f"Debian, {output(rustc(home), '--version').strip()}"
    tool.arguments += ["-Zbuild-std=std,panic_abort"]
    # Compiling the standard library is not stable: this says that a compiler of a release may do it.
    tool.environment |= {"RUSTC": str(rustc(home)), "RUSTC_BOOTSTRAP": "1"}


def compiler(more: list[str] = (), version: str = "") -> Path:
    """Debian's Rust compiler, unpacked: the newest there is, or the newest whose version begins so."""
    versions = [
        line.split("|")[1].strip() for line in output("apt-cache", "madison", "rustc-web").splitlines()
    ]
    fitting = [each for each in versions if each.startswith(version)]
    if not fitting:
        raise MissingError(
            f"a package rustc-web {version}: Debian 12 has it, this machine's package lists do not (apt-get update)"
        )
    # The newest is the first.
    chosen = fitting[0]
    home = FOLDER / f"rustc-{chosen}"
    if not home.exists():
        names = [f"{name}={chosen}" for name in ("rustc-web", "libstd-rust-web-dev", *more)]
        for name in (f"libstd-rust-web-{'.'.join(chosen.split('.')[:2])}",):
            names.append(name)
            names += re.findall(r"Depends: (libllvm\S+)", output("apt-cache", "depends", name))
        unpack(download(names), home)
    return home


def rustc(home: Path) -> Path:
    """The program of an unpacked compiler: a script that tells it where its libraries are."""
    script = home / "rustc"
    if not script.exists():
        libraries = home / "usr/lib" / f"{os.uname().machine}-linux-gnu"
        script.write_text(f'#!/bin/sh\nLD_LIBRARY_PATH="{libraries}" exec "{home}/usr/bin/rustc" "$@"\n')
        script.chmod(0o755)
    return script


def download(names: list[str], architecture: str = "") -> Path:
    """Packages of Debian in a folder of their own; another architecture's lists are fetched beside those of the system."""
    folder = FOLDER / "packages" / re.sub(r"[^\w.+-]+", "_", "-".join(names))[:100]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    options = []
    own = output("dpkg", "--print-architecture").strip()
    if architecture not in ("", own):
        lists = FOLDER / f"lists-{architecture}"
        (lists / "partial").mkdir(parents=True, exist_ok=True)
        options = [
            f"-oAPT::Architectures={architecture}",
            f"-oAPT::Architecture={architecture}",
            f"-oDir::State::lists={lists}",
        ]
        options += [
            f"-oDir::Cache::pkgcache={lists}/packages.bin",
            f"-oDir::Cache::srcpkgcache={lists}/sources.bin",
        ]
        run("apt-get", *options, "-qq", "update")
    run("apt-get", *options, "-qq", "-oAPT::Sandbox::User=root", "download", *names, cwd=folder)
    return folder


def unpack(packages: Path, to: Path) -> None:
    """Unpacks every package of a folder, and forgets the packages. An empty folder, which a run that was interrupted or another that began
    meanwhile leaves, would hide the missing packages in every later run.
    """
    found = sorted(packages.glob("*.deb"))
    if not found:
        raise MissingError(
            f"packages in {packages}: nothing was downloaded, or another run took them; run it again"
        )
    half = to.with_name(to.name + ".part")
    shutil.rmtree(half, ignore_errors=True)
    half.mkdir(parents=True)
    for each in found:
        run("dpkg-deb", "-x", each, half)
    shutil.rmtree(packages)
    half.rename(to)
