"""A study of several experiments: its catalogue, its verdicts, its pages."""

import json
import shutil
import sys
from types import SimpleNamespace

import pytest

from anabranch_lab import cli
from anabranch_lab.judge import claims, experiment
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
engines = ["ns2-2.28", "rfc9260"]
seeds = "1..30"
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
name = "variant"
about = "A slower link."
scenario = "../common/wire.toml"
axes = ["p"]
engines = ["ns2-2.28"]
set = {{ "link.wire.rate" = "300 kbit/s" }}
variant = {{ changes = "the rate of the link", says = "SAYS", paper = "it has no rate" }}
"""

ANALYSIS = '''
"""Judges."""
from anabranch_lab.run import grid
from anabranch_lab.judge.claims import Explanation, above
from anabranch_lab.judge.experiment import Analysis, Figure, claim_builder
from ..common import LINK

def analyse(results):
    runs = results.grid("losses", {"utilisation": grid.of_link(LINK, "utilisation")})
    variant = results.grid("variant", {"utilisation": grid.of_link(LINK, "utilisation")})
    def judge(engine, runs=runs):
        return [above("p = 0.02", BAR, runs.at("utilisation", engine=engine, p=0.02))]
    why = Explanation("why", ("variant",), tuple(judge("ns2-2.28", variant)))
    return Analysis([claim_builder(results).claim("C-NAME", judge, explanation=why)], findings=["found NAME"])
'''

CLAIM = """
[[claim]]
id = "{id}"
experiment = "{experiment}"
where = "Fig. 1"
statement = "It is < so."
kind = "N"
expected = "one"
tolerance = "0.01"
"""


def experiment_folder(study, name, bar="0.8", says="open"):
    folder = study / name
    folder.mkdir()
    (folder / "plan.toml").write_text(PLAN.format(name=name).replace("SAYS", says))
    text = ANALYSIS.replace("NAME", name).replace("BAR", bar)
    (folder / "analysis.py").write_text(text)
    (folder / "README.md").write_text("# X\n\n<!-- finding -->\nold\n<!-- /finding -->\nrest\n")


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    study = tmp_path / "experiments" / "made-up"
    (study / "common").mkdir(parents=True)
    (tmp_path / "pyproject.toml").touch()
    (study / "study.toml").write_text(STUDY)
    (study / "common" / "__init__.py").write_text('LINK = "wire"\n')
    (study / "common" / "wire.toml").write_text(SCENARIO)
    experiment_folder(study, "exp-1")
    experiment_folder(study, "exp-2", bar="2.0")
    (study / "claims.toml").write_text(
        CLAIM.format(id="C-exp-1", experiment="exp-1") + CLAIM.format(id="C-exp-2", experiment="exp-2")
    )
    # Both claims fail, which a quick look sees too.
    (study / "contrary.txt").write_text("C-exp-1: p = 0.02\nC-exp-2: p = 0.02\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def command(*arguments):
    """One command, analysed in this process unless `--jobs` says otherwise: a process of its own needs seconds for its imports."""
    arguments = [str(argument) for argument in arguments]
    if arguments[0] in ("claims", "report", "studies") and "--jobs" not in arguments:
        arguments += ["--jobs", "1"]
    # What a test has written since is read again.
    for name in [name for name in sys.modules if name.startswith("anabranch_experiments_made_up")]:
        del sys.modules[name]
    return cli.main(arguments)


def found(checkout):
    return {claim["id"]: claim for claim in json.loads((checkout / "out" / "claims.json").read_text())}


def test_a_study_from_runs_to_pages(checkout, capsys):
    (checkout / "README.md").write_text("# A\n<!-- totals -->\nold\n<!-- /totals -->\nrest\n")
    assert command("studies", "made-up", "--jobs", 2, "--readme") == 0
    output = capsys.readouterr().out
    # Both experiments ask for the same runs: (2 + 1) * 2 points with 30 seeds, made once.
    assert "180 runs made, all 180 on disk" in output
    claim = found(checkout)["C-exp-1"]
    # Wrong, but explained by a variant; the other engine stands beside it.
    assert claim["verdict"] == claims.EXPLAINED
    assert (claim["study"], claim["engine"], claim["seeds"]) == ("009", "ns2-2.28", 30)
    assert claim["evidence"] == ["variant"]
    assert list(claim["beside"]) == ["rfc9260"]
    assert len(claim["beside"]["rfc9260"]["parts"]) == 1
    explanation = claim["explanation"]
    assert explanation["variant"] == {
        "sweep": ["variant"], "changes": "the rate of the link", "says": "open", "paper": "it has no rate",
    }  # fmt: skip
    (part,) = explanation["parts"]
    assert (part["at"], part["holds"], part["seeds"]) == ("p = 0.02", True, 30)
    assert (part["rule"], part["expected"]) == (claim["parts"][0]["rule"], claim["parts"][0]["expected"])
    assert (claim["tried"], explanation["not_covered"]) == ([], [])
    # The explanation of the other one does not hold: it is told as what was tried.
    other = found(checkout)["C-exp-2"]
    assert (other["verdict"], other["explanation"]) == (claims.NOT_REPRODUCED, None)
    assert other["tried"][0]["not_covered"] == ["p = 0.02"]
    assert "published claims" in output
    report = checkout / "out" / "report"
    assert 'href="made-up.html"' in (report / "index.html").read_text()
    study = (report / "made-up.html").read_text()
    assert 'href="made-up/exp-1.html"' in study
    assert 'href="made-up/exp-2.html#C-exp-2"' in study
    assert "It is &lt; so." in study
    assert "../made-up.html" in (report / "made-up" / "exp-1.html").read_text()
    totals = (checkout / "README.md").read_text()
    assert "| A study | published claims |  | 1 | 1 |  |  |  |" in totals
    assert totals.endswith("<!-- /totals -->\nrest\n")
    readme = checkout / "experiments" / "made-up" / "exp-1" / "README.md"
    assert readme.read_text() == "# X\n\n<!-- finding -->\n- found exp-1\n<!-- /finding -->\nrest\n"


def test_the_totals_of_one_study_do_not_stand_in_the_place_of_all(checkout):
    study = checkout / "experiments" / "made-up"
    shutil.copytree(study, other := checkout / "experiments" / "other")
    for file in (path for path in other.rglob("*") if path.suffix in (".py", ".toml", ".txt")):
        file.write_text(file.read_text().replace("C-exp", "D-exp").replace('study = "009"', 'study = "010"'))
    readme = checkout / "README.md"
    readme.write_text("<!-- totals -->\nof both\n<!-- /totals -->\n")
    assert command("studies", "made-up", "--seeds", "1..2", "--readme") == 0
    assert readme.read_text() == "<!-- totals -->\nof both\n<!-- /totals -->\n"


def test_a_claim_without_a_verdict_is_an_error(checkout, capsys):
    catalogued = checkout / "experiments" / "made-up" / "claims.toml"
    catalogued.write_text(catalogued.read_text() + CLAIM.format(id="C-forgotten", experiment="exp-3"))
    assert command("run", "--study", "made-up", "--quick") == 0
    assert command("claims", "--study", "made-up", "--quick") == 1
    assert "1 claims have no verdict: C-forgotten" in capsys.readouterr().out
    # One experiment alone answers for its own claims only; the others are told as not judged.
    assert command("claims", "--study", "made-up", "--experiment", "exp-1", "--quick") == 0
    assert list(found(checkout)) == ["C-exp-1", "C-exp-2", "C-forgotten"]
    assert [claim["verdict"] for claim in found(checkout).values()] == [claims.NOT_JUDGED] * 3
    assert not found(checkout)["C-exp-2"]["parts"]
    assert command("claims", "made-up/exp-2", "--quick") == 0
    assert [name for name, claim in found(checkout).items() if claim["parts"]] == ["C-exp-2"]


def test_a_quick_look_notices_a_sign_that_was_reversed(checkout, capsys):
    study = checkout / "experiments" / "made-up"
    experiment_1, experiment_2 = (study / name / "analysis.py" for name in ("exp-1", "exp-2"))
    (study / "contrary.txt").write_text("")
    for file in (experiment_1, experiment_2):
        file.write_text(file.read_text().replace("0.8", "0.1").replace("2.0", "0.1"))
    assert command("studies", "made-up", "--quick") == 0
    assert "point the other way" not in capsys.readouterr().out
    # Somebody confuses a sign, in a judge or in an engine.
    experiment_1.write_text(
        experiment_1.read_text().replace('runs.at("utilisation"', 'turned(runs, "utilisation"')
    )
    experiment_1.write_text(
        experiment_1.read_text()
        + "\ndef turned(runs, name, **at):\n    return (runs.sample(name, **at) * -1.0).estimate\n"
    )
    assert command("claims", "made-up", "--quick") == 1
    assert "C-exp-1: p = 0.02" in capsys.readouterr().out
    # What is known is no error, and another one still is.
    assert command("claims", "made-up", "--quick", "--accept") == 0
    assert command("claims", "made-up", "--quick") == 0
    experiment_2.write_text(
        experiment_2.read_text()
        .replace("above(", "below(")
        .replace("import Explanation, above", "import Explanation, below")
    )
    assert command("claims", "made-up", "--quick") == 1
    assert "C-exp-2: p = 0.02" in capsys.readouterr().out
    (study / "contrary.txt").write_text("")
    assert command("claims", "made-up/exp-1", "--quick") == 1
    # Where nothing was ever accepted it is told, and no error.
    (study / "contrary.txt").unlink()
    assert command("claims", "made-up/exp-1", "--quick") == 0
    assert "C-exp-1: p = 0.02" in capsys.readouterr().out


def test_a_variant_that_changes_what_is_printed_explains_nothing(checkout):
    plan_1 = checkout / "experiments" / "made-up" / "exp-1" / "plan.toml"
    plan_1.write_text(plan_1.read_text().replace('says = "open"', 'says = "printed"'))
    assert command("run", "made-up/exp-1") == 0
    assert command("claims", "made-up/exp-1") == 0
    claim = found(checkout)["C-exp-1"]
    assert claim["verdict"] == claims.NOT_REPRODUCED
    assert (claim["tried"][0]["not_covered"], claim["tried"][0]["holds"]) == ([], False)
    # Nor does a sweep that is no variant.
    plan_1.write_text(
        "\n".join(line for line in plan_1.read_text().splitlines() if "variant = {" not in line)
    )
    assert command("claims", "made-up/exp-1") == 0
    assert found(checkout)["C-exp-1"]["tried"][0]["variant"] is None
    assert found(checkout)["C-exp-1"]["verdict"] == claims.NOT_REPRODUCED


def test_strict_wants_a_tested_explanation(checkout):
    analysis = checkout / "experiments" / "made-up" / "exp-2" / "analysis.py"
    analysis.write_text(analysis.read_text().replace(", explanation=why", ""))
    assert command("run", "made-up/exp-2") == 0
    assert command("claims", "made-up/exp-2") == 0
    assert command("claims", "made-up/exp-2", "--strict") == 1


def test_quick_is_short_and_judges_nothing(checkout):
    results = Results(folders.find(checkout / "experiments", "made-up/exp-1"), checkout / "out", quick=True)
    assert len(Schedule(results).jobs()) == (2 + 1) * 2
    assert all('duration = "2 s"' in job.point.scenario for job in Schedule(results).jobs())
    campaign.run([Schedule(results)], campaign.Threads(2))
    assert experiment.analyse(results).claims[0].verdict == claims.NOT_JUDGED


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
        (('where = "Fig. 1"\n', ""), "missing or unknown: where"),
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


def test_a_claim_or_a_variant_that_does_not_exist_is_named(checkout):
    results = Results(folders.find(checkout / "experiments", "made-up/exp-1"), checkout / "out")
    builder = experiment.claim_builder(results)
    with pytest.raises(KeyError, match="no claim C-x"):
        builder.claim("C-x", [claims.exact("", 1, 1)])
    with pytest.raises(plan.PlanError, match="no sweep `nothing`"):
        builder.claim("C-exp-1", [claims.exact("", 1, 1)], evidence=["nothing"])
    both = experiment.claim_builder(results, experiment.results_of(results, "exp-2"))
    name = results.of(folders.find(checkout / "experiments", "made-up/exp-2")).plan.sweeps[0].name
    assert both.claim("C-exp-1", [claims.exact("", 1, 1)], evidence=[f"exp-2/{name}"]).evidence == [
        f"exp-2/{name}"
    ]
    with pytest.raises(plan.PlanError, match="no sweep `nothing`"):
        both.claim("C-exp-1", [claims.exact("", 1, 1)], evidence=["exp-2/nothing"])


@pytest.mark.parametrize("study", [study for study in folders.studies(ROOT) if study.claims])
def test_every_claim_of_a_catalogue_belongs_to_a_plausible_experiment(study):
    for entry in study.claims.values():
        assert entry.statement.endswith("."), entry.id
        assert all((entry.where, entry.expected, entry.tolerance)), entry.id


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
    assert "claims have no verdict: C-exp-1" in output.out
    assert [name for name, claim in found(checkout).items() if claim["parts"]] == ["C-exp-2"]
    assert (checkout / "out" / "report" / "made-up" / "exp-2.html").is_file()


def test_one_that_compares_comes_last_and_sees_what_the_others_found(checkout):
    study = checkout / "experiments" / "made-up"
    folder = study / "a-first-by-name"
    folder.mkdir()
    (folder / "plan.toml").write_text('title = "Comparison"\ncompares = true\n')
    (folder / "analysis.py").write_text(
        "from anabranch_lab.judge.claims import exact\n"
        "from anabranch_lab.judge.experiment import Analysis, claim_builder, other_analyses\n"
        "def analyse(results):\n"
        "    found = other_analyses(results)\n"
        "    seen = sorted(claim.id for each in found.values() for claim in each.claims)\n"
        "    parts = [exact('seen', ['C-exp-1', 'C-exp-2'], seen)]\n"
        "    return Analysis([claim_builder(results).claim('C-all', parts)])\n"
    )
    catalogued = study / "claims.toml"
    catalogued.write_text(catalogued.read_text() + CLAIM.format(id="C-all", experiment="a-first-by-name"))
    for jobs in (1, 2):
        assert command("studies", "made-up", "--quick", "--jobs", jobs) == 0
        assert list(found(checkout)) == ["C-exp-1", "C-exp-2", "C-all"]
        assert found(checkout)["C-all"]["verdict"] == claims.NOT_JUDGED
        assert found(checkout)["C-all"]["parts"][0]["holds"]


def test_experiments_of_our_own_come_last(checkout):
    study = checkout / "experiments" / "made-up"
    experiment_folder(study, "a-hypothesis")
    with (study / "claims.toml").open("a") as file:
        file.write(CLAIM.format(id="C-own", experiment="a-hypothesis") + 'counts_as = "own"\n')
    assert folders.study_at(study).experiments == ("made-up/exp-1", "made-up/exp-2", "made-up/a-hypothesis")


def test_what_is_accepted_is_sorted_whatever_was_looked_at(checkout):
    study = folders.study_at(checkout / "experiments" / "made-up")
    looked_at = SimpleNamespace(
        id="C-exp-1", contrary=[SimpleNamespace(at="p = 0.02"), SimpleNamespace(at="p = 0.01")]
    )
    contrary.write(study, [looked_at])
    lines = (study.folder / "contrary.txt").read_text().splitlines()
    assert [line for line in lines if line[0] != "#"] == [
        "C-exp-1: p = 0.01",
        "C-exp-1: p = 0.02",
        "C-exp-2: p = 0.02",
    ]
