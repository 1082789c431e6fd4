"""A study of several experiments: its catalogue, its verdicts, its pages."""

import json
import shutil
import sys

import pytest

from anabranch_lab import cli
from anabranch_lab.judge import experiment, grades
from anabranch_lab.plan import catalogue, folders, plan
from anabranch_lab.run import campaign
from anabranch_lab.run.results import Results
from anabranch_lab.run.schedule import Schedule

ROOT = folders.root() / "experiments"

SCENARIO = """
duration = "5 s"
[[link]]
name = "wire"
from = "a"
to = "b"
both = true
rate = "2 Mbit/s"
delay = "20 ms"
queue = { kind = "droptail", packets = 20 }
loss = { kind = "bernoulli", p = 0.0, applies = "data" }
[[flow]]
name = "one"
from = "a"
to = "b"
protocol = "sctp"
engine = "rfc9260"
traffic = { kind = "greedy", message = "1000 B" }
start = "uniform(0 s, 1 s)"
"""

STUDY = """
title = "A study"
study = "009"
reference = "Somebody: A study."
engines = ["ns2-2.28"]
seeds = "1..6"
quick_seeds = "1..2"
"""

PLAN = """
title = "Experiment {name}"
[axes.p]
keys = ["link.wire.loss.p"]
values = [0.0, 0.02]
[quick]
set = {{ duration = "2 s" }}
axes = {{ p = [0.02] }}
[[sweep]]
name = "losses"
about = "With and without."
scenario = "../common/wire.toml"
axes = ["p"]
[[sweep]]
name = "slow"
about = "A slower link."
reading = "the link is a modem's"
scenario = "../common/wire.toml"
axes = ["p"]
set = {{ "link.wire.rate" = "300 kbit/s" }}
"""

ANALYSIS = '''
"""Judges."""
from anabranch_lab.run import grid
from anabranch_lab.judge.experiment import Analysis, claim_builder

MEASURES = {"utilisation": grid.of_link("wire", "utilisation")}

def analyse(results):
    measured, slow = (
        {"p = 0.02": results.grid(sweep, MEASURES).only(engine="ns2-2.28").at("utilisation", p=0.02)}
        for sweep in ("losses", "slow")
    )
    claim = claim_builder(results).claim("C-NAME", measured, readings={"a modem": slow})
    return Analysis([claim], findings=["found NAME"])
'''

CLAIM = """
[[claim]]
id = "{id}"
experiment = "{experiment}"
where = "Fig. 1"
statement = "It is < so."
kind = "N"
parts = [{{ at = "p = 0.02", {rule} }}]
"""


def claim(identifier, experiment, rule="more_than = 0.1"):
    return CLAIM.format(id=identifier, experiment=experiment, rule=rule)


def experiment_folder(study, name):
    folder = study / name
    folder.mkdir()
    (folder / "plan.toml").write_text(PLAN.format(name=name))
    (folder / "analysis.py").write_text(ANALYSIS.replace("NAME", name))
    (folder / "README.md").write_text("# X\n\n<!-- finding -->\nold\n<!-- /finding -->\nrest\n")


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    study = tmp_path / "experiments" / "made-up"
    (study / "common").mkdir(parents=True)
    (tmp_path / "pyproject.toml").touch()
    (study / "study.toml").write_text(STUDY)
    (study / "common" / "wire.toml").write_text(SCENARIO)
    experiment_folder(study, "exp-1")
    experiment_folder(study, "exp-2")
    (study / "claims.toml").write_text(
        claim("C-exp-1", "exp-1") + claim("C-exp-2", "exp-2", "more_than = 2.0")
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def command(*arguments):
    """One command, analysed in this process unless `--jobs` says otherwise: a process of its own needs seconds for its imports."""
    arguments = [str(argument) for argument in arguments]
    if arguments[0] in ("claims", "report", "studies") and "--jobs" not in arguments:
        arguments += ["--jobs", "1"]
    # Modules that a test has written since are read again.
    for name in [name for name in sys.modules if name.startswith("anabranch_experiments_made_up")]:
        del sys.modules[name]
    return cli.main(arguments)


def found(checkout):
    return {claim["id"]: claim for claim in json.loads((checkout / "out" / "claims.json").read_text())}


def test_a_study_from_runs_to_pages(checkout, capsys):
    page = checkout / "docs" / "reviewers.md"
    page.parent.mkdir()
    page.write_text("# A\n<!-- totals -->\nold\n<!-- /totals -->\nrest\n")
    assert command("studies", "made-up", "--jobs", 2, "--readme") == 0
    output = capsys.readouterr().out
    # Both experiments ask for the same runs: 2 * 2 points with 6 seeds, made once.
    assert "24 runs made, all 24 on disk" in output
    good, bad = found(checkout)["C-exp-1"], found(checkout)["C-exp-2"]
    assert [(each["grade"], each["word"]) for each in (good, bad)] == [
        ("A", "reproduced"),
        ("D", "contradicted"),
    ]
    assert (good["study"], good["engine"], good["seeds"]) == ("009", "ns2-2.28", 6)
    assert [part["seeds"] for part in good["readings"]["a modem"]] == [6]
    # The output has the finding and the place of the page; tables are printed with `--table` only.
    assert "(open it in a browser)" in output
    assert "published and printed" not in output
    report = checkout / "out" / "report"
    assert 'href="made-up.html"' in (report / "index.html").read_text()
    study = (report / "made-up.html").read_text()
    assert 'href="made-up/exp-1.html"' in study
    assert 'href="made-up/exp-2.html#C-exp-2"' in study
    assert "It is &lt; so." in study
    assert "../made-up.html" in (report / "made-up" / "exp-1.html").read_text()
    totals = page.read_text()
    assert "| A study | published and printed | 1 |  |  | 1 |  |  |" in totals
    assert totals.endswith("<!-- /totals -->\nrest\n")
    readme = checkout / "experiments" / "made-up" / "exp-1" / "README.md"
    assert readme.read_text() == "# X\n\n<!-- finding -->\n- found exp-1\n<!-- /finding -->\nrest\n"


def test_the_totals_of_one_study_do_not_stand_in_the_place_of_all(checkout):
    study = checkout / "experiments" / "made-up"
    shutil.copytree(study, other := checkout / "experiments" / "other")
    for file in (path for path in other.rglob("*") if path.suffix in (".py", ".toml", ".txt")):
        file.write_text(file.read_text().replace("C-exp", "D-exp").replace('study = "009"', 'study = "010"'))
    page = checkout / "docs" / "reviewers.md"
    page.parent.mkdir()
    page.write_text("<!-- totals -->\nof both\n<!-- /totals -->\n")
    assert command("studies", "made-up", "--seeds", "1..2", "--readme") == 0
    assert page.read_text() == "<!-- totals -->\nof both\n<!-- /totals -->\n"


def test_a_claim_without_a_grade_is_an_error(checkout, capsys):
    catalogued = checkout / "experiments" / "made-up" / "claims.toml"
    catalogued.write_text(catalogued.read_text() + claim("C-forgotten", "exp-3"))
    assert command("run", "--study", "made-up", "--quick") == 0
    assert command("claims", "--study", "made-up", "--quick") == 1
    told = " ".join(capsys.readouterr().out.split())
    assert "1 claims have no grade: C-forgotten (no experiment `exp-3`; there are exp-1, exp-2)" in told
    # One experiment alone answers for its own claims only; the others are told as not judged.
    assert command("claims", "--study", "made-up", "--experiment", "exp-1", "--quick") == 0
    assert list(found(checkout)) == ["C-exp-1", "C-exp-2", "C-forgotten"]
    assert [each["grade"] for each in found(checkout).values()] == [grades.NOT_JUDGED] * 3
    assert not found(checkout)["C-exp-2"]["parts"]
    assert command("claims", "made-up/exp-2", "--quick") == 0
    assert [name for name, claim in found(checkout).items() if claim["parts"]] == ["C-exp-2"]


def test_quick_is_short_and_judges_nothing(checkout):
    results = Results(folders.find(checkout / "experiments", "made-up/exp-1"), checkout / "out", quick=True)
    assert len(Schedule(results).jobs()) == 2 * 2
    assert all('duration = "2 s"' in job.point.scenario for job in Schedule(results).jobs())
    campaign.run([Schedule(results)], campaign.Threads(2))
    assert experiment.analyse(results).claims[0].grade == grades.NOT_JUDGED


def test_an_experiment_may_look_at_the_others(checkout):
    results = Results(folders.find(checkout / "experiments", "made-up/exp-1"), checkout / "out", quick=True)
    campaign.run([Schedule(results)], campaign.Threads(2))
    assert [claim.id for each in experiment.other_analyses(results).values() for claim in each.claims] == [
        "C-exp-2"
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('kind = "N"', 'kind = "Q"'), "kind `Q`"),
        (('where = "Fig. 1"\n', ""), "`where` is missing"),
        (('id = "C-exp-2"', 'id = "C-exp-1"'), "stands there twice"),
    ],
)
def test_a_wrong_catalogue_is_refused(checkout, change, message):
    path = checkout / "experiments" / "made-up" / "claims.toml"
    path.write_text(path.read_text().replace(*change))
    with pytest.raises(plan.PlanError, match=message):
        catalogue.load(path)


def test_an_experiment_may_use_the_runs_of_another(checkout):
    results = Results(folders.find(checkout / "experiments", "made-up/exp-1"), checkout / "out")
    assert experiment.results_of(results, "exp-2").plan.name == "made-up/exp-2"
    with pytest.raises(plan.PlanError, match="no experiment `made-up/exp-3`"):
        experiment.results_of(results, "exp-3")


@pytest.mark.parametrize("study", [study for study in folders.studies(ROOT) if study.claims])
def test_every_claim_of_a_catalogue_belongs_to_a_plausible_experiment(study):
    for entry in study.claims.values():
        assert entry.statement.endswith("."), entry.id
        assert entry.where, entry.id
        assert entry.experiment in [name.rpartition("/")[2] for name in study.experiments], entry.id


def test_the_catalogue_of_the_thesis_is_whole():
    entries = catalogue.load(ROOT / "sf-sctp-2007" / "claims.toml")
    # 74 of the thesis and our own, and six about ns-2.35.
    assert len(entries) == 80
    assert {entry.experiment for entry in entries.values()} >= {
        "fig-4-2",
        "exp-01",
        "exp-16",
        "receive-credit",
        "reference",
    }


def test_an_analysis_that_fails_keeps_no_other_from_its_verdict(checkout, capsys):
    analysis = checkout / "experiments" / "made-up" / "exp-1" / "analysis.py"
    analysis.write_text(analysis.read_text() + "\ndef analyse(results):\n    return 1 / 0\n")
    assert command("studies", "made-up", "--quick") == 1
    output = capsys.readouterr()
    assert "made-up/exp-1: its analysis failed: ZeroDivisionError" in output.err
    assert "claims have no grade: C-exp-1" in output.out
    assert [name for name, claim in found(checkout).items() if claim["parts"]] == ["C-exp-2"]
    assert (checkout / "out" / "report" / "made-up" / "exp-2.html").is_file()


def test_one_that_compares_comes_last_and_sees_what_the_others_found(checkout):
    study = checkout / "experiments" / "made-up"
    folder = study / "a-first-by-name"
    folder.mkdir()
    (folder / "plan.toml").write_text('title = "Comparison"\ncompares = true\n')
    (folder / "analysis.py").write_text(
        "from anabranch_lab.judge.experiment import Analysis, claim_builder, other_analyses\n"
        "def analyse(results):\n"
        "    found = other_analyses(results)\n"
        "    seen = sorted(claim.id for each in found.values() for claim in each.claims)\n"
        "    return Analysis([claim_builder(results).claim('C-all', {'seen': ' '.join(seen)})])\n"
    )
    catalogued = study / "claims.toml"
    catalogued.write_text(
        catalogued.read_text()
        + claim("C-all", "a-first-by-name")
        .replace("p = 0.02", "seen")
        .replace("more_than = 0.1", 'equals = "C-exp-1 C-exp-2"')
    )
    for jobs in (1, 2):
        assert command("studies", "made-up", "--quick", "--jobs", jobs) == 0
        assert list(found(checkout)) == ["C-exp-1", "C-exp-2", "C-all"]
        assert found(checkout)["C-all"]["parts"][0]["grade"] == "A"


def test_experiments_of_our_own_come_last(checkout):
    study = checkout / "experiments" / "made-up"
    experiment_folder(study, "a-hypothesis")
    with (study / "claims.toml").open("a") as file:
        file.write(claim("C-own", "a-hypothesis") + 'counts_as = "own"\n')
    assert folders.study_at(study).experiments == ("made-up/exp-1", "made-up/exp-2", "made-up/a-hypothesis")
