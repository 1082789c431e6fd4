"""Experiments and studies outside a checkout: `new`, `run PATH`, and the page that tells how."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from anabranch_lab import cli
from anabranch_lab.plan import folders, new
from anabranch_lab.show import serve

DOCS = folders.root() / "docs"
BIN = Path(sys.executable).parent


def command(*arguments):
    return cli.main([str(argument) for argument in arguments])


@pytest.fixture
def made(tmp_path, monkeypatch):
    """A new experiment, far from any checkout, and we are in it."""
    folder = tmp_path / "mine"
    new.make(folder)
    monkeypatch.chdir(folder)
    return folder


def commands(page, heading=None):
    """The shell commands of a page, from a heading on."""
    text = (DOCS / page).read_text(encoding="utf-8")
    text = text.split(f"## {heading}\n")[1] if heading else text
    block = re.search(r"```sh\n(.*?)```", text, re.DOTALL)[1]
    return [line for line in block.splitlines() if line]


def typed(lines, folder):
    """The commands as somebody types them."""
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", "set -e\n" + "\n".join(lines)],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def judged(out):
    return {claim["id"]: claim for claim in json.loads((out / "claims.json").read_text())}


def test_the_page_of_the_first_experiment_works_as_it_is_printed(tmp_path):
    lines = commands("start/experiment.md")
    assert len(lines) == 6
    assert "1 own claim: 1 holds" in typed(lines, tmp_path)
    folder = tmp_path / "losses"
    claims = judged(folder / "out")
    assert {name: (claim["grade"], claim["word"]) for name, claim in claims.items()} == {
        "losses-1": ("A", "holds")
    }
    assert claims["losses-1"]["counts_as"] == "own"
    assert [part["seeds"] for part in claims["losses-1"]["parts"]] == [30, 30]
    page = (folder / "out" / "report" / "index.html").read_text(encoding="utf-8")
    assert "losses.html" in page
    figures = folder / "out" / "report" / "figures"
    assert (figures / "losses-claim-losses-1.png").read_bytes().startswith(b"\x89PNG")
    assert 'id="claim-losses-1"' in (folder / "out" / "report" / "losses.html").read_text(encoding="utf-8")
    # The claim as the page prints it is the one that was judged.
    text = (folder / "claims.toml").read_text()
    printed = re.search(r"```toml\n(.*?)```", (DOCS / "start/experiment.md").read_text(), re.DOTALL)[1]
    assert printed in text
    packed = typed(commands("start/experiment.md", "For somebody else"), folder)
    assert "1 of 1 sweeps have the same runs" in packed
    assert "all 1 claims have the grades of the bundle" in packed


def test_30_lines_of_toml_and_no_python_are_enough(made):
    texts = [path.read_text() for path in made.iterdir() if path.suffix in (".toml", ".py")]
    lines = [line for text in texts for line in text.splitlines() if line.strip() and line[0] != "#"]
    assert len(lines) <= 30
    assert not list(made.glob("*.py"))


def test_the_grid_of_the_page_works(made, capsys):
    (line,) = commands("start/experiment.md", "A grid without a folder")
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
    assert "6 runs made" in capsys.readouterr().out
    # Its results lie beside its plan, not where the command was typed.
    assert list((made / "out" / "results").glob("**/*.parquet"))
    assert not (tmp_path / "out").exists()
    assert command("claims", made, "--quick") == 0
    assert "1 claims, 1 of them looked at here" in capsys.readouterr().out


def test_the_finding_is_written_into_the_readme(made):
    assert command("run", "--quick") == 0
    assert command("report", "--quick", "--readme") == 0
    assert "- Ten times the losses leave a third of the goodput" in (made / "README.md").read_text()


def test_a_folder_without_claims_gets_a_table_and_a_figure(made, capsys):
    (made / "claims.toml").unlink()
    assert command("run", "--quick") == 0
    assert command("report", "--quick") == 0
    printed = capsys.readouterr().out
    assert "upload: goodput payload, Mbit/s" in printed
    page = (made / "out" / "report" / "mine.html").read_text(encoding="utf-8")
    assert "<figure" in page
    assert "path: utilisation, %" in page


def test_a_study_is_made_as_it_is_printed(tmp_path):
    # The page has been in the folder of its first experiment.
    (tmp_path / "losses").mkdir()
    printed = typed(commands("start/experiment.md", "A study"), tmp_path / "losses")
    # Both run the same scenarios, so each is run once.
    assert "2 experiments: 90 runs made" in printed
    study = tmp_path / "mystudy"
    claims = judged(study / "out")
    assert {name: (claim["grade"], claim["word"]) for name, claim in claims.items()} == {
        "losses-1": ("A", "holds"),
        "second-1": ("A", "holds"),
    }
    assert (study / "out" / "report" / "mystudy.html").is_file()
    assert (study / "out" / "report" / "mystudy" / "second.html").is_file()
    with pytest.raises(ValueError, match="there is none in a study"):
        new.make(study / "third", study=True)


def test_hypotheses_are_ones_own_unless_a_publication_is_named(made, tmp_path):
    (tmp_path / "study.toml").write_text('title = "Two of mine"\n')
    new.make(tmp_path / "other")

    def sorts():
        return [entry.counts_as for entry in folders.study_at(tmp_path).claims.values()]

    assert sorts() == ["own", "own"]
    # A number alone is no publication.
    (tmp_path / "study.toml").write_text('title = "Two of mine"\nstudy = "mine"\n')
    assert sorts() == ["own", "own"]
    file = made / "claims.toml"
    file.write_text(
        file.read_text().replace('id = "mine-1"', 'id = "mine-1"\ncounts_as = "published"\nwhere = "Fig. 1"')
    )
    assert sorted(sorts()) == ["own", "published"]
    text = 'title = "Somebody\'s"\nstudy = "001"\nreference = "Somebody: Something (2001)."\n'
    (tmp_path / "study.toml").write_text(text)
    with pytest.raises(ValueError, match="claim other-1: `where` is missing"):
        sorts()


def test_every_command_finds_the_study_one_stands_in(tmp_path, monkeypatch, capsys):
    new.make(tmp_path / "mystudy", study=True)
    new.make(tmp_path / "mystudy" / "second")
    deep = tmp_path / "mystudy" / "second" / "notes"
    deep.mkdir()
    everything = ["mystudy/losses", "mystudy/second"]
    for place, arguments, names in (
        (tmp_path, [], everything),
        (tmp_path, ["--study", "mystudy"], everything),
        (tmp_path, ["mystudy"], everything),
        (tmp_path, ["mystudy/second"], ["mystudy/second"]),
        (tmp_path, ["--study", "mystudy", "--experiment", "second"], ["mystudy/second"]),
        (tmp_path, ["--claim", "losses-1"], ["mystudy/losses"]),
        (deep.parent.parent, [], everything),
        (deep.parent.parent, ["second"], ["mystudy/second"]),
        (deep.parent.parent, ["--study", "mystudy"], everything),
        (deep.parent, [], ["mystudy/second"]),
        (deep, [], ["mystudy/second"]),
        (deep, ["losses"], ["mystudy/losses"]),
        (deep, ["--study", "mystudy"], everything),
        (deep, ["--experiment", "losses"], ["mystudy/losses"]),
        (deep, ["--claim", "losses-1"], ["mystudy/losses"]),
    ):
        monkeypatch.chdir(place)
        for verb in ("list", "plan"):
            assert command(verb, *arguments) == 0, (place, arguments)
            printed = capsys.readouterr().out
            assert [name for name in everything if f"{name}:" in printed] == names, (place, arguments)
    assert command("run", "--quick") == 0
    assert command("claims", "--quick") == 0
    assert command("report", "--quick") == 0
    out = tmp_path / "mystudy" / "out"
    assert (out / "report" / "mystudy" / "second.html").is_file()
    assert serve.place(None) == out
    assert serve.place(tmp_path / "mystudy") == out
    assert command("bundle", "--quick", tmp_path / "second.tar.gz") == 0
    assert command("prune") == 0
    assert not (deep / "out").exists()
    assert command("list", "--study", "nobody") == 2
    assert "no study `nobody`; there are mystudy" in capsys.readouterr().err


def test_new_overwrites_nothing(made, capsys):
    before = {path: path.read_bytes() for path in made.iterdir()}
    assert command("new", made) == 2
    assert "not empty: nothing was written" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in made.iterdir()} == before
    assert command("new", "a name") == 2
    assert "letters, digits" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "file", "change", "message"),
    [
        (("run", "nowhere"), None, None, "no experiment `nowhere`; there are mine"),
        (("run", "empty"), None, None, "empty: no plan.toml in this folder or below it"),
        (
            ("run", "mine"),
            "plan",
            ("[[sweep]]", "tilte = 1\n[[sweep]]"),
            "plan.toml: unknown key `tilte`; allowed are",
        ),
        (
            ("run", "mine"),
            "plan",
            ("[[sweep]]", 'duration = "5 s"\n[[sweep]]'),
            "`duration` belongs in the scenario",
        ),
        (
            ("run", "mine"),
            "plan",
            ('about = "', 'abuot = "'),
            "plan.toml: sweep `losses`: unknown key `abuot`",
        ),
        (
            ("run", "mine"),
            "plan",
            ("link.path", "link.paht"),
            "plan.toml: sweep `losses`: `link.paht.loss.p`: no `link` called `paht`; there are path",
        ),
        (
            ("run", "mine"),
            "plan",
            ("loss.p", "loss.q"),
            'mine/plan.toml: what sweep `losses` sets over scenario.toml: unknown key "q"',
        ),
        *(
            (
                (*verb, "mine"),
                "plan",
                ("path.loss.p", "path.lss.p"),
                'mine/plan.toml: what sweep `losses` sets over scenario.toml: unknown key "lss" in [[link]] (did you mean "loss"?)',
            )
            for verb in (("plan",), ("plan", "--cost"), ("run",), ("claims",), ("report",))
        ),
        *(
            (
                ("claims", "mine"),
                "claims",
                ("id =", f"seen = {wrong}\nid ="),
                f"mine/claims.toml: claim mine-1: `seen` is true or false, not {told}",
            )
            for wrong, told in (('"yes"', "'yes'"), ("1", "1"))
        ),
        (
            ("claims", "mine"),
            "claims",
            ("more_than = 2.0", 'more_than = 2.0, one_run = "yes"'),
            "part p = 0.01: `one_run` is true, false or a number, not 'yes'",
        ),
        (
            ("run", "mine"),
            "plan",
            ("[0.003, 0.01, 0.03]", "3"),
            "[axes.p]: `values` is a list, a range such as `1..12`, or a table, not 3",
        ),
        (
            ("run", "mine"),
            "plan",
            ("keys", "key"),
            "plan.toml: sweep `losses`: [axes.p]: unknown key `key`; allowed are choose, keys",
        ),
        (
            ("run", "mine"),
            "scenario",
            ("\nrate", "\nrat"),
            'mine/scenario.toml:10:1: unknown key "rat" in [[link]]',
        ),
        (
            ("run", "mine"),
            "scenario",
            ("100 Mbit", "100 Mbt"),
            'scenario.toml:10:8: rate: "100 Mbt/s" has an unknown unit',
        ),
        (
            ("run", "mine"),
            "claims",
            ("id =", "di ="),
            "claims.toml: claim number 1: `id` is missing; needed are",
        ),
        (
            ("run", "mine"),
            "claims",
            ("measure =", "mesure ="),
            "claims.toml: claim mine-1: unknown `mesure`; there are",
        ),
        (
            ("run", "mine"),
            "claims",
            ("of upload", "of uplaod"),
            "no flow or link `uplaod`; there are upload, path",
        ),
        (("run", "mine"), "claims", ("Mbit/s", "Mbt/s"), "unit `Mbt/s`; there are bit/s, kbit/s, Mbit/s"),
        (
            ("run", "mine"),
            "claims",
            (", Mbit/s", ""),
            "a unit belongs to it; there are bit/s, kbit/s, Mbit/s, Gbit/s",
        ),
        (
            ("run", "mine"),
            "claims",
            ('"p = 0.01"', '"p = 0.02"'),
            "claim mine-1: part p = 0.02: p = 0.02; there are 0.003, 0.01, 0.03",
        ),
        (
            ("run", "mine"),
            "claims",
            ('"p = 0.01"', '"q = 0.01"'),
            "write AXIS = VALUE; sweep `losses` has p = 0.003, 0.01, 0.03",
        ),
        (
            ("run", "mine"),
            "claims",
            ("more_than", "more"),
            "part p = 0.01: unknown `more`; there are at, cause",
        ),
        (
            ("run", "mine"),
            "claims",
            (", more_than = 2.0", ""),
            "nothing can fail: give one of equals, less_than",
        ),
        (
            ("run", "mine"),
            "claims",
            ("measure =", 'sweep = "lost"\nmeasure ='),
            "sweep `lost`; there are losses",
        ),
        (("run", "mine"), "claims", ('measure = "goodput of upload, Mbit/s"', ""), "no `measure`, such as"),
        (
            ("run", "mine"),
            "claims",
            ("id =", 'counts_as = "publishd"\nid ='),
            "counts_as `publishd`; there are published",
        ),
        (
            ("run", "mine"),
            "claims",
            ("id =", 'experiment = "yours"\nid ='),
            "experiment `yours`; here it can only be mine",
        ),
        (
            ("bundle", "mine", "mine.zip"),
            None,
            None,
            "mine.zip: the name of a bundle ends in .tar.gz or .tgz",
        ),
        (("rerun", "mine.tar.gz"), None, None, "mine.tar.gz: there is no such bundle"),
        (("run", "mine", "--seeds", "1..0"), None, None, "is empty or negative"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    made, tmp_path, monkeypatch, capsys, arguments, file, change, message
):
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    if change:
        path = made / f"{file}.toml"
        text = path.read_text()
        assert change[0] in text
        path.write_text(text.replace(*change))
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
        (Path(new.__file__).parent / "template/scenario.toml").read_text()
    )
    one = folders.load(tmp_path)
    assert (one.title, one.study, len(one.sweeps[0].seeds)) == (tmp_path.name, "own", 30)
