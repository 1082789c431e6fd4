import tomllib
from pathlib import Path

import pytest

from anabranch_lab.judge import experiment
from anabranch_lab.plan import folders, plan
from anabranch_lab.run.results import Results

EXPERIMENTS = Path(__file__).parents[2] / "experiments"


@pytest.mark.parametrize(
    ("text", "seeds"), [("1..4", (1, 2, 3, 4)), ("7", (7,)), ("1..2, 9", (1, 2, 9)), ([3, 1], (3, 1))]
)
def test_seeds(text, seeds):
    assert plan.parse_seeds(text) == seeds


@pytest.mark.parametrize("text", ["", "5..1", "a", "1, 1", "-3", "1..x"])
def test_wrong_seeds_are_named(text):
    with pytest.raises(plan.PlanError, match="seeds"):
        plan.parse_seeds(text)


def document():
    return {"duration": "1 s", "link": [{"name": "a", "loss": {"p": 0.1}}, {"name": "b.c"}]}


def test_put_reaches_an_entry_by_its_name():
    found = document()
    plan.put(found, "link.a.loss.p", 0.2)
    plan.put(found, 'link."b.c".delay', "1 ms")
    plan.put(found, "record.trace", "all")
    plan.put(found, "link.a.loss.kind", "bernoulli")
    assert found["link"][0]["loss"] == {"p": 0.2, "kind": "bernoulli"}
    assert found["link"][1]["delay"] == "1 ms"
    assert found["record"] == {"trace": "all"}


def test_put_takes_away():
    found = document()
    plan.put(found, "link.a.loss", "")
    assert found["link"][0] == {"name": "a"}


def test_what_is_set_inside_a_table_stays_in_its_document():
    """The tables of an axis belong to all of its points, and to every configuration that a search looks at."""
    settings = {"link.a.loss": {"p": 0.2}}
    first, second = document(), document()
    for found in (first, second):
        plan.put(found, "link.a.loss", settings["link.a.loss"])
    plan.put(first, "link.a.loss.kind", "bernoulli")
    assert first["link"][0]["loss"] == {"p": 0.2, "kind": "bernoulli"}
    assert second["link"][0]["loss"] == settings["link.a.loss"] == {"p": 0.2}


@pytest.mark.parametrize("key", ["link.z.rate", "duration.x", "link.a", ""])
def test_put_says_what_is_wrong(key):
    with pytest.raises(plan.PlanError):
        plan.put(document(), key, 1)


def test_a_point_has_its_values_and_leaves_the_others_alone(satellite):
    points = list(satellite.sweep("three-reports").points())
    assert [point.at["p"] for point in points] == [0.008, 0.009, 0.01, 0.015, 0.02, 0.025, 0.03]
    scenario = tomllib.loads(points[3].scenario)
    losses = {link["name"]: link["loss"]["p"] for link in scenario["link"] if "loss" in link}
    assert losses == {"l0": 0.015, "l1": 0.015}
    options = {flow["name"]: flow["options"] for flow in scenario["flow"]}
    assert options["tcp"] == {"initial_window": 1}
    assert options["sctp"]["fast_retransmit_threshold"] == 3
    # The sweep before it switches something else.
    other = tomllib.loads(next(satellite.sweep("limited-transmit").points()).scenario)
    assert "fast_retransmit_threshold" not in other["flow"][1]["options"]


def test_the_study_has_seven_probabilities_and_thirty_seeds(satellite):
    study = satellite.sweep("study")
    assert len(list(study.points())) == 7
    assert study.seeds == tuple(range(1, 31))


def test_a_quick_look_takes_few_seeds_of_sweeps_that_have_their_own(tmp_path):
    (tmp_path / "scenario.toml").write_text(SCENARIO)
    sweep = '[[sweep]]\nname = "{}"\nabout = "a"\naxes = []\n{}\n'
    own = {
        "many": 'seeds = "11..30"',
        "one": 'seeds = "7"',
        "told": 'seeds = "1..9"\nquick_seeds = "1..5"',
        "none": "",
    }
    plan_of = 'title = "t"\nstudy = "x"\nseeds = "1..4"\nquick_seeds = "1..2"\n'
    (tmp_path / "plan.toml").write_text(plan_of + "".join(sweep.format(*each) for each in own.items()))
    found = {each.name: each.quick_seeds for each in plan.load(tmp_path).sweeps}
    assert found == {"many": (11, 12), "one": (7,), "told": (1, 2, 3, 4, 5), "none": (1, 2)}


def test_a_plan_with_a_wrong_key_is_refused(tmp_path):
    (tmp_path / "plan.toml").write_text(
        'title = "t"\nstudy = "x"\nseeds = "1"\nquick_seeds = "1"\nseed = 3\n'
    )
    with pytest.raises(plan.PlanError, match="unknown key `seed`"):
        plan.load(tmp_path)


def test_findings_of_a_study_are_sentences(tmp_path):
    study = tmp_path / "study.toml"
    study.write_text('title = "t"\n[about]\nquestion = "q?"\nfindings = ["One.", "Two."]\n')
    found = folders.study_at(tmp_path)
    assert (found.about, found.findings) == ({"question": "q?"}, ("One.", "Two."))
    study.write_text('title = "t"\n[about]\nquestion = "q?"\n')
    assert folders.study_at(tmp_path).findings == ()
    for wrong in ('findings = "One."', "findings = [1]", 'findings = [""]', 'question = ["q?"]'):
        study.write_text(f'title = "t"\n[about]\n{wrong}\n')
        with pytest.raises(plan.PlanError, match=r"of \[about\] is a"):
            folders.study_at(tmp_path)


def test_unknown_axis_and_sweep(tmp_path, satellite):
    (tmp_path / "plan.toml").write_text(
        'title = "t"\nstudy = "x"\nseeds = "1"\nquick_seeds = "1"\n[[sweep]]\nname = "s"\nabout = "a"\naxes = ["q"]\n'
    )
    with pytest.raises(plan.PlanError, match="no axis `q`"):
        plan.load(tmp_path)
    with pytest.raises(plan.PlanError, match="no sweep `nothing`"):
        satellite.sweep("nothing")


HEAD = 'title = "t"\nstudy = "x"\nseeds = "1"\nquick_seeds = "1"\n'

SCENARIO = """
duration = "9 s"
[[link]]
name = "wire"
delay = "1 ms"
[[flow]]
name = "sf"
protocol = "sctp"
[[flow]]
name = "sf-2"
protocol = "sctp"
[[flow]]
name = "noise"
protocol = "cbr"
"""


def made(tmp_path, text):
    (tmp_path / "plan.toml").write_text(HEAD + text)
    (tmp_path / "scenario.toml").write_text(SCENARIO)
    return plan.load(tmp_path)


def documents(sweep, quick=False):
    return [(dict(point.at), tomllib.loads(point.scenario)) for point in sweep.points(quick)]


def test_engines_are_an_axis_of_every_sctp_flow_and_of_nothing_else(tmp_path):
    found = made(tmp_path, 'engines = ["old", "new"]\n[[sweep]]\nname = "s"\nabout = "a"\n')
    (first, one), (second, two) = documents(found.sweeps[0])
    assert (first, second) == ({"engine": "old"}, {"engine": "new"})
    assert [flow.get("engine") for flow in one["flow"]] == ["old", "old", None]
    assert [flow.get("engine") for flow in two["flow"]] == ["new", "new", None]


def test_ranges_templates_and_named_values(tmp_path):
    found = made(
        tmp_path,
        """
[axes.n]
keys = ["flow.sf.subflows", "flow.sf-2.count"]
values = "1..3"
[axes.delay]
keys = { "link.wire.delay" = "{} ms" }
values = [5, 0.5]
[axes.phi]
[axes.phi.values]
one = { "flow.sf*.coupling" = "independent" }
n = { "flow.sf*.coupling" = "fcc(n)", "flow.sf.dscp" = 3 }
[quick]
set = { duration = "1 s" }
axes = { n = [2], phi = ["n"] }
[[sweep]]
name = "s"
about = "a"
axes = ["n", "delay", "phi"]
skip = [{ n = 1, phi = ["n"] }, { delay = 0.5, n = [2, 3] }]
[[sweep]]
name = "long"
about = "a"
quick = { set = { duration = "2 s" } }
""",
    )
    ((_, long),) = documents(found.sweeps[1], quick=True)
    assert long["duration"] == "2 s"
    cells = documents(found.sweeps[0])
    assert [(at["n"], at["delay"], at["phi"]) for at, _ in cells] == [
        (1, 5, "one"), (1, 0.5, "one"), (2, 5, "one"), (2, 5, "n"), (3, 5, "one"), (3, 5, "n"),
    ]  # fmt: skip
    last = cells[-1][1]
    assert last["link"][0]["delay"] == "5 ms"
    assert cells[1][1]["link"][0]["delay"] == "0.5 ms"
    assert last["flow"][0] == {
        "name": "sf",
        "protocol": "sctp",
        "subflows": 3,
        "coupling": "fcc(n)",
        "dscp": 3,
    }
    assert last["flow"][1] == {"name": "sf-2", "protocol": "sctp", "count": 3, "coupling": "fcc(n)"}
    ((at, document),) = documents(found.sweeps[0], quick=True)
    assert at == {"n": 2, "delay": 5, "phi": "n"}
    assert document["duration"] == "1 s"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[axes.seed]\nkeys = ["x"]\nvalues = [1]\n', "can be called `seed`"),
        ('[axes.n]\nkeys = ["x"]\nvalues = [1, 1]\n', "stands there twice"),
        ("[axes.n]\nvalues = [1]\n", "`keys` is missing"),
        ('[axes.n]\nkeys = ["x"]\n', "`values` is missing"),
        ('[[sweep]]\nname = "s"\n', "`about` is missing"),
        ("[quick]\nseeds = 3\n", "unknown key `seeds`"),
    ],
)
def test_a_plan_that_cannot_be_meant_is_refused(tmp_path, text, message):
    with pytest.raises(plan.PlanError, match=message):
        made(tmp_path, text)


def test_a_rule_about_no_axis_and_a_quick_value_that_is_none(tmp_path):
    axis = '[axes.n]\nkeys = ["flow.sf.x"]\nvalues = [1, 2]\n'
    sweep = '[[sweep]]\nname = "s"\nabout = "a"\naxes = ["n"]\n'
    with pytest.raises(plan.PlanError, match="no axis `m`"):
        list(made(tmp_path, axis + sweep + "skip = [{ m = 1 }]\n").sweeps[0].points())
    with pytest.raises(plan.PlanError, match="no value 7"):
        list(made(tmp_path, axis + "[quick]\naxes = { n = [7] }\n" + sweep).sweeps[0].points(quick=True))


LOSSES = """
[axes.n]
keys = { "link.wire.delay" = "{} ms" }
values = [1, 2]
[axes.position]
keys = { "link.wire.loss" = { kind = "positions", drop = ["{}"] } }
values = "0..2"
none = 0
"""


def test_a_list_has_an_entry_for_each_part_of_a_value(tmp_path):
    pairs = LOSSES.replace('"0..2"\nnone = 0', '"1..3"\nchoose = 2')
    sweep = '[[sweep]]\nname = "s"\nabout = "a"\naxes = ["position"]\n'
    drops = [
        {
            at["position"]: found["link"][0]["loss"]["drop"]
            for at, found in cells(made(tmp_path, text + sweep))
        }
        for text in (LOSSES, pairs)
    ]
    assert drops == [{0: [], 1: [1], 2: [2]}, {"1+2": [1, 2], "1+3": [1, 3], "2+3": [2, 3]}]


def cells(found):
    return [(point.at, tomllib.loads(point.scenario)) for point in found.sweeps[0].points()]


def test_a_batch_shares_its_scenario(tmp_path):
    sweep = '[[sweep]]\nname = "s"\nabout = "a"\naxes = ["n", "position"]\nbatch = ["position"]\nskip = [{ n = 2, position = 0 }]\n'
    points = list(made(tmp_path, LOSSES + sweep).sweeps[0].points())
    assert [(p.at["n"], p.at["position"], p.run) for p in points] == [
        (1, 0, 0),
        (1, 1, 1),
        (1, 2, 2),
        (2, 1, 0),
        (2, 2, 1),
    ]
    assert len({point.scenario for point in points}) == 2
    assert points[1].overrides == (("link.wire.loss", '{ kind = "positions", drop = [1] }'),)
    assert points[0].overrides == (("link.wire.loss", '{ kind = "positions", drop = [] }'),)


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ('batch = ["n"]', "names the last axes"),
        ('batch = ["position"]\ntrace = true', "no trace"),
        ('batch = ["position"]\nsequential = { precise = { x = { of = "1", half = 1.0 } } }', "same seeds"),
    ],
)
def test_what_a_batch_cannot_be(tmp_path, more, problem):
    with pytest.raises(plan.PlanError, match=problem):
        made(tmp_path, LOSSES + f'[[sweep]]\nname = "s"\nabout = "a"\naxes = ["n", "position"]\n{more}\n')


SETTINGS = """
title = "S"
[[configuration]]
what = "hosts take a while"
why = "section 1"
engines = ["rfc9260"]
flow = { "options.mtu" = 1400 }
host = { processing = "1 ms" }
queue = { droptail = { packets = 7 } }
messages = { "1000 B" = "900 B" }
[[configuration]]
what = "only here"
why = "section 2"
experiments = ["exp-2*"]
flow = { "options.nagle" = true }
"""


NETWORK = """
[[link]]
name = "wire"
queue = { kind = "droptail", packets = 50 }
[[flow]]
name = "sf"
to = "b"
engine = "rfc9260"
options = { sack_every = 1 }
traffic = { kind = "greedy", message = "1000 B" }
[[flow]]
name = "other"
to = "c"
engine = "modern"
"""


def study_of(tmp_path, sweep="", settings=SETTINGS):
    """Makes a study with one experiment, exp-1; returns the scenario of its sweep."""
    (tmp_path / "study.toml").write_text(settings)
    folder = tmp_path / "exp-1"
    folder.mkdir()
    (folder / "plan.toml").write_text(f'title = "E"\n[[sweep]]\nname = "s"\nabout = "a"\n{sweep}')
    (folder / "scenario.toml").write_text(NETWORK)
    (point,) = folders.load(folder).sweep("s").points()
    return tomllib.loads(point.scenario)


def test_what_a_study_has_in_common_is_set_in_every_run(tmp_path):
    document = study_of(tmp_path)
    sf, other = document["flow"]
    assert sf["options"] == {"sack_every": 1, "mtu": 1400}
    assert sf["traffic"]["message"] == "900 B"
    assert "options" not in other
    assert document["host"] == [{"name": "b", "processing": "1 ms"}]
    assert document["link"][0]["queue"]["packets"] == 7


def test_another_reading_sets_its_own_over_it(tmp_path):
    document = study_of(
        tmp_path, 'reading = "packets of 1300 bytes"\nset = { "flow.sf.options.mtu" = 1300 }\n'
    )
    assert document["flow"][0]["options"]["mtu"] == 1300
    assert folders.load(tmp_path / "exp-1").sweep("s").reading == "packets of 1300 bytes"


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ('what = "x"', "`why` is missing"),
        ('why = "x"', "`what` is missing"),
        ('what = "x"\nwhy = "y"\nflows = {}', "unknown key `flows`; allowed are engines, experiments, flow"),
    ],
)
def test_what_is_set_says_why(tmp_path, entry, problem):
    with pytest.raises(plan.PlanError, match=problem):
        study_of(tmp_path, settings=f"[[configuration]]\n{entry}\n")


def test_a_point_leaves_nothing_behind(tmp_path):
    """An axis sets a table, a later one sets a key in it: its value must not be in the points that come after."""
    plans = made(
        tmp_path,
        """
[axes.first]
values = { one = { "flow.sf.options" = { mtu = 1448 } } }
[axes.second]
values = { with = { "flow.sf.options.nagle" = true }, without = {} }
[[sweep]]
name = "s"
about = "a"
axes = ["first", "second"]
""",
    )
    for _ in range(2):
        options = [tomllib.loads(point.scenario)["flow"][0]["options"] for point in plans.sweep("s").points()]
        assert options == [{"mtu": 1448, "nagle": True}, {"mtu": 1448}]


def test_what_plans_use_of_others_is_there(tmp_path):
    every = [
        folders.load(place)
        for study in folders.places(folders.root() / "experiments")
        for place in folders.experiments(study)
    ]
    using = [each for each in every if each.uses]
    assert using
    for each in using:
        alone = experiment.used([Results(each, tmp_path)])
        assert [other.plan.folder.name for other in alone] == list(each.uses)
        assert all(other.plan.sweeps for other in alone)
