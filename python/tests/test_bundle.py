"""A study in one file, and its rerun elsewhere."""

import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from anabranch import _core
from anabranch_lab import cli
from anabranch_lab.plan import new
from anabranch_lab.run import simulation
from anabranch_lab.show import bundle


def command(*arguments):
    return cli.main([str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A study of two experiments with its runs."""
    folder = tmp_path_factory.mktemp("somewhere") / "mystudy"
    new.make(folder, study=True)
    new.make(folder / "second")
    assert command("run", folder, "--jobs", 1) == 0
    return folder


@pytest.fixture(scope="module")
def packed(study, tmp_path_factory):
    file = tmp_path_factory.mktemp("packed") / "mine.tar.gz"
    assert command("bundle", study, file) == 0
    return file


@pytest.fixture
def unpacked(packed, tmp_path):
    with tarfile.open(packed) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "mine"


def test_what_is_in_it(unpacked):
    files = {str(path.relative_to(unpacked)) for path in unpacked.rglob("*") if path.is_file()}
    assert {file for file in files if not file.endswith(".whl")} == {
        *(
            "Dockerfile",
            "README.md",
            "bundle.json",
            "claims.json",
            "requirements.txt",
            "study/mystudy/study.toml",
        ),
        *(f"study/mystudy/{name}/{file}" for name in ("losses", "second") for file in (*TOML, "README.md")),
        *(f"results/{name}/losses.parquet" for name in ("losses", "second")),
    }
    head = json.loads((unpacked / "bundle.json").read_text())
    assert head["build"] == simulation.code_version()
    assert head["experiments"] == ["mystudy/losses", "mystudy/second"]
    assert f"pyarrow=={head['packages']['pyarrow']}\n" in (unpacked / "requirements.txt").read_text()
    assert {claim["id"]: claim["grade"] for claim in json.loads((unpacked / "claims.json").read_text())} == {
        "losses-1": "A",
        "second-1": "A",
    }
    rows = pq.read_table(unpacked / "results/losses/losses.parquet").to_pylist()
    assert {(row["p"], row["seed"]) for row in rows} == {
        (p, seed) for p in (0.003, 0.01, 0.03) for seed in range(1, 31)
    }
    assert {row["kind"] for row in rows} >= {"flow", "link"}


TOML = ("scenario.toml", "plan.toml", "claims.toml")


def test_the_same_bundle_is_the_same_bytes(study, packed, tmp_path):
    again = tmp_path / "mine.tar.gz"
    assert command("bundle", study, again) == 0
    assert again.read_bytes() == packed.read_bytes()


def test_its_wheel_runs_it_elsewhere(packed, unpacked, tmp_path):
    """Follows the Dockerfile, with the packages that are here: the wheel alone is installed, and a new process reruns the bundle."""
    steps = dict(re.findall(r"^([A-Z]+) (.*)$", (unpacked / "Dockerfile").read_text(), re.MULTILINE))
    assert steps["RUN"] == "pip install --no-cache-dir -r requirements.txt wheel/*.whl"
    assert json.loads(steps["CMD"])[:2] == ["anabranch-lab", "rerun"]
    (wheel,) = (unpacked / "wheel").glob("*.whl")
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (record,) = [name for name in names if name.endswith("/RECORD")]
        listed = {line.split(",")[0] for line in archive.read(record).decode().splitlines()}
        assert listed == names
        archive.extractall(site)
    assert (site / "anabranch" / Path(_core.__file__).name).read_bytes() == Path(_core.__file__).read_bytes()
    script = (
        "import sys, anabranch_lab, anabranch_lab.cli as cli; assert anabranch_lab.__file__.startswith(sys.argv[1]); "
        "sys.exit(cli.main(sys.argv[2:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(site), "rerun", str(packed), "--out", "again"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 of 2 sweeps have the same runs, value by value" in done.stdout
    assert "all 2 claims have the grades of the bundle" in done.stdout
    assert (tmp_path / "again" / "report" / "mystudy.html").is_file()


def test_another_grade_is_told(unpacked, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    file = unpacked / "claims.json"
    entries = json.loads(file.read_text())
    entries[1]["grade"] = "D"
    file.write_text(json.dumps(entries))
    table = pq.read_table(unpacked / "results/losses/losses.parquet")
    pq.write_table(table.slice(1), unpacked / "results/losses/losses.parquet")
    head = json.loads((unpacked / "bundle.json").read_text())
    (unpacked / "bundle.json").write_text(json.dumps({**head, "build": "another"}))
    assert command("rerun", unpacked) == 1
    printed = " ".join(capsys.readouterr().out.split())
    assert "1 claims have another grade: second-1" in printed
    assert "1 of 2 sweeps have the same runs" in printed
    assert "another build of the simulator" in printed
    assert (tmp_path / "mine-rerun" / "claims.json").is_file()


def test_one_experiment_of_a_study(study, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(study / "second")
    assert command("bundle", tmp_path / "one.tgz") == 0
    monkeypatch.chdir(tmp_path)
    assert command("rerun", "one.tgz") == 0
    assert "all 1 claims have the grades of the bundle" in capsys.readouterr().out


def test_what_cannot_be_bundled_or_rerun(study, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    new.make(tmp_path / "mine")
    assert command("bundle", "mine", "mine.tar.gz") == 1
    assert "run the experiment first" in capsys.readouterr().err
    assert not (tmp_path / "mine.tar.gz").exists()
    new.make(tmp_path / "yours")
    assert command("bundle", "all.tar.gz") == 2
    assert "a bundle has one study: name one of mine, yours" in capsys.readouterr().err
    (tmp_path / "no.tar.gz").write_text("no")
    for wrong in ("no.tar.gz", "mine"):
        assert command("rerun", wrong) == 2
        assert "no bundle" in capsys.readouterr().err


def test_names_of_bundles():
    assert [bundle.stem(Path(name)) for name in ("/x/a.tar.gz", "/x/b.tgz", "/x/c")] == ["a", "b", "c"]
