"""Grades: the rule, part by part, and that wrong decisions are as rare as it says."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch_lab import stats
from anabranch_lab.judge import grades
from anabranch_lab.judge.comparison import Signs, compare
from anabranch_lab.plan.catalogue import Expected
from anabranch_lab.run.grid import Sample


def near(mean, half=0.5, n=30):
    """A mean with an interval of this half width."""
    sd = half / stats.t_quantile(0.975, n - 1) * math.sqrt(n)
    return stats.Estimate(mean, half, n, sd)


def grade(measured, **expected):
    return grades.grade([compare(Expected("x", **expected), "x", measured)])[0].grade


SIZE = {"value": 10.0, "tolerance": (1.0, 1.0), "no_effect": 1.0}


@pytest.mark.parametrize(
    ("mean", "half", "wanted"),
    [
        (10.0, 0.5, "A"), (10.4, 0.5, "A"), (10.8, 0.5, "C"), (12.0, 0.5, "B"), (11.4, 0.5, "C"), (7.0, 0.5, "B"),
        # The opposite of the published effect, and no effect where one is published.
        (-3.0, 0.5, "D"), (0.2, 0.5, "D"), (0.5, 0.1, "D"),
        # Neither known to be something nor to be nothing.
        (0.7, 0.8, "C"), (10.0, 5.0, "C"),
    ],
)  # fmt: skip
def test_a_size(mean, half, wanted):
    assert grade(near(mean, half), **SIZE) == wanted


def test_a_size_below_nothing_and_one_beside_another_zero():
    assert grade(near(-10.2), value=-10.0, tolerance=(1.0, 1.0), no_effect=1.0) == "A"
    assert grade(near(10.0), value=-10.0, tolerance=(1.0, 1.0), no_effect=1.0) == "D"
    ratio = {"value": 4.0, "tolerance": (0.6, 0.6), "more_than": 1.0, "no_effect": 0.6}
    assert [grade(near(mean, 0.1), **ratio) for mean in (4.0, 3.0, 1.1, 0.5)] == ["A", "B", "D", "D"]
    # A value inside the band is never no effect, with any tolerance: 13 within 8 reaches down to 5.
    assert grade(near(7.0, 0.3), value=13.0, tolerance=(8.0, 8.0), no_effect=8.0) == "A"
    assert grade(near(4.0, 0.3), value=13.0, tolerance=(8.0, 8.0), no_effect=8.0) == "D"
    # A published value that says there is hardly an effect is not contradicted by none.
    assert grade(near(1.0, 0.1), value=1.1, tolerance=(0.3, 0.3), more_than=1.0, no_effect=0.3) != "D"


def test_tolerances_of_either_side():
    sides = {"value": 10.0, "tolerance": (1.0, 3.0)}
    assert [grade(near(mean, 0.2), **sides) for mean in (12.5, 8.5, 13.5)] == ["A", "B", "B"]


@pytest.mark.parametrize(
    ("expected", "grades_of"),
    [
        ({"more_than": 1.0}, {2.0: "A", 1.2: "C", 0.0: "D"}),
        ({"less_than": 1.0}, {2.0: "D", 1.2: "C", 0.0: "A"}),
        ({"more_than": 0.0, "no_effect": 1.0}, {2.0: "A", 0.3: "D", 0.7: "C"}),
        # Falling short of a bound is another size where less is an effect, too.
        ({"more_than": 5.0, "nothing": 0.0}, {9.0: "A", 5.0: "C", 3.0: "B", 0.2: "C", -1.0: "D"}),
        ({"less_than": -5.0, "nothing": 0.0}, {-9.0: "A", -3.0: "B", 1.0: "D"}),
        ({"range": (5.0, 7.0)}, {6.0: "A", 7.0: "C", 9.0: "B"}),
        ({"same": (-2.0, 2.0)}, {0.5: "A", 1.8: "C", 4.0: "D"}),
        ({"same": (5.0, 7.0)}, {6.0: "A", 7.0: "C", 9.0: "D"}),
    ],
)
def test_directions_ranges_and_what_is_the_same(expected, grades_of):
    assert {mean: grade(near(mean), **expected) for mean in grades_of} == grades_of


def test_one_published_run_says_it_within_its_own_spread():
    # Runs differ by 1.0: a published one within 2.05 of their mean says nothing against it.
    runs = stats.Estimate(12.5, 0.37, 30, 1.0)
    one = {"value": 10.0, "tolerance": (1.0, 1.0), "no_effect": 1.0}
    assert grade(runs, **one) == "B"
    assert grade(runs, **one, one_run=True) == "C"
    assert grade(runs, **one, one_run=0.5) == "B"
    # More than twice the tolerance: it would accept nearly anything.
    assert grade(stats.Estimate(10.0, 0.37, 30, 1.0), value=10.0, tolerance=(0.9, 0.9), one_run=True) == "C"
    assert grade(stats.Estimate(10.0, 0.37, 30, 1.0), value=10.0, tolerance=(1.1, 1.1), one_run=True) == "A"


def test_counts_texts_and_signs():
    assert grade("7, 8", equals="7, 8") == "A"
    assert grade(3, equals=4) == "D"
    assert grade(3.0, value=3.1, tolerance=(0.2, 0.2)) == "A"
    assert grade(3.0, value=4.0, tolerance=(0.2, 0.2)) == "B"
    assert grade(0.0, more_than=0.0) == "D"
    signs = [Sample(tuple(range(20)), tuple([1.0] * up + [-1.0] * (20 - up))) for up in (19, 11, 1)]
    assert [grade(Signs(each), sign="more") for each in signs] == ["A", "C", "D"]
    assert [grade(Signs(each), sign="less") for each in signs] == ["D", "C", "A"]


def test_equal_seeds_are_no_proof_by_themselves():
    # Each is a toss of a coin at worst: five times heads happens in 6 % (two-sided), ten times in 0.2 %.
    equal = {n: stats.Estimate(1.0, 0.0, n, 0.0) for n in (5, 10)}
    assert {n: grade(each, more_than=0.0) for n, each in equal.items()} == {5: "C", 10: "A"}
    assert {n: grade(each, less_than=0.0) for n, each in equal.items()} == {5: "C", 10: "D"}
    # Where nothing is drawn one run says it all.
    assert grade(1.0, more_than=0.0) == "A"


def test_what_says_nothing_is_open_or_not_judged():
    assert grade(near(math.nan), more_than=0.0) == "C"
    assert grade(stats.Estimate(5.0, math.inf, 1, math.nan, 0), more_than=0.0) == "C"
    assert grade(near(5.0, n=4), more_than=0.0) == grades.NOT_JUDGED
    assert grade(near(5.0), more_than=9.0, not_testable="no correct replica can") == "N"


def test_a_claim_is_as_good_as_its_worst_part():
    def overall(*measured):
        compared = [compare(Expected("x", **SIZE), "x", each) for each in measured]
        return grades.overall(grades.grade(compared))

    assert overall(near(10.0), near(10.1)) == "A"
    assert overall(near(10.0), near(13.0)) == "B"
    assert overall(near(10.0), near(-5.0), near(13.0)) == "D"
    # The direction is known: at least the finding is the same.
    assert overall(near(10.0), near(11.3)) == "C"
    assert overall(near(13.0), near(11.3)) == "B"
    # It is not: it might be contradicted yet.
    assert overall(near(13.0), near(0.0, 3.0)) == "C"
    assert overall(near(10.0), near(10.0, n=2)) == grades.NOT_JUDGED
    assert overall() == grades.NOT_JUDGED


def test_many_parts_are_held_to_more():
    just = near(10.52, 0.5)
    assert grade(just, **SIZE) == "C"
    just = near(10.45, 0.5)
    assert grade(just, **SIZE) == "A"
    many = grades.grade([compare(Expected("x", **SIZE), "x", just) for _ in range(40)])
    assert {each.grade for each in many} == {"C"}


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_keeps_the_likeliest_and_never_more_than_each_by_itself(chances):
    stands = grades.holm(chances)
    assert all(chance <= 0.05 for chance, kept in zip(chances, stands, strict=True) if kept)
    kept = [chance for chance, each in zip(chances, stands, strict=True) if each]
    left = [chance for chance, each in zip(chances, stands, strict=True) if not each]
    assert not kept or not left or max(kept) <= min(left)
    assert all(stands) or min(chances) > 0.05 / len(chances) or any(stands)


def test_a_value_from_one_run_that_may_as_well_be_none_claims_no_direction():
    runs = stats.Estimate(-3.0, 0.9, 30, 2.4)
    one = {"value": 2.0, "tolerance": (1.0, 1.0), "no_effect": 1.0}
    assert grade(runs, **one) == "D"
    assert grade(runs, **one, one_run=True) == "C"
    assert grade(runs, **one, one_run=True, more_than=0.0) == "D"


def test_counts_are_numbers_and_texts_ask_for_equals():
    assert grade(240.0, equals=240) == "A"
    with pytest.raises(ValueError, match="a text is measured"):
        grade("None", more_than=0.0)
    with pytest.raises(ValueError, match="not a mean of runs"):
        grade(near(240.0), equals=240)


TRIALS = 600


def drawn(rng, mean, sd, n):
    return stats.estimate(list(rng.normal(mean, sd, n)))


@pytest.mark.parametrize("n", [5, 10, 30])
def test_wrong_grades_are_as_rare_as_promised(n):
    """Simulated claims whose truth is known: at most 5 % of them get a grade that is wrong, alone or with many parts.

    The hardest truths: a size that lies exactly on the edge of the band is neither inside nor outside, and an effect of exactly nothing has no
    direction.
    """
    rng = np.random.default_rng(2007 + n)
    edge = Expected("x", value=10.0, tolerance=(1.0, 1.0), no_effect=1.0)
    above = Expected("x", more_than=0.0)
    wrong = dict.fromkeys(
        ("inside", "outside", "direction", "one of twenty", "reproduced", "hardly", "luck"), 0
    )
    for _ in range(TRIALS):
        one = grades.grade([compare(edge, "x", drawn(rng, 11.0, 2.0, n))])[0].grade
        wrong["inside"] += one == "A"
        wrong["outside"] += one == "B"
        wrong["direction"] += grades.grade([compare(above, "x", drawn(rng, 0.0, 2.0, n))])[0].grade in (
            "A",
            "D",
        )
        twenty = grades.grade([compare(above, "x", drawn(rng, 0.0, 2.0, n)) for _ in range(20)])
        wrong["one of twenty"] += any(each.grade in ("A", "D") for each in twenty)
        # A true finding of another size must not be called reproduced, nor contradicted.
        wrong["reproduced"] += grades.grade([compare(edge, "x", drawn(rng, 12.0, 2.0, n))])[0].grade in (
            "A",
            "D",
        )
        # An effect smaller than `no_effect` is neither reproduced nor another size of it.
        wrong["hardly"] += grades.grade([compare(edge, "x", drawn(rng, 0.9, 2.0, n))])[0].grade in ("A", "B")
        luck = rng.normal(0.0, 1.0, (20, n))
        parts = [
            compare(above, "x", stats.controlled(list(rng.normal(0.0, 0.3, n) - each), list(each)))
            for each in luck
        ]
        wrong["luck"] += any(each.grade in ("A", "D") for each in grades.grade(parts))
    # Of 600 claims 5 % are 30; 2.6 standard deviations of chance more are 44.
    assert {name: count for name, count in wrong.items() if count > 44} == {}


def test_a_true_claim_is_found():
    """Rare errors are not enough, true claims must be found: with a spread of half the tolerance ten seeds reproduce one."""
    rng = np.random.default_rng(5)
    edge = Expected("x", value=10.0, tolerance=(1.0, 1.0), no_effect=1.0)
    found = [grades.grade([compare(edge, "x", drawn(rng, 10.2, 0.5, 10))])[0].grade for _ in range(200)]
    assert found.count("A") > 190


def test_a_published_run_of_the_same_world_is_hardly_ever_called_another():
    """One draw with the spread of a run, judged by thirty of our own: B in at most 5 %, and A where the tolerance is wide enough."""
    rng = np.random.default_rng(11)
    found = []
    for _ in range(TRIALS):
        value = float(rng.normal(50.0, 1.0))
        expected = Expected("x", value=value, tolerance=(1.2, 1.2), no_effect=1.2, one_run=True)
        found.append(grades.grade([compare(expected, "x", drawn(rng, 50.0, 1.0, 30))])[0].grade)
    assert found.count("B") + found.count("D") <= 0.05 * TRIALS
    assert found.count("A") > 0.9 * TRIALS
