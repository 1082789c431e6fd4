"""A study in one file that another machine reruns to the same grades: `anabranch-lab bundle` makes it, `anabranch-lab rerun` reruns it."""

import base64
import gzip
import hashlib
import json
import platform
import re
import shutil
import sys
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow.parquet as pq

import anabranch
from anabranch import _core

from .. import __file__ as _lab
from ..judge import analyses, claims, experiment
from ..plan import folders, plan
from ..run import simulation, store
from ..run.results import Results

SCHEMA = 1
"""The version of the form of bundle.json: it grows when a key gets another meaning or goes."""
ENDS = (".tar.gz", ".tgz")
LEFT_OUT = ("out", "__pycache__", ".*", "*.pyc", *(f"*{end}" for end in ENDS))
"""Files of a study that a bundle leaves out: they can be made again."""
HEAD, CLAIMS, STUDY, RESULTS = "bundle.json", "claims.json", "study", "results"
DOCKERFILE = """# docker build -t {name} . && docker run --rm {name}
FROM python:{python}-slim
COPY . /bundle
WORKDIR /bundle
RUN pip install --no-cache-dir -r requirements.txt wheel/*.whl
CMD ["anabranch-lab", "rerun", "/bundle", "--out", "/tmp/out"]
"""
README = """# {title}

| file | what |
|---|---|
| `{study}/` | scenarios, plans, claims, judges |
| `results/` | every run: a Parquet file for each sweep, with the values of its axes |
| `claims.json`, `seeds.json` | the grades, and how many seeds each point has where a rule decides it |
| `bundle.json`, `requirements.txt` | the build of the simulator, the versions of the Python packages |
| `wheel/` | that build, for {platform} |

Again, and compared with the grades of `claims.json`:

    docker build -t {name} . && docker run --rm {name}

or, without Docker, on such a machine:

    pip install -r requirements.txt wheel/*.whl
    anabranch-lab rerun .
"""


def check(path: Path, chosen: Sequence[Results]) -> None:
    """Refuses a wrong name of the bundle, and experiments of several studies."""
    if not path.name.endswith(ENDS):
        raise plan.PlanError(f"{path}: the name of a bundle ends in {' or '.join(ENDS)}")
    studies = sorted({folders.study_folder(results.plan.folder).name for results in chosen})
    if len(studies) > 1:
        raise plan.PlanError(f"a bundle has one study: name one of {', '.join(studies)}")


def write(path: Path, chosen: Sequence[Results], found: Sequence[claims.Claim]) -> list[str]:
    """Writes the bundle of some experiments of one study, which have these claims; returns the names of its files."""
    folder = folders.study_folder(chosen[0].plan.folder).resolve()
    name = _stem(path)
    with TemporaryDirectory() as made:
        top = Path(made)
        shutil.copytree(folder, top / STUDY / folder.name, ignore=shutil.ignore_patterns(*LEFT_OUT))
        for results in [*chosen, *experiment.used(chosen)]:
            for sweep in results.plan.sweeps:
                file = _file(top, results, sweep.name)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(store.encode(_rows(results, sweep.name)))
        claims.write(found, top / CLAIMS)
        analyses.write_seeds(
            [each for results in chosen for each in analyses.seeds_of(results)], top / "seeds.json"
        )
        packages = _packages()
        head = {
            "schema": SCHEMA,
            "name": name,
            "study": folder.name,
            "experiments": [results.plan.name for results in chosen],
            "seeds": chosen[0].given_seeds,
            "quick": chosen[0].quick,
            "anabranch": _core.__version__,
            "build": chosen[0].code,
            "python": platform.python_version(),
            "platform": f"{platform.system()} {platform.machine()}",
            "packages": packages,
        }
        told = {
            HEAD: json.dumps(head, indent=1, ensure_ascii=False) + "\n",
            "requirements.txt": "".join(f"{each}=={version}\n" for each, version in packages.items()),
            "Dockerfile": DOCKERFILE.format(
                name=re.sub(r"[^a-z0-9._-]", "-", name.lower()),
                python=".".join(map(str, sys.version_info[:2])),
            ),
            "README.md": README.format(
                title=folders.study_at(folder).title,
                study=f"{STUDY}/{folder.name}",
                name=name,
                platform=head["platform"],
            ),
        }
        for each, text in told.items():
            (top / each).write_text(text, encoding="utf-8")
        wheel(top / "wheel")
        files = sorted(each for each in top.rglob("*") if each.is_file())
        _pack(path, name, top, files)
        return [str(each.relative_to(top)) for each in files]


def _pack(path: Path, name: str, top: Path, files: Sequence[Path]) -> None:
    """Writes the archive; the same files give the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    with (
        part.open("wb") as file,
        gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w") as archive,
    ):
        for each in files:
            entry = tarfile.TarInfo(f"{name}/{each.relative_to(top).as_posix()}")
            entry.size, entry.mode = each.stat().st_size, 0o644
            with each.open("rb") as content:
                archive.addfile(entry, content)
    part.replace(path)


@contextmanager
def opened(bundle: Path) -> Iterator[Path]:
    """The folder of a bundle: itself, or a file taken apart for as long as it is needed."""
    if bundle.is_dir():
        yield bundle
        return
    if not bundle.is_file():
        raise plan.PlanError(f"{bundle}: there is no such bundle")
    with TemporaryDirectory() as made:
        try:
            with tarfile.open(bundle) as archive:
                archive.extractall(made, filter="data")
        except tarfile.TarError as error:
            raise plan.PlanError(f"{bundle}: no bundle: {error}") from None
        found = sorted(path.parent for path in Path(made).glob(f"*/{HEAD}"))
        yield found[0] if found else Path(made)


def head(folder: Path) -> dict[str, Any]:
    """The head of a bundle: its description."""
    file = folder / HEAD
    if not file.is_file():
        raise plan.PlanError(f"{folder}: no bundle: {HEAD} is not there")
    told = json.loads(file.read_text(encoding="utf-8"))
    if told.get("schema") != SCHEMA:
        raise plan.PlanError(f"{file}: schema {told.get('schema')}; this version reads {SCHEMA}")
    return told


def results_of(folder: Path, told: dict[str, Any], out: Path) -> list[Results]:
    """The experiments of a bundle, with results of their own in `out`."""
    study = folder / STUDY / told["study"]
    plans = [each for each in folders.at(study) or [] if each.name in told["experiments"]]
    return [Results(each, out / "results", seeds=told["seeds"], quick=told["quick"]) for each in plans]


def same_rows(folder: Path, results: Results) -> dict[str, bool]:
    """For each sweep whether its runs are those of the bundle, value by value."""
    found = {}
    for sweep in results.plan.sweeps:
        # The bundled values are written again: another version of Arrow may write the same values as other bytes.
        kept = store.encode(pq.read_table(_file(folder, results, sweep.name)))
        found[sweep.name] = kept == store.encode(_rows(results, sweep.name))
    return found


def grades_of(file: Path) -> dict[str, str]:
    """The grades of a claims.json, by the identifiers of the claims."""
    return {entry["id"]: entry["grade"] for entry in json.loads(file.read_text(encoding="utf-8"))}


def build(told: dict[str, Any]) -> str:
    """A warning where this is another build of the simulator than the one that a bundle was made with."""
    mine = simulation.code_version()
    return (
        ""
        if mine == told["build"]
        else f"another build of the simulator: {mine}; the bundle was made with {told['build']}"
    )


def stem(bundle: Path) -> str:
    """The name of a bundle without the ends of its file."""
    return _stem(bundle.resolve())


def _stem(path: Path) -> str:
    return next((path.name.removesuffix(end) for end in ENDS if path.name.endswith(end)), path.name)


def _file(top: Path, results: Results, sweep: str) -> Path:
    return top / RESULTS / results.plan.name.rpartition("/")[2] / f"{sweep}.parquet"


def _rows(results: Results, sweep: str) -> Any:
    return results.table(sweep, "SELECT * FROM runs ORDER BY ALL")


def _packages() -> dict[str, str]:
    """The packages that the laboratory needs, directly and indirectly, with the versions that are installed."""
    found: dict[str, str] = {}
    left = ["anabranch"]
    while left:
        for needed in metadata.requires(left.pop()) or []:
            name = re.match(r"[A-Za-z0-9._-]+", needed)
            if name is None or "extra ==" in needed or name[0].lower() in found:
                continue
            try:
                found[name[0].lower()] = metadata.version(name[0])
            except metadata.PackageNotFoundError:
                # A package for another system or another Python only.
                continue
            left.append(name[0])
    return dict(sorted(found.items()))


def wheel(folder: Path) -> Path:
    """Writes a wheel of the packages that run here: the very build that the results are of."""
    installed = metadata.distribution("anabranch")
    info = f"anabranch-{installed.version}.dist-info"
    tag = re.search(r"^Tag: (\S+)$", installed.read_text("WHEEL") or "", re.MULTILINE)
    files: dict[str, bytes] = {}
    for package in (Path(anabranch.__file__).parent, Path(_lab).parent):
        for path in sorted(package.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                files[f"{package.name}/{path.relative_to(package).as_posix()}"] = path.read_bytes()
    for name in ("METADATA", "WHEEL", "entry_points.txt"):
        files[f"{info}/{name}"] = (installed.read_text(name) or "").encode()
    record = "".join(f"{name},sha256={_digest(body)},{len(body)}\n" for name, body in files.items())
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"anabranch-{installed.version}-{tag[1] if tag else 'cp311-abi3-linux_x86_64'}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in files.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o100644 << 16
            archive.writestr(entry, body)
    return path


def _digest(body: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(body).digest()).rstrip(b"=").decode()
