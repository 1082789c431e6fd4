"""`anabranch-lab sweep`: values of an axis, units, tables and figures."""

import tomllib

import pytest

from anabranch_lab import cli
from anabranch_lab.plan import plan
from anabranch_lab.run import simulation, sweep
from anabranch_lab.run.results import Results
from anabranch_lab.show import notes as remarks
from anabranch_lab.show import overview as look

SCENARIO = """
duration = "4 s"
[[link]]
name = "there"
from = "a"
to = "b"
both = true
rate = "2 Mbit/s"
delay = "20 ms"
queue = { kind = "droptail", packets = 20 }
[[flow]]
name = "one"
from = "a"
to = "b"
protocol = "sctp"
engine = "rfc9260"
traffic = { kind = "greedy", message = "1000 B" }
"""


@pytest.mark.parametrize(
    ("text", "values", "unit"),
    [
        ("1,2, 5", [1, 2, 5], ""),
        ("1..4", [1, 2, 3, 4], ""),
        ("0..100 step 25", [0, 25, 50, 75, 100], ""),
        ("0..1 in 3", [0, 0.5, 1], ""),
        ("1..100 log 3", [1, 10, 100], ""),
        ("1..10 log 3 Mbit/s", [1, 3.16, 10], "Mbit/s"),
        ("1, 10..12 ms", [1, 10, 11, 12], "ms"),
        ("1e-4,0.01", [0.0001, 0.01], ""),
        ("rfc9260,linux-6.1", ["rfc9260", "linux-6.1"], ""),
        ("true,false", [True, False], ""),
        ("500 kbit/s, 1 Mbit/s", ["500 kbit/s", "1 Mbit/s"], ""),
    ],
)
def test_values(text, values, unit):
    assert sweep.parse(text, "axis") == (values, unit)


@pytest.mark.parametrize(
    "text", ["1..0", "1,1", "0..10 log 3", "1..9 in 1", "1..9 step 0", "a,a", "a,,b", "1..1e9", "1..5 in x"]
)
def test_wrong_values(text):
    with pytest.raises(plan.PlanError, match="axis"):
        sweep.parse(text, "axis")


def test_numbers_take_the_unit_of_the_scenario():
    document = tomllib.loads(SCENARIO)
    rate = sweep.axis("link.there.rate=1,2", document)
    assert rate.settings == ({"link.there.rate": "1 Mbit/s"}, {"link.there.rate": "2 Mbit/s"})
    assert rate.label == "link.there.rate, Mbit/s"
    assert sweep.axis("link.there.rate=300 kbit/s", document).settings[0] == {"link.there.rate": "300 kbit/s"}
    assert sweep.axis("link.there.queue.packets=5", document).settings[0] == {"link.there.queue.packets": 5}
    both = sweep.axis("link.there.rate,link.there.back.rate=3", document)
    assert both.settings[0] == {"link.there.rate": "3 Mbit/s", "link.there.back.rate": "3 Mbit/s"}


@pytest.fixture
def here(tmp_path, monkeypatch):
    (tmp_path / "small.toml").write_text(SCENARIO)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_grid_has_a_table_a_figure_and_every_run(here, capsys):
    arguments = ["sweep", "small.toml", "--axis", "link.there.rate=1,2", "--seeds", "1..2", "--plot", "x.svg"]
    arguments += ["--axis", "link.there.queue.packets=5,20", "--measure", "link.there.utilisation"]
    arguments += ["--measure", "flow.one.goodput_wire_bps"]
    assert cli.main(arguments) == 0
    printed = capsys.readouterr().out
    assert "there: utilisation, %" in printed
    assert "one: goodput wire, Mbit/s" in printed
    rows = (here / "out/sweep/small.csv").read_text().splitlines()
    assert len(rows) == 1 + 2 * 2 * 2
    # A full link is full at any rate: the goodput rises with the rate.
    slow, fast = (float(row.split(",")[-1]) for row in (rows[1], rows[-1]))
    assert 0.8 < slow < 1.01
    assert 1.6 < fast < 2.01
    assert (here / "x.svg").read_text().startswith("<?xml")
    # A second time nothing is run.
    assert cli.main(arguments) == 0
    assert "8 of 8 runs are on disk already" in capsys.readouterr().out


def test_a_grid_of_texts_and_one_point(here, capsys):
    assert (
        cli.main(["sweep", "small.toml", "--axis", "flow.one.engine=rfc9260,ns2-2.28", "--seeds", "1"]) == 0
    )
    assert cli.main(["sweep", "small.toml", "--set", "duration=2 s", "--seeds", "1"]) == 0
    assert "one: goodput payload" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--axis", "link.there.rate"), "write KEY=VALUES"),
        (("--axis", "link.three.rate=1"), "no `link` called `three`; there are there"),
        (("--axis", "link.there.rate=1", "--axis", "link.there.rate=2"), "stands there twice"),
        (("--measure", "goodput"), "write flow.NAME.COLUMN"),
        (("--plot", "x.jpg"), "ends in .png or .svg"),
        (("--axis", "link.there.rate=1 apple"), "apple"),
        (("--set", "duration"), "write KEY=VALUE"),
    ],
)
def test_wrong_commands(here, arguments, message, capsys):
    assert cli.main(["sweep", "small.toml", *arguments, "--seeds", "1"]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_scenario_that_is_not_there(here, capsys):
    assert cli.main(["sweep", "other.toml"]) == 2
    assert "other.toml: no such file" in capsys.readouterr().err


def test_what_is_looked_at_when_nobody_says():
    transfer = SCENARIO.replace('kind = "greedy"', 'kind = "transfer", bytes = "1 MB"')
    assert [each.name for each in look.usual(SCENARIO)] == [
        "flow.one.goodput_payload_bps",
        "link.there.utilisation",
    ]
    assert look.usual(transfer)[0].title == "one: completion, s"


def test_a_pattern_file_beside_the_scenario_is_part_of_it(here, tmp_path, monkeypatch):
    patterns = here / "patterns"
    patterns.mkdir()
    (patterns / "early.pattern").write_text("anabranch-pattern 1\nkind loss\n2\n")
    (patterns / "late.pattern").write_text("anabranch-pattern 1\nkind loss\n20-22\n")
    text = SCENARIO.replace(
        "queue =", 'pattern = { file = "patterns/early.pattern", applies = "data" }\nqueue ='
    )
    text = text.replace('kind = "greedy"', 'kind = "transfer", bytes = "200 kB"')
    (here / "small.toml").write_text(text)
    # In any current folder the files beside the scenario are found.
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    both = ("--axis", "link.there.pattern.file=patterns/early.pattern,patterns/late.pattern")
    command = ["sweep", str(here / "small.toml"), *both, "--seeds", "1", "--measure"]
    assert cli.main([*command, "flow.one.retransmissions"]) == 0
    lines = (elsewhere / "out" / "sweep" / "small.csv").read_text().splitlines()
    counts = {line.split(",")[0]: float(line.split(",")[2]) for line in lines[1:]}
    assert counts["patterns/early.pattern"] == 1
    assert counts["patterns/late.pattern"] == 3
    # A worker gets the text alone, and another content is another run.
    planned = sweep.planned(here / "small.toml", (), (), "1").sweeps[0]
    (point,) = planned.points()
    (there,) = tomllib.loads(point.scenario)["link"]
    assert there["pattern"] == {"applies": "data", "text": "anabranch-pattern 1\nkind loss\n2\n"}
    (patterns / "early.pattern").write_text("anabranch-pattern 1\nkind loss\n3\n")
    (other,) = planned.points()
    assert other.scenario != point.scenario
    (patterns / "early.pattern").unlink()
    with pytest.raises(plan.PlanError, match=r"cannot read .*early\.pattern: No such file"):
        list(planned.points())


def test_batches_name_pattern_files_too(here):
    (here / "a.pattern").write_text("anabranch-pattern 1\nkind loss\n2\n")
    (here / "b.pattern").write_text("anabranch-pattern 1\nkind loss\n4\n")
    (here / "scenario.toml").write_text(
        SCENARIO.replace("queue =", 'pattern = { file = "a.pattern" }\nqueue =')
    )
    (here / "plan.toml").write_text(
        '[axes.which]\nkeys = ["link.there.pattern.file"]\nvalues = ["a.pattern", "b.pattern"]\n'
        '[[sweep]]\nname = "one"\nabout = "One."\naxes = ["which"]\nbatch = ["which"]\nengines = []\n'
    )
    points = list(plan.load(here).sweeps[0].points())
    assert [point.overrides[0][0] for point in points] == ["link.there.pattern.text"] * 2
    assert "\\n4\\n" in points[1].overrides[0][1]
    for point in points:
        simulation.check(point.scenario, "test", point.overrides)


def test_flows_that_were_held_back_are_marked(here, capsys):
    slow = SCENARIO.replace('kind = "greedy"', 'kind = "transfer", bytes = "2 MB"')
    (here / "small.toml").write_text(slow)
    assert cli.main(["sweep", "small.toml", "--axis", "link.there.rate=2,20", "--seeds", "1..2"]) == 0
    printed = capsys.readouterr().out
    assert "to know" in printed
    assert "one not finished" in printed
    results = Results(
        sweep.planned(here / "small.toml", ("link.there.rate=2,20",), (), "1..2"), here / "out" / "results"
    )
    assert remarks.of_all(results) == [
        remarks.Remark("sweep", "one", "not finished", 2, 4, "link.there.rate, Mbit/s = 2"),
        remarks.Remark("sweep", "one", "the same for every seed", 4, 4, ""),
    ]
    sentence = "one not finished in 2 runs; one the same for every seed in 4 runs"
    assert remarks.in_a_sentence(remarks.of_all(results)) == sentence
    assert remarks.in_a_sentence([]) == ""


def test_flows_in_which_nothing_is_random_are_marked(here, capsys):
    # One loss rate draws from the seed, the other does not.
    (here / "small.toml").write_text(
        SCENARIO.replace("queue =", 'loss = { kind = "bernoulli", p = 0.0 }\nqueue =')
    )
    assert cli.main(["sweep", "small.toml", "--axis", "link.there.loss.p=0,0.05", "--seeds", "1..3"]) == 0
    capsys.readouterr()
    results = Results(
        sweep.planned(here / "small.toml", ("link.there.loss.p=0,0.05",), (), "1..3"),
        here / "out" / "results",
    )
    same = [each for each in remarks.of_all(results) if each.word == "the same for every seed"]
    assert same == [remarks.Remark("sweep", "one", "the same for every seed", 3, 6, "link.there.loss.p = 0")]
