import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch_lab.judge import claims
from anabranch_lab.run.grid import Curve, Sample
from anabranch_lab.stats import Estimate


def measured(mean, half=0.5, n=30):
    return Estimate(mean, half, n, 1.0)


def claim(*parts, **more):
    return claims.Claim(
        id=more.pop("id", "X-1"), study="000", where="Table 1", statement="s", kind="N", tolerance="1", engine="e",
        seeds=30, parts=list(parts), **more,
    )  # fmt: skip


@given(st.floats(-50, 50), st.floats(0, 5), st.floats(0, 5), st.floats(-20, 20))
def test_a_number_holds_exactly_within_interval_and_tolerance(mean, half, tolerance, off):
    distance = half + tolerance
    part = claims.number("", mean + off, measured(mean, half), tolerance)
    if abs(abs(off) - distance) > 1e-9:
        # What holds by an interval wider than its tolerance is not known.
        known = tolerance == 0 or half <= tolerance
        assert part.holds == (known and abs(off) < distance)
        assert part.judged


def test_a_wide_interval_refutes_and_does_not_confirm():
    far, near = (claims.number("", printed, measured(14.0, 2.0), 1.0) for printed in (10.0, 11.5))
    assert far.judged
    assert not far.holds
    assert near.judged
    assert not near.holds
    assert "undecided" in near.detail
    assert "±2" in near.detail
    assert claims.number("", 11.5, measured(12.0, 0.9), 1.0).holds
    # One side of a tolerance may be 0: the other counts.
    assert claims.number("", 10.0, measured(10.5, 0.9), 0.0, above=1.0).holds
    assert not claims.number_in("", 5.0, 7.0, measured(6.0, 3.0)).holds
    assert claims.number_in("", 5.0, 7.0, measured(4.5, 0.9)).holds


def test_a_slope_that_is_hardly_known_is_not_flat():
    def curve(noise):
        rows = [
            [100.0 + (noise if (seed + x) % 2 else -noise) * (1 + x) for x in range(5)] for seed in range(30)
        ]
        return Curve(tuple(float(x) for x in range(5)), tuple(range(30)), np.array(rows))

    assert claims.flat("", curve(1.0)).holds
    assert not claims.flat("", curve(60.0)).holds


def test_undecided_says_so():
    assert "undecided" in claims.above("", 0.0, measured(0.1, 0.2)).detail
    assert not claims.above("", 0.0, measured(-0.1, 0.2)).detail


def test_a_wrong_value_fails():
    assert claims.number("", 17.8, measured(18.9), 1.0).holds
    assert not claims.number("", 17.8, measured(19.4), 1.0).holds
    assert not claims.number("", 56.3, measured(53.0), 2.0).holds


def test_few_seeds_judge_nothing_however_wide_their_interval():
    part = claims.number("", 10.0, measured(10.0, 5.0, n=29), 1.0)
    assert not part.holds
    assert "29 seeds" in part.detail
    assert not claims.above("", 0.0, measured(10.0, 1.0, n=5)).holds


def test_an_inequality_needs_its_whole_interval():
    assert claims.above("", 50.0, measured(51.0, 0.9)).holds
    assert not claims.above("", 50.0, measured(51.0, 1.1)).holds
    assert not claims.above("", 50.0, measured(49.0, 0.1)).holds


def test_at_least_lets_two_be_the_same():
    assert claims.at_least("", 0.0, measured(0.0, 0.0), 0.1).holds
    assert claims.at_least("", 0.0, measured(0.03, 0.06), 0.1).holds
    assert not claims.at_least("", 0.0, measured(-0.01, 0.005), 0.1).holds
    assert not claims.at_least("", 0.0, measured(0.03, 0.2), 0.1).holds


def test_what_is_undecided_does_not_point_the_other_way():
    undecided, wrong = claims.above("a", 0.0, measured(0.1, 0.2)), claims.above("b", 0.0, measured(-0.1, 0.2))
    assert claim(undecided, wrong).contrary == [wrong]


def test_by_its_mean_a_part_holds_whatever_its_interval():
    """With two seeds an interval is so wide that a tolerance always holds and an order never does."""
    wide = measured(51.0, 40.0, n=2)
    wrong, right = claims.number("", 40.0, wide, 2.0), claims.above("", 50.0, wide)
    assert (wrong.by_mean, right.by_mean) == (False, True)
    assert not (right.holds)
    assert not (wrong.judged)
    assert claims.number("", 50.0, wide, 2.0).by_mean
    assert not claims.below("", 50.0, wide).by_mean
    assert claims.within("", 50.0, 52.0, wide).by_mean
    assert not claims.within("", 52.0, 53.0, wide).by_mean
    assert claims.equal("", measured(0.1, 9.0, n=2), 0.2).by_mean
    assert claims.number_in("", 51.0, 60.0, wide).by_mean
    assert not claims.number_in("", 52.0, 60.0, wide).by_mean
    assert claims.sign_test("", "", Sample((1, 2, 3), (1.0, 2.0, -1.0))).by_mean
    assert not claims.above("", 0.0, measured(math.nan, math.nan)).by_mean


def test_exact_and_arithmetic():
    assert claims.exact("", [1, 2], [1, 2]).holds
    assert not claims.exact("", [1, 2], [2, 1]).holds
    assert claims.arithmetic("", 14.1, 14.13, 0.05).holds
    assert not claims.arithmetic("", 6.1, 0.8, 0.3).holds


def test_one_failing_part_fails_the_claim():
    good, bad = claims.exact("a", 1, 1), claims.exact("b", 1, 2)
    assert claim(good, good).verdict == claims.REPRODUCED
    assert claim(good, bad).verdict == claims.NOT_REPRODUCED


def test_a_claim_with_a_part_that_was_not_judged_is_not_judged():
    few = claims.number("", 10.0, measured(10.0, n=29), 1.0)
    good, bad = claims.exact("a", 1, 1), claims.exact("b", 1, 2)
    assert (few.judged, few.word, good.word, bad.word) == (False, claims.NOT_JUDGED, "holds", "fails")
    # Neither a part that holds nor one that fails makes a verdict of few runs.
    for parts in ((few,), (few, good), (few, bad)):
        found = claim(*parts, evidence=["sweep"])
        assert found.verdict == claims.NOT_JUDGED
        assert found.tested
        assert claims.held(parts) == claims.NOT_JUDGED
    assert claims.count([claim(few), claim(good), claim(bad)]) == {
        **dict.fromkeys(claims.VERDICTS, 0),
        claims.REPRODUCED: 1, claims.NOT_REPRODUCED: 1, claims.NOT_JUDGED: 1,
    }  # fmt: skip
    record = claim(few).record()
    assert record["verdict"] == claims.NOT_JUDGED
    assert record["parts"][0]["judged"] is False
    assert claims.held([good, bad]) == "1 of 2 hold"


def test_words_about_few_runs_are_not_judged_either():
    assert claims.condition("", "x", "y", True, seeds=29).word == claims.NOT_JUDGED
    assert claims.condition("", "x", "y", True, seeds=30).word == "holds"
    assert claims.condition("", "x", "y", False).word == "fails"


def variant(*parts, says=claims.OPEN):
    return claims.Explanation(
        "why", ("sweep",), parts, claims.Variant("the jitter", says, "nothing", ("sweep",))
    )


def test_an_explanation_covers_every_part_that_fails_by_its_own_rule():
    good, again = (claims.number("a", 10.0, measured(value), 1.0) for value in (10.0, 10.1))
    first, second = (claims.number(at, 10.0, measured(12.0), 1.0) for at in ("b", "c"))
    mended = {at: claims.number(at, 10.0, measured(10.4), 1.0) for at in ("b", "c")}

    def verdict(*explanations):
        whole = [replace(each, parts=(*each.parts, again)) for each in explanations]
        return claim(good, first, second, explanations=whole).verdict

    assert verdict() == claims.NOT_REPRODUCED
    assert verdict(variant(mended["b"], mended["c"])) == claims.EXPLAINED
    # One part is missing; or two explanations would have to share the work.
    assert verdict(variant(mended["b"])) == claims.NOT_REPRODUCED
    assert verdict(variant(mended["b"]), variant(mended["c"])) == claims.NOT_REPRODUCED
    # Another place, another tolerance, another number, another kind of test, too few seeds, a part that fails again.
    for other in (
        claims.number("c, in step", 10.0, measured(10.4), 1.0),
        claims.number("c", 10.0, measured(10.4), 2.0),
        claims.number("c", 10.4, measured(10.4), 1.0),
        claims.within("c", 9.0, 11.0, measured(10.4)),
        claims.condition("c", "10", "10.4", True),
        claims.number("c", 10.0, measured(10.4, n=29), 1.0),
        second,
    ):
        assert verdict(variant(mended["b"], other)) == claims.NOT_REPRODUCED
    # Runs that are no variant, and a variant that changes what is printed.
    assert verdict(claims.Explanation("why", ("sweep",), tuple(mended.values()))) == claims.NOT_REPRODUCED
    assert verdict(variant(*mended.values(), says=claims.PRINTED)) == claims.NOT_REPRODUCED
    # What the publication has, and the judged runs have not, is a fault of the judged runs.
    assert verdict(variant(*mended.values(), says=claims.AS_PRINTED)) == claims.NOT_REPRODUCED
    # A value that was chosen so that the answer comes out.
    assert verdict(variant(*mended.values(), says=claims.FITTED)) == claims.NOT_REPRODUCED
    # Thirty runs that are one.
    assert verdict(variant(*mended.values(), says=claims.LOCKED)) == claims.NOT_REPRODUCED
    assert verdict(variant(*mended.values(), says=claims.ERRATUM)) == claims.EXPLAINED
    # What was tried and what explains stand side by side.
    both = claim(
        good, first, second, explanations=(variant(again, first, second), variant(again, *mended.values()))
    )
    assert (both.verdict, len(both.tried)) == (claims.EXPLAINED, 1)
    assert both.record()["explanation"]["holds"]
    assert both.record()["tried"][0]["not_covered"] == ["b", "c"]
    # It cannot make a claim better than it is.
    assert claim(good, explanations=(variant(good),)).verdict == claims.REPRODUCED


def test_an_explanation_breaks_no_part_that_held():
    good, bad = claims.number("a", 10.0, measured(10.0), 1.0), claims.number("b", 10.0, measured(12.0), 1.0)
    again = claims.number("a", 10.0, measured(10.1), 1.0)
    broken, mended = (
        claims.number("a", 10.0, measured(12.0), 1.0),
        claims.number("b", 10.0, measured(10.4), 1.0),
    )
    few = claims.number("a", 10.0, measured(10.0, n=29), 1.0)
    assert claim(good, bad, explanations=(variant(again, mended),)).verdict == claims.EXPLAINED
    # What held before fails in the variant; was judged by too few runs; by another rule; or nobody looked.
    for parts in (
        (broken, mended),
        (few, mended),
        (claims.within("a", 9.0, 11.0, measured(10.0)), mended),
        (mended,),
        # Twice there, once by runs that do not agree.
        (again, broken, mended),
    ):
        found = claim(good, bad, explanations=(variant(*parts),))
        assert found.verdict == claims.NOT_REPRODUCED
        assert found.record()["tried"][0]["not_covered"] == ["a"]


def test_the_baseline_read_again_explains_nothing():
    good, bad = claims.number("a", 10.0, measured(10.0), 1.0), claims.number("b", 10.0, measured(12.0), 1.0)
    mended = claims.number("b", 10.0, measured(10.4), 1.0)
    found = claim(good, bad, explanations=(variant(good, mended),))
    assert found.verdict == claims.NOT_REPRODUCED
    assert found.record()["tried"][0]["not_covered"] == ["a"]
    # Unless it is said that the variant cannot touch it; a part that fails cannot hold by being read again.
    said = replace(variant(good, mended), unchanged=("a",))
    assert claim(good, bad, explanations=(said,)).verdict == claims.EXPLAINED
    assert claim(good, bad, explanations=(said,)).record()["explanation"]["unchanged"] == ["a"]
    lazy = replace(variant(good, bad), unchanged=("a", "b"))
    assert claim(good, bad, explanations=(lazy,)).verdict == claims.NOT_REPRODUCED


def test_only_what_was_published_can_be_reproduced():
    good, bad = claims.exact("b", 2, 2), claims.exact("b", 1, 2)
    for sort in (claims.OWN, claims.CALIBRATED, claims.CONSISTENCY):
        assert claim(good, counts_as=sort).verdict == claims.HOLDS
        assert claim(bad, counts_as=sort).verdict == claims.DOES_NOT_HOLD
        explained = claim(bad, counts_as=sort, explanations=(variant(claims.exact("b", 1, 1)),))
        assert explained.verdict == claims.DOES_NOT_HOLD
    assert claim().verdict == claims.NOT_JUDGED
    # A quick look judges arithmetic only.
    assert claim(good, quick=True).verdict == claims.NOT_JUDGED
    assert claim(good, quick=True, counts_as=claims.CONSISTENCY).verdict == claims.HOLDS
    counted = claims.totals([claim(good), claim(bad), claim(bad, counts_as=claims.OWN)])
    assert counted[claims.PUBLISHED][claims.REPRODUCED] == counted[claims.OWN][claims.DOES_NOT_HOLD] == 1
    assert sum(counted[claims.CALIBRATED].values()) == 0


def test_few_runs_tell_a_sign_that_is_reversed():
    def few(mean, sd=0.1):
        return Estimate(mean, 9.9, 2, sd)

    assert claims.above("", 0.0, few(-1.0)).contrary
    assert not claims.above("", 0.0, few(1.0)).contrary
    # What one run differs from another is no sign.
    assert not claims.above("", 0.0, few(-0.05)).contrary
    assert claims.below("", 0.0, few(1.0)).contrary
    assert not claims.below("", 0.0, few(-1.0)).contrary
    assert claims.number("", 3.4, few(-1.0), 1.5).contrary
    assert claims.number("", -0.5, few(0.5), 0.1).contrary
    assert not claims.number("", 3.4, few(9.0), 1.5).contrary
    assert claims.within("", 0.9, 1.1, few(-1.0)).contrary
    assert not claims.within("", 0.0, 0.0, few(1.0)).contrary
    found = claim(
        claims.above("a", 0.0, few(-1.0)), claims.above("b", 0.0, few(1.0)), claims.exact("c", 1, 2)
    )
    assert [part.at for part in found.contrary] == ["a", "c"]


def test_claims_json_has_every_field(tmp_path):
    path = tmp_path / "out" / "claims.json"
    claims.write(
        [claim(claims.number("p = 0.01", 1.0, measured(1.2), 0.1)), claim(claims.exact("b", 1, 2), id="X-2")],
        path,
    )
    first, second = json.loads(path.read_text())
    for field in [
        "id",
        "study",
        "where",
        "statement",
        "kind",
        "expected",
        "tolerance",
        "measured",
        "ci95",
        "seeds",
        "engine",
        "verdict",
        "note",
    ]:
        assert field in first
    assert (first["expected"], first["measured"], first["ci95"]) == (1.0, 1.2, 0.5)
    assert second["verdict"] in claims.VERDICTS


def test_two_claims_with_one_id_are_refused(tmp_path):
    with pytest.raises(ValueError, match="one id"):
        claims.write([claim(claims.exact("", 1, 1)), claim(claims.exact("", 1, 1))], tmp_path / "c.json")


def test_runs_without_chance_are_judged_by_one_value():
    assert claims.certain("t", 3.0, 3.14, 0.15).holds
    assert not claims.certain("t", 3.0, 3.16, 0.15).holds
    assert not claims.certain("t", 3.0, 2.84, 0.15, above=1.0).holds
    assert claims.certain("t", 3.0, 3.9, 0.15, above=1.0).holds
    unmeasured = claims.certain("t", 3.0, math.nan, 0.15)
    assert not unmeasured.holds
    assert unmeasured.measured == "not a number"
