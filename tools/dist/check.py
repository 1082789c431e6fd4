"""`make dist-check`: installs each package of out/dist where there is nothing else, moves a file over loopback with it and simulates an example.

The static program, the Debian package and the container image run in a root file system that has only what they bring (as root by
`chroot`, else in a user namespace); the wheel is installed into a new environment and draws a first figure; source crates are compiled from
their archives: all of them, and an example of the library is run (`facade`), and the program by `cargo install` (`crates`); the program of another
processor runs under QEMU.
"""

import argparse
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import venv
from pathlib import Path

from . import bare, compose
from .common import OUT, ROOT, TARGET, VERSION, run, sha256

# Outside of the checkout: the laboratory would find it from within.
WORK = Path(tempfile.gettempdir()) / f"anabranch-dist-check-{os.getuid()}"


def main() -> int:
    """Tries every package that is there; 1 if one fails or none is there."""
    parser = argparse.ArgumentParser(
        prog="dist.check", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "packages",
        nargs="*",
        metavar="PACKAGE",
        help=f"only these: {', '.join(CHECKS)} (default: all that are in out/dist)",
    )
    arguments = parser.parse_args()
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    passed = failed = 0
    results: dict[str, str] = {}
    for name in arguments.packages or CHECKS:
        pattern, check = CHECKS[name]
        found = sorted(OUT.glob(pattern))
        if not found and name in arguments.packages:
            print(f"{name}: no {pattern} in {OUT}; `make dist` makes it", file=sys.stderr)
            failed += 1
        for path in found:
            begun = time.monotonic()
            try:
                seen = check(path)
                for each in re.findall(r"results (\w+)", seen):
                    results[each] = path.name
            except (AssertionError, OSError, subprocess.SubprocessError, KeyError, ValueError) as error:
                failed += 1
                print(f"FAILED  {path.name}: {error}", flush=True)
            else:
                passed += 1
                print(f"ok      {path.name}: {seen} ({time.monotonic() - begun:.1f} s)", flush=True)
    if len(results) > 1:
        failed += 1
        print(f"FAILED  the same scenario and seed gave different results: {results}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


def fresh(name: str) -> Path:
    """An empty folder."""
    folder = WORK / name
    folder.mkdir(parents=True)
    # The user of a container is another one.
    folder.chmod(0o755)
    return folder


def foreign(name: str) -> list[str]:
    """The emulator that a package of another processor needs."""
    architecture = "aarch64" if "aarch64" in name or "arm64" in name else "x86_64"
    if architecture == os.uname().machine:
        return []
    emulator = shutil.which(f"qemu-{architecture}")
    if not emulator:
        raise AssertionError(f"qemu-{architecture} is missing. On Debian: apt-get install qemu-user")
    return [emulator]


def check_archive(path: Path) -> str:
    """The program alone in a root of its own."""
    unpacked = fresh(path.name)
    with tarfile.open(path) as archive:
        archive.extractall(unpacked, filter="data")
    (top,) = unpacked.iterdir()
    emulator = foreign(path.name)
    if emulator:
        return bare.try_out(bare.Installed(top, "/bin/anabranch", emulator)) + ", emulated"
    for file in ("share/man/man1/anabranch.1", "share/bash-completion/completions/anabranch", "LICENSE-MIT"):
        if not (top / file).stat().st_size:
            raise AssertionError(f"{file} is empty")
    root = fresh(path.name + "-root")
    shutil.copy(top / "bin/anabranch", root)
    bare.names(root)
    return bare.try_out(bare.Bare(root, "/anabranch"))


def check_deb(path: Path) -> str:
    """Installed by dpkg into an empty root, used, removed."""
    root = fresh(path.name)
    for folder in ("info", "updates", "triggers"):
        (root / "var/lib/dpkg" / folder).mkdir(parents=True)
    (root / "var/lib/dpkg/status").touch()
    dpkg = ["dpkg", f"--root={root}", "--force-not-root", "--force-architecture", f"--log={WORK}/dpkg.log"]
    run(*dpkg, "--install", path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for file in (
        "usr/share/man/man1/anabranch.1.gz",
        "usr/share/man/man1/anabranch-connect.1.gz",
        "usr/share/bash-completion/completions/anabranch",
        "usr/share/zsh/vendor-completions/_anabranch",
        "usr/share/fish/vendor_completions.d/anabranch.fish",
        "usr/share/doc/anabranch/copyright",
    ):
        if not (root / file).stat().st_size:
            raise AssertionError(f"{file} is empty")
    if b".TH" not in gzip.decompress((root / "usr/share/man/man1/anabranch.1.gz").read_bytes()):
        raise AssertionError("anabranch.1 is no manual page")
    emulator = foreign(path.name)
    bare.names(root)
    place = bare.Installed(root, "/usr/bin/anabranch", emulator) if emulator else bare.Bare(root)
    seen = bare.try_out(place) + (", emulated" if emulator else "")
    run(*dpkg, "--purge", "anabranch", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if (root / "usr/bin/anabranch").exists() or (root / "usr/share/man").exists():
        raise AssertionError("files are left when it is removed")
    return seen


def check_image(path: Path) -> str:
    """Unpacked by its own checksums, as an engine does it; then the two containers of compose.yaml."""
    layout = fresh(path.name)
    with tarfile.open(path) as archive:
        archive.extractall(layout, filter="data")
    index = json.loads((layout / "index.json").read_bytes())
    (entry,) = index["manifests"]
    described = json.loads(blob(layout, entry))
    entries = described.get("manifests", [entry])
    seen = []
    for each in entries:
        root = fresh(f"{path.name}-{each['platform']['architecture']}")
        config = unpack_image(layout, each, root)
        emulator = foreign(each["platform"]["architecture"])
        bare.names(root)
        (program,) = config["Entrypoint"]
        if emulator:
            seen.append(bare.try_out(bare.Installed(root, program, emulator)) + ", emulated")
        else:
            seen.append(bare.try_out(bare.Bare(root, program, user=config["User"])))
            seen.append(compose.talk(root, config))
    return "; ".join(seen)


def blob(layout: Path, descriptor: dict) -> bytes:
    """A file of an image, whose size and checksum must be those of its descriptor."""
    algorithm, digest = descriptor["digest"].split(":")
    data = (layout / "blobs" / algorithm / digest).read_bytes()
    if len(data) != descriptor["size"] or hashlib.new(algorithm, data).hexdigest() != digest:
        raise AssertionError(f"{descriptor['digest']} is not what its name says")
    return data


def unpack_image(layout: Path, entry: dict, root: Path) -> dict:
    """Unpacks the layers into a root; the configuration."""
    manifest = json.loads(blob(layout, entry))
    config = json.loads(blob(layout, manifest["config"]))
    for layer, expected in zip(manifest["layers"], config["rootfs"]["diff_ids"], strict=True):
        data = gzip.decompress(blob(layout, layer))
        if f"sha256:{hashlib.sha256(data).hexdigest()}" != expected:
            raise AssertionError(f"the layer {layer['digest']} does not unpack to {expected}")
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            archive.extractall(root, filter="data")
    return config["config"]


def check_wheel(path: Path) -> str:
    """Installed into a new environment; the first figure; the program."""
    folder = fresh(path.name)
    begun = time.monotonic()
    home = folder / "venv"
    uv = Path(sys.executable).with_name("uv")
    venv.create(home, with_pip=not uv.exists())
    install = (
        [uv, "pip", "install", "--python", home / "bin/python"]
        if uv.exists()
        else [home / "bin/pip", "install"]
    )
    run(*install, "--quiet", path)
    installed = time.monotonic() - begun
    lab = home / "bin/anabranch-lab"
    run(lab, "new", "losses", cwd=folder, stdout=subprocess.DEVNULL)
    run(lab, "run", "--quick", cwd=folder / "losses", stdout=subprocess.DEVNULL)
    run(lab, "report", "--quick", cwd=folder / "losses", stdout=subprocess.DEVNULL)
    figures = [each for each in (folder / "losses/out/report").rglob("*") if each.suffix in (".svg", ".png")]
    page = (folder / "losses/out/report/index.html").read_text()
    if not figures and "<svg" not in page:
        raise AssertionError("the report has no figure")
    first = time.monotonic() - begun
    state = (
        "import anabranch; assert anabranch.connect().a.state == 'Established'; print(anabranch.__version__)"
    )
    version = subprocess.run(
        [home / "bin/python", "-c", state], check=True, text=True, stdout=subprocess.PIPE, cwd=folder
    ).stdout
    if version.strip() != VERSION:
        raise AssertionError(f"the module says that it is version {version.strip()}")
    seen = bare.try_out(bare.Installed(home, "/bin/anabranch"))
    how = "uv" if uv.exists() else "pip"
    return f"{seen}, installed by {how} in {installed:.0f} s, first figure after {first:.0f} s"


def unpack_crates(path: Path, folder: Path) -> dict[str, Path]:
    """Unpacks all crates that lie beside this one; their folders by name."""
    for archive in path.parent.glob("*.crate"):
        with tarfile.open(archive) as packed:
            packed.extractall(folder, filter="data")
    return {each.name.removesuffix(f"-{VERSION}"): each for each in sorted(folder.iterdir())}


def check_facade(path: Path) -> str:
    """Every crate checked by the compiler, and an example of the library run, from the archives.

    Profiles and lock file are those of the repository, and so is the folder of compiled crates: after lints and tests only the
    crates themselves are left, without optimisation.
    """
    folder = fresh("facade")
    crates = unpack_crates(path, folder)
    manifest = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    profiles = "".join(
        re.findall(
            r"^\[profile\.dev\.package\.(?!anabranch).*?(?=^\[|\Z)", manifest, re.MULTILINE | re.DOTALL
        )
    )
    patches = "".join(f'{name} = {{ path = "{each.name}" }}\n' for name, each in crates.items())
    (folder / "Cargo.toml").write_text(
        '[workspace]\nresolver = "3"\nmembers = ["anabranch-*"]\n\n'
        f"[profile.dev]\nopt-level = 0\ndebug = false\n\n{profiles}\n[patch.crates-io]\n{patches}",
        encoding="utf-8",
    )
    shutil.copy(ROOT / "Cargo.lock", folder)
    environment = {**os.environ, "CARGO_TARGET_DIR": str(TARGET)}
    run("cargo", "check", "--quiet", "--offline", "--workspace", cwd=folder, env=environment)
    printed = subprocess.run(
        ["cargo", "run", "--quiet", "--offline", "--features", "live,sim", "--example", "simulate"],
        cwd=crates["anabranch"], env=environment, check=True, text=True, stdout=subprocess.PIPE,
    ).stdout  # fmt: skip
    if "Mbit/s" not in printed:
        raise AssertionError(f"the example `simulate` printed {printed!r}")
    return f"{len(crates)} crates compile, an example printed {printed.splitlines()[0]!r}"


def check_crates(path: Path) -> str:
    """`cargo install` of the program from its archive, with the other archives in place of the registry."""
    folder = fresh("crates")
    crates = unpack_crates(path, folder)
    options = []
    for name, each in crates.items():
        if name != "anabranch-cli":
            options += ["--config", f'patch.crates-io.{name}.path="{each}"']
    run(
        "cargo", "install", "--quiet", "--debug", "--locked", *options, "--path", crates["anabranch-cli"], "--root", folder / "installed",
        "--target-dir", OUT / "build" / "installed", cwd=folder,
    )  # fmt: skip
    return bare.try_out(bare.Installed(folder / "installed", "/bin/anabranch"))


def check_sums(path: Path) -> str:
    """Every package has the checksum that is written down, and none has none."""
    lines = dict(reversed(line.split("  ")) for line in path.read_text().splitlines())
    for name, digest in lines.items():
        if sha256(OUT / name) != digest:
            raise AssertionError(f"{name} has another checksum")
    return f"{len(lines)} files"


CHECKS = {
    "program": (f"anabranch-{VERSION}-*-linux.tar.gz", check_archive),
    "deb": (f"anabranch_{VERSION}_*.deb", check_deb),
    "image": (f"anabranch-{VERSION}-image.tar", check_image),
    "wheel": (f"anabranch-{VERSION}-*.whl", check_wheel),
    "facade": (f"crates/anabranch-{VERSION}.crate", check_facade),
    "crates": (f"crates/anabranch-cli-{VERSION}.crate", check_crates),
    "sums": ("SHA256SUMS", check_sums),
}

if __name__ == "__main__":
    sys.exit(main())
