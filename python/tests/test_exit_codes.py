"""Exit codes of `anabranch-lab`, as docs/reference/command-line.md lists them; crates/cli/tests/command_line.rs has those of `anabranch`."""

import importlib.metadata
import shutil
import subprocess
import sys

import pytest

from anabranch_lab import cli, verbs
from anabranch_lab.plan import new


def test_the_version(capsys):
    with pytest.raises(SystemExit) as end:
        cli.main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out == f"anabranch-lab {importlib.metadata.version('anabranch')}\n"


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_help_and_version_load_nothing_large(option):
    lines = [
        "import atexit, sys",
        "large = {'matplotlib', 'numpy', 'pandas', 'polars', 'pyarrow', 'rich', 'scipy', 'sympy', 'duckdb', 'jinja2'}",
        "atexit.register(lambda: print('loaded:', sorted(large & set(sys.modules)), file=sys.stderr))",
        "from anabranch_lab.__main__ import main",
        f"sys.argv[1:] = [{option!r}]",
        "sys.exit(main())",
    ]
    told = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True
    )
    assert told.stderr == "loaded: []\n"
    assert told.stdout.startswith("anabranch-lab " if option == "--version" else "usage: anabranch-lab")


def test_the_help_is_the_same_with_every_command_loaded(capsys):
    with pytest.raises(SystemExit) as end:
        cli.main(["--help"])
    assert end.value.code == 0
    assert capsys.readouterr().out == verbs.short().format_help()


def test_without_a_command_there_is_the_usage(capsys):
    assert cli.main([]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("usage: anabranch-lab")
    assert "judge the claims" in told.err


def test_a_wrong_option_is_2(capsys):
    with pytest.raises(SystemExit) as end:
        cli.main(["run", "--sedes", "1"])
    assert end.value.code == 2


def test_a_wrong_plan_is_2_and_a_claim_without_a_verdict_is_1(tmp_path, monkeypatch, capsys):
    new.make(tmp_path / "mine")
    monkeypatch.chdir(tmp_path / "mine")
    # Nothing was run: the analysis has nothing to judge.
    assert cli.main(["claims", "--quick"]) == 1
    assert "run the experiment first" in capsys.readouterr().err
    plan = tmp_path / "mine" / "plan.toml"
    plan.write_text("sedes = 1\n" + plan.read_text())
    assert cli.main(["claims", "--quick"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_what_cannot_be_written_is_1(tmp_path, monkeypatch, capsys):
    new.make(tmp_path / "mine")
    monkeypatch.chdir(tmp_path / "mine")
    # A file where the folder of the results is to be.
    (tmp_path / "taken").write_text("")
    assert cli.main(["run", "--quick", "--out", str(tmp_path / "taken" / "out")]) == 1
    error = capsys.readouterr().err
    assert error.startswith("anabranch-lab: ")
    assert error.count("\n") == 1


COMMANDS = (
    *("new", "run", "claims", "report", "list", "plan", "sweep", "serve", "model", "studies", "prune"),
    *("bundle", "rerun"),
)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completions_know_every_command(shell, capsys):
    assert cli.main(["completions", shell]) == 0
    script = capsys.readouterr().out
    for command in COMMANDS:
        assert command in script
    assert "--quick" in script or "-l quick" in script
    if shutil.which(shell):
        assert subprocess.run([shell, "-n"], input=script, text=True, check=False).returncode == 0


def test_the_manual_page_has_every_command(tmp_path, capsys):
    assert cli.main(["man", str(tmp_path / "new")]) == 0
    page = (tmp_path / "new" / "anabranch-lab.1").read_text()
    for command in COMMANDS:
        assert f"anabranch\\-lab {command}" in page
    assert cli.main(["man", str(tmp_path / "again")]) == 0
    assert (tmp_path / "again" / "anabranch-lab.1").read_text() == page
