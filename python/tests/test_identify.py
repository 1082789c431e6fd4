"""Configurations of a study: what they set, the way to the best one, and the command."""

import json
import tomllib
from pathlib import Path

import pytest

from anabranch_lab import cli
from anabranch_lab.identified import Score
from anabranch_lab.judge import claims
from anabranch_lab.plan import configuration as configurations
from anabranch_lab.plan import folders, plan
from anabranch_lab.run import simulation
from anabranch_lab.run.results import Results

EXPERIMENTS = folders.root() / "experiments"
OPEN = sorted(path.parent.name for path in EXPERIMENTS.glob(f"*/{configurations.FILE}"))
"""Studies of publications that leave something open."""

FACTORS = """
engine = "old"
claims = "H-"
experiments = ["*"]
[[factor]]
name = "rule"
about = "It does not say."
[[factor.choice]]
name = "a"
[[factor.choice]]
name = "b"
flow = { "options.nagle" = true }
[[factor]]
name = "host"
about = "It does not say."
[[factor.choice]]
name = "fast"
[[factor.choice]]
name = "slow"
host = { processing = "1 ms" }
[[factor.choice]]
name = "slower"
host = { processing = "2 ms" }
"""


@pytest.fixture
def space(tmp_path):
    (tmp_path / configurations.FILE).write_text(FACTORS)
    return configurations.load(tmp_path)


def part(at, holds, judged=True):
    return claims.Part(at, 1.0, 1.0, 0.1, holds, judged=judged, by_mean=holds)


def test_a_choice_sets_what_it_says_and_nothing_else():
    choice = configurations.Choice(
        "all",
        flow={"options.nagle": True},
        subflows={"level": "sf2007"},
        messages={"952 B": "948 B"},
        host={"processing": "1 ms"},
        queue={"red": {"gentle": False}},
    )
    document = {
        "flow": [
            {"name": "sf", "to": "b", "engine": "old", "subflows": 2, "traffic": {"message": "952 B"}},
            {"name": "one", "to": "c", "engine": "old", "options": {}, "traffic": {"message": "952 B"}},
            {"name": "other", "to": "d", "engine": "new", "subflows": 2, "traffic": {"message": "952 B"}},
        ],
        "host": [{"name": "b", "processing": "0 s"}, {"name": "d", "processing": "0 s"}],
        "link": [
            {"name": "x", "queue": {"kind": "red"}, "back": {"queue": {"kind": "red"}}},
            {"name": "y", "queue": {"kind": "droptail"}},
            {"name": "z"},
        ],
    }
    choice.apply(document, ("old",))
    sf, one, other = document["flow"]
    assert (sf["options"], sf["level"], sf["traffic"]) == ({"nagle": True}, "sf2007", {"message": "948 B"})
    assert (one["options"], one["traffic"]) == ({"nagle": True}, {"message": "952 B"})
    assert "level" not in one
    assert other == {
        "name": "other",
        "to": "d",
        "engine": "new",
        "subflows": 2,
        "traffic": {"message": "952 B"},
    }
    assert document["host"] == [
        {"name": "b", "processing": "1 ms"},
        {"name": "d", "processing": "0 s"},
        {"name": "c", "processing": "1 ms"},
    ]
    red = {"kind": "red", "gentle": False}
    assert document["link"][0] == {"name": "x", "queue": red, "back": {"queue": red}}
    assert document["link"][1]["queue"] == {"kind": "droptail"}


def test_the_way_to_the_best_changes_one_choice_at_a_time(space):
    worth = {
        ("a", "fast"): 1,
        ("b", "fast"): 2,
        ("a", "slow"): 1,
        ("a", "slower"): 0,
        ("b", "slow"): 3,
        ("b", "slower"): 2,
    }
    looked, waiting = [], identified.climb(space, [])
    while waiting:
        here = waiting.pop(0)
        many = worth[tuple(choice.name for _, choice in here.chosen)]
        looked.append(Score(here, {f"H-{n}": (1 if n < many else 0, 1) for n in range(4)}))
        waiting = waiting or identified.climb(space, looked)
    assert looked[0].configuration.name == "a, fast"
    assert identified.ranked(looked)[0].configuration.name == "b, slow"
    assert len(looked) == len({one.configuration.name for one in looked}) == 6
    assert (
        "Best: b, slow: 3 claims hold. Second: b, fast: 2. What separates them: H-2 (0 of 1 parts instead of 1)"
        in identified.told(space, looked)
    )
    assert len(list(space.every())) == 6


def test_a_tie_goes_to_what_the_publication_names(tmp_path):
    (tmp_path / configurations.FILE).write_text(
        FACTORS.replace('name = "rule"', 'name = "rule"\nnamed = "b"')
    )
    every = {one.name: one for one in configurations.load(tmp_path).every()}
    more_parts = Score(every["a, fast"], {"H-1": (1, 1), "H-2": (2, 3)})
    named = Score(every["b, fast"], {"H-1": (1, 1), "H-2": (1, 3)})
    assert identified.ranked([more_parts, named]) == [named, more_parts]
    one_more = Score(every["a, slow"], {"H-1": (1, 1), "H-2": (3, 3)})
    assert identified.ranked([named, one_more]) == [one_more, named]


def test_only_what_is_asked_for_is_varied(space):
    looked = [Score(space.chosen, {"H-1": (1, 1)})]
    assert [one.name for one in identified.climb(space, looked)] == ["b, fast", "a, slow", "a, slower"]
    assert [one.name for one in identified.climb(space, looked, ["rule"])] == ["b, fast"]
    assert [one.name for one in identified.climb(space, looked, ["rule", "host"])] == [
        "b, fast", "a, slow", "a, slower",
    ]  # fmt: skip


def test_what_is_printed_is_searched_for_by_none_but_every(tmp_path):
    (tmp_path / configurations.FILE).write_text(
        FACTORS.replace('name = "rule"', 'name = "rule"\nprinted = true')
    )
    space = configurations.load(tmp_path)
    assert [one.name for one in space.beside(space.chosen)] == ["a, slow", "a, slower"]
    every = {one.name: one for one in space.every()}
    assert len(every) == 6
    looked = [
        Score(every["a, fast"], {"H-1": (1, 1), "H-2": (0, 1)}),
        Score(every["a, slow"], {"H-1": (0, 1)}),
    ]
    # For comparison: it is said what holds there, and no search goes on from it.
    (other,) = identified.beside(space, looked, ["rule"])
    assert other.name == "b, fast"
    looked.append(Score(other, {"H-1": (1, 1), "H-2": (1, 1)}))
    assert [one.name for one in identified.climb(space, looked)] == ["a, slower"]
    text = identified.told(space, looked)
    assert text.startswith("Best: a, fast: 1 claims hold. Second: a, slow: 0.")
    assert text.endswith("For comparison, against what the publication prints: rule b: 2.")


def test_configurations_that_no_claim_tells_apart_are_named_together(space):
    first, second, third, *_ = space.every()
    looked = [Score(first, {"H-1": (1, 1)}), Score(second, {"H-1": (1, 1)}), Score(third, {"H-1": (0, 1)})]
    text = identified.told(space, looked)
    assert f"As good, and told from it by no claim: {second.name}. Second: {third.name}: 0." in text
    assert "H-1 (0 of 1 parts instead of 1)" in text
    assert identified.told(space, looked[:2]).endswith(f"{second.name}.")


def test_a_claim_says_what_other_configurations_make_of_it(space, tmp_path):
    judged, other = space.chosen, next(iter(space.beside(space.chosen)))
    looked = [Score(other, {"H-1": (2, 2)}), Score(judged, {"H-1": (1, 2), "H-2": (3, 3)})]
    identified.write(space, looked, (1, 2), tmp_path / identified.FILE)
    found = identified.by_claim(space, tmp_path / identified.FILE)
    first, second = found["H-1"].answers
    assert (first.differs, first.holds, first.judged) == ({}, 1, 2)
    assert (second.differs, found["H-1"].whole) == ({"rule": "b"}, [second])
    assert (found["H-2"].answers, found["H-1"].seeds) == ((claims.Answer({}, 3, 3),), (1, 2))
    assert found["H-1"].record()["configurations"][1] == {"differs": {"rule": "b"}, "holds": 2, "judged": 2}
    assert identified.by_claim(space, tmp_path / "none.json") == {}


def test_only_published_claims_of_the_study_count(space):
    entry = {"study": "", "where": "", "statement": "", "kind": "", "tolerance": "", "engine": "", "seeds": 5}
    made = [
        claims.Claim(
            id="H-1", parts=[part("x", True), part("y", False), part("z", False, judged=False)], **entry
        ),
        claims.Claim(id="H-2", parts=[part("x", True)], **entry),
        claims.Claim(id="H-3", parts=[part("x", True)], counts_as=claims.OWN, **entry),
        claims.Claim(id="X-1", parts=[part("x", True)], **entry),
    ]
    found = identify.score(space, space.chosen, made)
    # Also parts that so few seeds do not judge: means are compared.
    assert found.parts == {"H-1": (1, 3), "H-2": (1, 1)}
    assert (found.whole, found.share) == (1, (1 / 3 + 1) / 2)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("engine = 'x'\nclaims = 'H-'\nexperiments = []\n", "nothing to choose"),
        (FACTORS.replace('name = "b"', 'name = "a"'), "two choices have one name"),
        (FACTORS.replace("host = {", "hosts = {", 1), "unknown key `hosts`; allowed are"),
        (FACTORS.replace('claims = "H-"\n', ""), "`claims` is missing"),
        (FACTORS.replace('about = "It does not say."', "", 1), "`about` is missing"),
        (
            FACTORS.replace('name = "rule"', 'name = "rule"\nprinted = "yes"'),
            "`printed` is 'yes'; allowed are true and false",
        ),
        (
            FACTORS.replace('name = "rule"', 'name = "rule"\nnamed = "c"'),
            "`named` is `c`, which is no choice; there are a, b",
        ),
        (FACTORS.replace('name = "host"', 'name = "rule"'), "two factors have one name"),
        (
            FACTORS.replace('name = "host"', 'name = "host"\nengine = "new"'),
            "none of those that are judged: old",
        ),
    ],
)
def test_what_is_wrong_is_said(tmp_path, text, complaint):
    (tmp_path / configurations.FILE).write_text(text)
    with pytest.raises(plan.PlanError, match=complaint):
        configurations.load(tmp_path)


@pytest.mark.parametrize("study", OPEN)
def test_every_choice_is_a_scenario_that_runs(study):
    space = configurations.load(EXPERIMENTS / study)
    plans = identify.chosen(EXPERIMENTS / study, space)
    touched = {}
    for factor in space.factors:
        for choice in factor.choices:
            if (factor, choice) in space.chosen.chosen:
                continue
            here = space.chosen.instead(factor, choice)
            changed = [
                point
                for each in plans
                for plain, other in zip(each.sweeps, each.configured(here).sweeps, strict=True)
                for point in first_change(plain, other)
            ]
            for point in changed:
                simulation.check(point.scenario, f"{study}: {here.name}", point.overrides)
            touched[factor.name, choice.name] = len(changed)
    assert all(touched.values()), touched


def first_change(plain, other):
    pairs = zip(plain.points(), other.points(), strict=True)
    return [after for before, after in pairs if before.scenario != after.scenario][:1]


def test_the_command_finds_the_better_configuration(tmp_path, monkeypatch, capsys):
    folder = tmp_path / "experiments" / "mine"
    (folder / "one").mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text("")
    (folder / "study.toml").write_text('title = "t"\nstudy = "009"\nengines = ["rfc9260"]\nseeds = "1..30"\n')
    (folder / "claims.toml").write_text(
        '[[claim]]\nid = "H-1"\nwhere = "p. 1"\nstatement = "s"\nkind = "N"\ntolerance = "1"\nexpected = "2 Mbit/s"\nexperiment = "one"\n'
    )
    (folder / configurations.FILE).write_text(
        FACTORS.replace('"old"', '"rfc9260"').replace('nagle" = true', 'receive_window" = "30 kB"')
    )
    (folder / "one" / "scenario.toml").write_text(
        """duration = "4 s"
[[link]]
name = "path"
from = "a"
to = "b"
both = true
rate = "100 Mbit/s"
delay = "50 ms"
[[flow]]
name = "f"
from = "a"
to = "b"
protocol = "sctp"
engine = "rfc9260"
traffic = { kind = "greedy", message = "1000 B" }
start = "uniform(0 s, 1 ms)"
"""
    )
    (folder / "one" / "plan.toml").write_text('title = "t"\n[[sweep]]\nname = "s"\nabout = "a"\n')
    (folder / "one" / "analysis.py").write_text(
        """from anabranch_lab.judge.claims import number
from anabranch_lab.judge.experiment import Analysis, claim_builder


def analyse(results):
    runs = results.grid("s", {"rate": "sum(goodput_payload_run_bps) FILTER (kind = 'flow') / 1e6"})

    def judge(engine):
        return [number("rate", 2.0, runs.sample("rate", engine=engine).estimate, 1.0)]

    return Analysis(claims=[claim_builder(results).claim("H-1", judge)])
"""
    )
    monkeypatch.chdir(tmp_path)
    assert cli.main(["identify", "mine", "--seeds", "1..2", "--jobs", "1", "--keep"]) == 0
    printed = capsys.readouterr().out
    assert "Best: b, fast: 1 claims hold" in printed
    found = json.loads((tmp_path / "out" / "configurations-mine.json").read_text())
    assert found["configurations"][0]["choices"] == {"rule": "b", "host": "fast"}
    assert {entry["claims_hold"] for entry in found["configurations"]} == {0, 1}
    assert (tmp_path / "out" / "configurations-mine.png").stat().st_size > 1000
    assert tomllib.loads(FACTORS)["claims"] == "H-"
    seeds, kept = identified.read(configurations.load(folder), folder / identified.FILE)
    assert seeds == [1, 2]
    assert [one.whole for one in kept] == [entry["claims_hold"] for entry in found["configurations"]]
    assert kept[0].parts == {"H-1": (1, 1)}
    # What was found becomes the study's own, and the next search begins there.
    with (folder / "study.toml").open("a") as file:
        file.write('[configuration]\nrule = "b"\n')
    assert configurations.load(folder).chosen.name == "b, fast"
    assert cli.main(["run", "mine", "--seeds", "1..2", "--jobs", "1"]) == 0
    assert cli.main(["report", "mine", "--seeds", "1..2"]) == 0
    page = (tmp_path / "out" / "report" / "mine.html").read_text()
    assert "Verdicts are those of this configuration" in page
    assert "Best: b, fast: 1 claims hold" in page
    assert page.count('<td data-name="claims">') == len(kept)
    assert page.count("<strong>(judged)</strong>") == 1
    capsys.readouterr()
    assert cli.main(["identify", "mine", "--seeds", "1..2", "--jobs", "1"]) == 0
    assert "b, fast: 2 of 2 runs are on disk already" in capsys.readouterr().out
    for wrong, told in (
        (["--factor", "weather"], "--factor weather: mine has no such factor; there are rule, host"),
        (["--every", "--factor", "rule"], "--every looks at all configurations"),
        (["--also", "rule"], "--also rule: mine has no such factor that is printed; there are none"),
    ):
        assert cli.main(["identify", "mine", *wrong]) != 0
        assert told in " ".join(capsys.readouterr().err.split())


def test_a_study_is_judged_with_its_own_configuration(tmp_path):
    (tmp_path / configurations.FILE).write_text(FACTORS.replace('["*"]', '["exp-*"]'))
    (tmp_path / "study.toml").write_text('engines = ["old", "new"]\n[configuration]\nhost = "slow"\n')
    (tmp_path / "claims.toml").write_text("")
    for name in ("exp-1", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "scenario.toml").write_text('[[flow]]\nname = "f"\nto = "b"\nprotocol = "sctp"\n')
        (tmp_path / name / "plan.toml").write_text(
            '[[sweep]]\nname = "runs"\nabout = "a"\n[[sweep]]\nname = "fast"\nabout = "a"\nset = { host = [{ name = "b", processing = "1 us" }] }\n'
            'variant = { changes = "the host", says = "open", paper = "nothing" }\n'
        )

    def hosts(name, sweep):
        found = (
            tomllib.loads(point.scenario) for point in folders.load(tmp_path / name).sweep(sweep).points()
        )
        return {document["flow"][0].get("engine"): document.get("host") for document in found}

    slow, fast = [{"name": "b", "processing": "1 ms"}], [{"name": "b", "processing": "1 us"}]
    assert hosts("exp-1", "runs") == {"old": slow, "new": None}, "the engine beside stays as it is"
    assert hosts("exp-1", "fast") == {"old": fast, "new": fast}, "a variant's own change stays"
    assert hosts("other", "runs") == {"old": None, "new": None}, "an experiment that does not count stays"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('configuration = "slow"', "`configuration` is a table"),
        ('[configuration]\nhosts = "slow"', "unknown key `hosts`; allowed are host, rule"),
        ('[configuration]\nhost = "quick"', "no choice `quick`; there are fast, slow, slower"),
    ],
)
def test_a_configuration_that_is_none_is_said(tmp_path, text, complaint):
    (tmp_path / configurations.FILE).write_text(FACTORS)
    (tmp_path / "study.toml").write_text(text)
    with pytest.raises(plan.PlanError, match=complaint):
        configurations.load(tmp_path)


def test_every_judged_run_of_the_thesis_has_one_answer_to_what_it_leaves_open():
    """XVIII to XXI had another spread than I to XVII once, as their networks said it by themselves."""
    study = "sf-sctp-2007"
    space = configurations.load(EXPERIMENTS / study)
    names = [
        name
        for name in folders.study_at(EXPERIMENTS / study).experiments
        if space.counts(name.rsplit("/", 1)[-1])
    ]
    assert len(names) == 21
    found: dict[str, set[str]] = {}
    for name in names:
        results = Results(folders.load(EXPERIMENTS / name), Path("nowhere"))
        for sweep in results.plan.sweeps:
            for point, _ in results.points(sweep) if sweep.variant is None else ():
                for key, value in answers(tomllib.loads(point.scenario), space):
                    found.setdefault(key, set()).add(repr(value))
    assert {key: values for key, values in found.items() if len(values) != 1} == {}
    assert found["to.processing"] == {"'uniform(0 ms, 1 ms)'"}
    assert found["level"] == {"'sf2007'"}
    assert found["red.measure"] == {"'bytes'"}


def answers(document, space):
    """What a run has for every key that some choice of a factor would set."""
    choices = [choice for factor in space.factors for choice in factor.choices]
    hosts = {host["name"]: host for host in document.get("host", [])}
    for flow in document.get("flow", []):
        if flow.get("engine") not in space.engines:
            continue
        for choice in choices:
            keys = [*choice.flow, *(choice.subflows if "subflows" in flow or "subflow" in flow else ())]
            yield from ((key, at(flow, key)) for key in keys)
            yield from ((f"to.{key}", hosts.get(flow["to"], {}).get(key)) for key in choice.host)
    for link in document.get("link", []):
        for queue in (link.get("queue", {}), link.get("back", {}).get("queue", {})):
            for choice in choices:
                for key in choice.queue.get(queue.get("kind", ""), {}):
                    yield f"{queue['kind']}.{key}", queue.get(key)


def at(table, key):
    """What stands at a dotted key."""
    for part in key.split("."):
        table = table.get(part) if isinstance(table, dict) else None
    return table


def test_a_picture_names_what_varies_and_what_was_never_judged(space):
    first, second, third, *_ = space.every()
    looked = [Score(one, {"H-1": (1, 1), "H-2": (0, 0)}) for one in (first, second, third)]
    assert identified.never_judged(looked) == ["H-2"]
    factors = list(first.choices)
    assert identified.labels(looked[:2]) == ["first row", f"{factors[1]}: {second.choices[factors[1]]}"]
    assert identified.varied(looked[:2]) == {factors[1]: first.choices[factors[1]]}
    assert identified.never_judged([Score(first, {"H-2": (0, 0)}), Score(second, {"H-2": (0, 1)})]) == []
