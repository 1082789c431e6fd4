"""Experiments outside a checkout: `init`, `run PATH`, and the page that tells how."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from anabranch_lab import cli
from anabranch_lab.plan import folders
from anabranch_lab.plan import new as scaffold

DOCS = folders.root() / "docs"
BIN = Path(sys.executable).parent


def command(*arguments):
    return cli.main([str(argument) for argument in arguments])


@pytest.fixture
def made(tmp_path, monkeypatch):
    """A new experiment, far from any checkout, and we are in it."""
    folder = tmp_path / "mine"
    scaffold.make(folder)
    monkeypatch.chdir(folder)
    return folder


def commands(page, heading=None):
    """The shell commands of a page, from a heading on."""
    text = (DOCS / page).read_text(encoding="utf-8")
    text = text.split(f"## {heading}\n")[1] if heading else text
    block = re.search(r"```sh\n(.*?)```", text, re.DOTALL)[1]
    return [line for line in block.splitlines() if line]


def test_the_page_of_the_first_experiment_is_six_commands_that_work(tmp_path):
    lines = commands("first-experiment.md")
    assert len(lines) == 6
    script = "set -e\n" + "\n".join(lines)
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    out = tmp_path / "losses" / "out"
    verdicts = {claim["id"]: claim["verdict"] for claim in json.loads((out / "claims.json").read_text())}
    assert verdicts == {"H-1": "holds", "H-2": "holds"}
    page = (out / "report" / "index.html").read_text(encoding="utf-8")
    assert "losses.html" in page
    assert "losses: what random losses leave" in (out / "report" / "losses.html").read_text(encoding="utf-8")


def test_the_grid_of_the_page_works(made, capsys):
    (line,) = commands("first-experiment.md", "A grid without a folder")
    words = shlex.split(line)
    assert words[0] == "anabranch-lab"
    # The same command with fewer runs, to be quick.
    assert command(*words[1:-1], "1..2", "--set", "duration=12 s", "--set", "warmup=2 s") == 0
    printed = capsys.readouterr().out
    assert "link.path.rate, Mbit/s" in printed
    assert (made / "out" / "sweep" / "scenario.png").read_bytes().startswith(b"\x89PNG")
    table = (made / "out" / "sweep" / "scenario.csv").read_text().splitlines()
    assert len(table) == 1 + 5 * 2 * 2
    assert table[1].startswith("1,linux-6.1,1,") or table[1].startswith("1,rfc9260,1,")


def test_a_folder_is_run_from_anywhere(made, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert command("run", "mine", "--quick", "--jobs", 2) == 0
    assert "12 runs made" in capsys.readouterr().out
    # Its results lie beside its plan, not where the command was typed.
    assert list((made / "out" / "results").glob("**/*.parquet"))
    assert not (tmp_path / "out").exists()
    assert command("claims", made, "--quick") == 0
    assert "2 claims, 2 of them looked at here" in capsys.readouterr().out


def test_the_finding_is_written_into_the_readme(made):
    assert command("run", "--quick") == 0
    assert command("report", "--quick", "--readme") == 0
    assert "With 3 % of the packets lost" in (made / "README.md").read_text()


def test_a_folder_without_an_analysis_gets_a_table_and_a_figure(made, capsys):
    for name in ("analysis.py", "judge.py", "claims.toml"):
        (made / name).unlink()
    assert command("run", "--quick") == 0
    assert command("report", "--quick") == 0
    printed = capsys.readouterr().out
    assert "upload: goodput payload, Mbit/s" in printed
    page = (made / "out" / "report" / "mine.html").read_text(encoding="utf-8")
    assert "<figure" in page
    assert "path: utilisation, %" in page


def test_a_study_of_ones_own(made, tmp_path, capsys):
    (tmp_path / "study.toml").write_text('title = "Two of mine"\n')
    scaffold.make(tmp_path / "other")
    assert command("run", tmp_path, "--quick") == 0
    # Both run the same scenarios, so each is run once.
    assert "2 experiments: 12 runs made" in capsys.readouterr().out
    assert (tmp_path / "out" / "results").is_dir()


def test_init_overwrites_nothing(made, capsys):
    before = {path: path.read_bytes() for path in made.iterdir()}
    assert command("init", made) == 2
    assert "not empty: nothing was written" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in made.iterdir()} == before
    assert command("init", "a name") == 2
    assert "letters, digits" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "change", "message"),
    [
        (("run", "nowhere"), None, "nowhere: there is no such folder. Name the folder"),
        (("run", "empty"), None, "empty: no plan.toml in this folder or below it"),
        (("run", "mine"), ("title =", "tilte ="), "unknown key `tilte`; allowed are"),
        (("run", "mine"), ("title =", 'duration = "5 s"\ntitle ='), "`duration` belongs in the scenario"),
        (("run", "mine"), ('about = "', 'abuot = "'), "sweep `losses`: unknown key `abuot`"),
        (
            ("run", "mine"),
            ("link.path.loss.p", "link.paht.loss.p"),
            "no `link` called `paht`; there are path",
        ),
        (("run", "mine", "--seeds", "1..0"), None, "is empty or negative"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(made, tmp_path, monkeypatch, capsys, arguments, change, message):
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    if change:
        text = (made / "plan.toml").read_text()
        assert change[0] in text
        (made / "plan.toml").write_text(text.replace(*change))
    assert command(*arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert "Traceback" not in error


def test_nothing_is_run_where_nothing_is(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert command("run") == 2
    assert "no plan.toml here, and this is no checkout of anabranch" in capsys.readouterr().err


def test_the_least_that_a_plan_needs(tmp_path):
    (tmp_path / "scenario.toml").write_text("")
    (tmp_path / "plan.toml").write_text('[[sweep]]\nname = "one"\nabout = "One."\n')
    (tmp_path / "scenario.toml").write_text(
        (Path(scaffold.__file__).parent / "template/scenario.toml").read_text()
    )
    one = folders.load(tmp_path)
    assert (one.title, one.study, len(one.sweeps[0].seeds)) == (tmp_path.name, "own", 30)
