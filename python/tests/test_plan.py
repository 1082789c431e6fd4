import tomllib

import pytest

from anabranch_lab import plan


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


@pytest.mark.parametrize("key", ["link.z.rate", "duration.x", "link.a", ""])
def test_put_says_what_is_wrong(key):
    with pytest.raises(plan.PlanError):
        plan.put(document(), key, 1)


def test_a_point_has_its_values_and_leaves_the_others_alone(satellite):
    points = list(satellite.sweep("same-scheme").points())
    assert [point.at["p"] for point in points] == [0.008, 0.009, 0.01, 0.015, 0.02, 0.025, 0.03]
    scenario = tomllib.loads(points[3].scenario)
    losses = {link["name"]: link["loss"]["p"] for link in scenario["link"] if "loss" in link}
    assert losses == {"l0": 0.015, "l1": 0.015}
    options = {flow["name"]: flow["options"] for flow in scenario["flow"]}
    assert options["tcp"] == {"limited_transmit": True}
    assert options["sctp"]["fast_retransmit_threshold"] == 3
    # The sweep before it switches only one of the two.
    other = tomllib.loads(next(satellite.sweep("limited-transmit").points()).scenario)
    assert "fast_retransmit_threshold" not in other["flow"][1]["options"]


def test_the_study_has_seven_probabilities_and_thirty_seeds(satellite):
    study = satellite.sweep("study")
    assert len(list(study.points())) == 7
    assert study.seeds == tuple(range(1, 31))


def test_a_plan_with_a_wrong_key_is_refused(tmp_path):
    (tmp_path / "plan.toml").write_text(
        'title = "t"\nstudy = "x"\nseeds = "1"\nquick_seeds = "1"\nseed = 3\n'
    )
    with pytest.raises(plan.PlanError, match="unknown key `seed`"):
        plan.load(tmp_path)


def test_unknown_axis_and_sweep(tmp_path, satellite):
    (tmp_path / "plan.toml").write_text(
        'title = "t"\nstudy = "x"\nseeds = "1"\nquick_seeds = "1"\n[[sweep]]\nname = "s"\nabout = "a"\naxes = ["q"]\n'
    )
    with pytest.raises(plan.PlanError, match="no axis `q`"):
        plan.load(tmp_path)
    with pytest.raises(plan.PlanError, match="no sweep `nothing`"):
        satellite.sweep("nothing")
