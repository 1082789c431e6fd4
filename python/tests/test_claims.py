"""Claims: the grade of all parts together, how claims are counted, and their output."""

import json

import pytest

from anabranch_lab.judge import claims, grades
from anabranch_lab.judge.comparison import Signs
from anabranch_lab.plan import catalogue
from anabranch_lab.plan.catalogue import Entry, Expected
from anabranch_lab.plan.plan import PlanError
from anabranch_lab.run.grid import Sample
from anabranch_lab.stats import Estimate


def measured(mean, half=0.5, n=30):
    return Estimate(mean, half, n, 1.0)


def entry(*parts, **more):
    return Entry(
        **{"id": "X-1", "experiment": "e", "where": "Table 1", "statement": "s", "kind": "N", **more},
        parts=parts,
    )


NUMBER = Expected("a", value=10.0, tolerance=(1.0, 1.0), no_effect=1.0)
COUNT = Expected("b", equals=1)


def builder(*entries, quick=False):
    return claims.ClaimBuilder("000", "rfc9260", {each.id: each for each in entries}, quick=quick)


def claim(a=10.0, b=1, **more):
    return builder(made := entry(NUMBER, COUNT, **more)).claim(made.id, {"a": measured(a), "b": b})


def test_a_claim_shows_its_grade_and_how_many_parts():
    good, other, bad = claim(), claim(a=13.0), claim(b=2)
    assert [(each.grade, each.word, each.held_text) for each in (good, other, bad)] == [
        ("A", "reproduced", "2 of 2 parts"),
        ("B", "same finding, other size", "1 of 2 parts"),
        ("D", "contradicted", "1 of 2 parts"),
    ]
    assert "1.3 times" in other.parts[0].why
    assert other.parts[0].factor == pytest.approx((1.3, 1.25, 1.35))
    assert [part.at for part in bad.short] == ["b"]


def test_what_nobody_published_holds():
    assert [claim(**{"counts_as": catalogue.OWN, **more}).word for more in ({}, {"a": 13.0}, {"b": 2})] == [
        "holds",
        "holds, other size",
        "does not hold",
    ]


def test_parts_have_names_and_none_is_left_out():
    made = entry(Expected("* ms", more_than=0.0), COUNT)
    found = builder(made).claim("X-1", {"5 ms": measured(1.0), "10 ms": measured(2.0), "b": 1})
    assert [part.at for part in found.parts] == ["5 ms", "10 ms", "b"]
    with pytest.raises(PlanError, match=r"no part `5 s`; there are \* ms, b"):
        builder(made).claim("X-1", {"5 s": measured(1.0), "b": 1})
    with pytest.raises(PlanError, match="nothing is measured for `b`"):
        builder(made).claim("X-1", {"5 ms": measured(1.0)})
    with pytest.raises(PlanError, match=r"nothing is measured for `\* ms`"):
        builder(made).claim("X-1", {"b": 1})
    with pytest.raises(PlanError, match=r"no claim X-2 .* there are X-1"):
        builder(made).claim("X-2", {})


def test_a_quick_look_grades_arithmetic_only():
    made = entry(NUMBER, COUNT)
    assert builder(made, quick=True).claim("X-1", {"a": measured(10.0)}).grade == grades.NOT_JUDGED
    sums = entry(COUNT)
    assert builder(sums, quick=True).claim("X-1", {"b": 1}).grade == "A"


def test_few_runs_give_no_grade():
    found = builder(made := entry(NUMBER, COUNT)).claim(made.id, {"a": measured(10.0, n=2), "b": 1})
    assert (found.grade, found.word) == (grades.NOT_JUDGED, "not judged")


def test_what_cannot_be_tested_says_why():
    part = Expected("c", not_testable="the queue is not printed")
    found = builder(made := entry(NUMBER, part)).claim(made.id, {"a": measured(10.0), "c": measured(1.0)})
    assert (found.grade, found.held_text) == ("A", "1 of 1 part, 1 not testable")
    assert found.parts[1].why == "the queue is not printed"
    whole = entry(not_testable="printed values exclude each other")
    assert builder(whole).claim("X-1", {}).grade == "N"


@pytest.mark.parametrize(
    ("expected", "value"),
    [
        ({"value": 10.0, "tolerance": (5000.0, 5000.0)}, measured(10.0)),
        ({"value": 10.0, "tolerance": (5000.0, 5000.0)}, 10.0),
        ({"value": 10.0, "tolerance": (5000.0, 5000.0), "one_run": True}, measured(10.0)),
        ({"value": 2.0, "tolerance": (500.0, 500.0)}, Sample(tuple(range(5)), (1.0, 2.0, 3.0, 2.0, 1.0))),
        ({"value": 2.0, "tolerance": (500.0, 500.0)}, 2),
        ({"value": 10.0, "tolerance": (5000.0, 5000.0), "more_than": -5000.0}, measured(10.0)),
    ],
)
def test_a_comparison_that_cannot_fail_is_an_error(expected, value):
    made = entry(Expected("*", **expected))
    with pytest.raises(
        PlanError, match=r"study 000: claim X-1: part a: `.*` cannot fail: .* give it a bound"
    ):
        builder(made).claim("X-1", {"a": value})
    # Where nothing is tested nothing needs to fail.
    lost = entry(Expected("a", **expected, not_testable="lost"))
    assert builder(lost).claim("X-1", {"a": value}).parts[0].grade == "N"
    assert builder(entry(*made.parts, not_testable="lost")).claim("X-1", {"a": value}).grade == "N"


@pytest.mark.parametrize(
    ("expected", "value"),
    [
        ({"value": 10.0, "tolerance": (1.0, 1.0)}, measured(10.0)),
        ({"more_than": 0.0}, measured(2.0)),
        # A judge may measure a difference: a hundredfold of it below 0 fails.
        ({"more_than": -100.0}, measured(2.0)),
        # Its runs are larger than the mean of them.
        ({"value": 0.01, "tolerance": (50.0, 50.0)}, measured(0.01)),
        # None of a hundred frames was in time, or one: half of them might have been.
        ({"less_than": 50.0}, 0.0),
        ({"less_than": 50.0}, 0.1),
        # A difference that is nearly none is what these parts ask for.
        ({"same": (-0.25, 0.25)}, 4e-4),
        ({"range": (-1.0, 1.0)}, 4e-4),
        ({"more_than": -0.1}, 4e-4),
        # Without an effect it is 2000.
        ({"less_than": 1000.0, "nothing": 2000.0}, 2.0),
        # No value, and what rounding leaves of none.
        ({"value": 1e-6, "tolerance": (2e-6, 2e-6)}, 0.0),
        ({"value": 1e-6, "tolerance": (2e-6, 2e-6)}, 3e-15),
        ({"equals": 3}, 3),
        ({"sign": "more"}, Signs(Sample(tuple(range(10)), (1.0,) * 10))),
    ],
)
def test_a_comparison_that_can_fail_is_none(expected, value):
    found = builder(entry(Expected("a", **expected))).claim("X-1", {"a": value})
    assert found.grade in ("A", "C")


def test_parts_that_fail_for_one_cause_are_one():
    parts = [Expected(at, equals=1, cause="a bug of the stack") for at in "abc"]
    found = builder(made := entry(*parts)).claim(made.id, {"a": 1, "b": 2, "c": 3})
    assert [(part.at, part.grade) for part in found.parts] == [("a", "A"), ("b", "D")]
    assert found.held_text == "1 of 2 parts"
    assert "2 parts fail by it" in found.parts[1].why


def test_another_reading_is_shown_and_not_counted():
    made = entry(NUMBER)
    found = builder(made).claim(
        "X-1", {"a": measured(10.0)}, readings={"packets of 1500 bytes": {"a": measured(13.0)}}
    )
    assert (found.grade, found.readings["packets of 1500 bytes"][0].grade) == ("A", "B")


def test_a_line_for_each_sort_and_what_was_seen_by_itself():
    found = [
        claim(id="P-1"),
        claim(id="P-2", a=13.0),
        claim(id="P-3", seen=True),
        claim(id="O-1", counts_as=catalogue.OWN, b=2),
    ]
    lines = claims.counts(found)
    assert [
        (line.sort, line.seen, line.grades["A"], line.grades["B"], line.grades["D"]) for line in lines
    ] == [
        ("published", False, 1, 1, 0),
        ("published", True, 1, 0, 0),
        ("own", False, 0, 0, 1),
    ]


def test_one_cause_is_counted_once():
    leader, follower = claim(id="P-1", b=2), claim(id="P-2", b=2, counted_with="P-1")
    (line,) = claims.counts([leader, follower])
    assert (line.grades["D"], line.again) == (1, 1)
    # Where the other one is reproduced, it stands by itself.
    (line,) = claims.counts([claim(id="P-1"), follower])
    assert (line.grades["D"], line.again) == (1, 0)


def test_what_is_not_in_a_report_is_told():
    made = {"X-1": entry(NUMBER), "X-2": entry(id="X-2", not_testable="lost")}
    assert [claim.grade for claim in claims.unjudged(made, "000", [])] == [grades.NOT_JUDGED, "N"]


def test_claims_json_has_every_field(tmp_path):
    path = tmp_path / "out" / "claims.json"
    claims.write([claim(id="P-1", a=13.0), claim(id="P-2", seen=True)], path)
    first, second = json.loads(path.read_text())
    assert set(first) == {
        "schema", "id", "study", "where", "statement", "kind", "counts_as", "seen", "counted_with", "grade", "word", "parts_reproduced",
        "parts_tested", "engine", "seeds", "note", "parts", "readings",
    }  # fmt: skip
    assert (first["grade"], first["parts_reproduced"], first["seeds"]) == ("B", 1, 30)
    part = first["parts"][0]
    assert (part["value"], part["measured"], part["band"], part["half"]) == (10.0, 13.0, [9.0, 11.0], 0.5)
    assert second["seen"]


def test_two_claims_with_one_id_are_refused(tmp_path):
    with pytest.raises(ValueError, match="one id"):
        claims.write([claim(), claim()], tmp_path / "c.json")


PLAIN = '[[claim]]\nid = "C-1"\nexperiment = "e"\nwhere = "w"\nstatement = "s"\nkind = "N"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "neither `parts` nor `not_testable`"),
        ("parts = [{ at = 'x' }]", "nothing can fail: give one of"),
        ("parts = [{ at = 'x', value = 1.0 }]", "a `value` has a `tolerance`"),
        ("parts = [{ at = 'x', value = 'a', tolerance = 1 }]", "`value` is a number"),
        ("parts = [{ at = 'x', value = 1.0, tolerance = 'some' }]", "tolerance 'some'"),
        ("parts = [{ at = 'x', tolerance = 1 , more_than = 0 }]", "a `tolerance` without a `value`"),
        ("parts = [{ at = 'x', range = [2, 1] }]", "the range 2 to 1 is empty"),
        ("parts = [{ at = 'x', more_than = 'a' }]", "`more_than` is a number"),
        ("parts = [{ at = 'x', sign = 'up' }]", "there are more, less"),
        ("parts = [{ at = 'x', above = 1 }]", "unknown `above`; there are at, "),
        ("parts = [{ at = 'x', same = 0.5 }, { at = 'x', same = 0.6 }]", "it stands there twice"),
        ("note = 'x'", "unknown `note`"),
        ("parts = [{ at = 'x', not_testable = '' }]", "nothing can fail"),
        ("parts = [{ at = 'x', more_than = 0, less_than = 10 }]", "cannot stand in one part"),
        ("parts = [{ at = 'x', value = 10, tolerance = 1, same = 100 }]", "cannot stand in one part"),
        ("parts = [{ at = 'x', value = 0, tolerance = 1 }]", "a `value` of 0 has no direction"),
        ("parts = [{ at = 'x', value = 1, tolerance = inf }]", "tolerance inf"),
        ("parts = [{ at = 'x', more_than = -inf }]", "`more_than` is a number"),
        ("parts = [{ at = 'x', same = -1 }]", "allowed are 0 and more"),
        ("parts = [{ at = 'x', more_than = 1, nothing = 2 }]", "`nothing` is 2; allowed is less than"),
        ("parts = [{ at = 'x', same = 1, nothing = 2 }]", "`nothing` stands beside `more_than`"),
        ("counted_with = 'C-1'\nparts = [{ at = 'x', same = 0.5 }]", "counted_with"),
    ],
)
def test_a_wrong_list_is_refused(tmp_path, text, message):
    (tmp_path / "claims.toml").write_text(PLAIN + text)
    with pytest.raises(PlanError, match=message):
        catalogue.load(tmp_path / "claims.toml")


def test_sorts_follow_from_kind_and_place(tmp_path):
    parts = "parts = [{ at = 'x', value = 2.0, tolerance = '15 %' }]\n"

    def sort(kind, where="w", study="004"):
        text = PLAIN.replace('kind = "N"', f'kind = "{kind}"').replace('where = "w"', f'where = "{where}"')
        (tmp_path / "claims.toml").write_text(text + parts)
        return catalogue.load(tmp_path / "claims.toml", study=study)["C-1"]

    assert [sort(kind).counts_as for kind in "NSDT"] == ["published", "published", "derived", "consistency"]
    assert sort("N", where="own: beyond").counts_as == sort("N", study="own").counts_as == "own"
    assert sort("N").parts[0].tolerance == pytest.approx((0.3, 0.3))
