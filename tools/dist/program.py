"""The static program, and the files packed beside it: licences, manual pages, completions of shells."""

import os
import shutil
from pathlib import Path

from . import toolchain
from .common import OUT, ROOT, SUMMARY, TARGET, VERSION, epoch, output, pack, run, squeeze

COMPLETIONS = {
    "bash": "usr/share/bash-completion/completions/anabranch",
    "zsh": "usr/share/zsh/vendor-completions/_anabranch",
    "fish": "usr/share/fish/vendor_completions.d/anabranch.fish",
}


def build(architecture: str, profile: str) -> Path:
    """Compiles the program with musl, and takes its symbols away; its path."""
    tool = toolchain.musl(architecture)
    print(f"program for {architecture}: {tool.target}, standard library of {tool.whose}", flush=True)
    command = ["cargo", "build", "--locked", "--quiet", "--profile", profile, "-p", "anabranch-cli"]
    flags = " ".join([os.environ.get("RUSTFLAGS", ""), *nameless()]).strip()
    run(*command, *tool.arguments, env=os.environ | tool.environment | {"RUSTFLAGS": flags})
    folder = "debug" if profile == "dev" else profile
    return stripped(TARGET / tool.target / folder / "anabranch", architecture, tool.strip)


def nameless() -> list[str]:
    """Flags that keep the folders of this machine out of the program: wherever it is built, it is the same."""
    home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    folders = dict.fromkeys(sorted(home.glob("registry/src/*")), "/registry")
    folders |= dict.fromkeys(sorted(toolchain.FOLDER.glob("rustc-*")), "/toolchain")
    return [f"--remap-path-prefix={folder}={name}" for folder, name in folders.items()]


def stripped(program: Path, architecture: str, strip: str = "strip") -> Path:
    """A copy of a program without symbols."""
    to = OUT / "build" / architecture / "anabranch"
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(program, to)
    run(strip, to)
    return to


def share(native: Path, to: Path) -> None:
    """Writes manual pages and completions below a root; `native` is a program that runs here."""
    manual = to / "usr/share/man/man1"
    manual.mkdir(parents=True)
    run(native, "man", manual)
    for shell, place in COMPLETIONS.items():
        path = to / place
        path.parent.mkdir(parents=True)
        path.write_text(output(native, "completions", shell))


def archive(program: Path, architecture: str, native: Path) -> Path:
    """A tar archive that is unpacked anywhere."""
    name = f"anabranch-{VERSION}-{architecture}-linux"
    folder = OUT / "build" / name
    shutil.rmtree(folder, ignore_errors=True)
    share(native, folder / "share")
    for inner in ("usr/share/man", "usr/share/bash-completion", "usr/share/zsh", "usr/share/fish"):
        (folder / "share" / inner).rename(folder / "share" / Path(inner).name)
    shutil.rmtree(folder / "share/usr")
    (folder / "bin").mkdir()
    shutil.copy(program, folder / "bin")
    for text in ("LICENSE-MIT", "LICENSE-APACHE"):
        shutil.copy(ROOT / text, folder)
    (folder / "README").write_text(
        f"anabranch {VERSION}: {SUMMARY}.\n\n"
        "bin/anabranch needs no library and no other file: put it where your programs are.\n"
        "share/ has manual pages and completions: copy it over /usr/local/share.\n"
    )
    path = OUT / f"{name}.tar.gz"
    path.write_bytes(squeeze(pack(folder, epoch(), f"{name}/")))
    return path
