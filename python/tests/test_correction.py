"""Grades of several claims with one correction for all of them."""

import math

from anabranch_lab.judge import correction, grades
from anabranch_lab.judge.claims import ClaimBuilder
from anabranch_lab.judge.comparison import Signs
from anabranch_lab.plan.catalogue import OWN, Entry, Expected
from anabranch_lab.run.grid import Sample
from anabranch_lab.stats import LEAST, Estimate


def claims(*measured):
    entries = {
        f"X-{n}": Entry(f"X-{n}", "here", "own", "s", "S", parts(each), counts_as=OWN)
        for n, each in enumerate(measured)
    }
    builder = ClaimBuilder("own", "", entries)
    return [builder.claim(f"X-{n}", {"a": each}) for n, each in enumerate(measured)]


def parts(measured):
    return (Expected("a", sign="more") if isinstance(measured, Signs) else Expected("a", more_than=0.0),)


def clear(t):
    """Ten seeds whose mean is so many standard errors above 0."""
    sd = 1.0
    return Estimate(t * sd / math.sqrt(10), 2.262157 * sd / math.sqrt(10), 10, sd, LEAST)


def test_what_is_clear_stays_and_what_is_narrow_becomes_open():
    # By itself 2.5 standard errors are enough (p = 0.034), among twenty they are not.
    every = claims(clear(2.5), *(clear(20.0) for _ in range(10)), *(clear(2.5) for _ in range(9)))
    assert {claim.grade for claim in every} == {grades.A}
    found = correction.grade(every)
    assert [found[f"X-{n}"] for n in range(1, 11)] == [grades.A] * 10
    assert found["X-0"] == found["X-15"] == grades.C


def test_one_claim_by_itself_keeps_its_grade():
    for measured in (
        clear(2.5),
        clear(1.0),
        clear(-9.0),
        1.0,
        -1.0,
        Signs(Sample(tuple(range(12)), (1.0,) * 12)),
    ):
        (claim,) = claims(measured)
        assert correction.grade([claim]) == {claim.id: claim.grade}, measured


def test_what_has_too_few_seeds_stays_unjudged():
    (claim,) = claims(Estimate(5.0, 0.1, 3, 0.04, LEAST))
    assert claim.grade == grades.NOT_JUDGED
    assert correction.grade([claim, *claims(clear(20.0))[:0]]) == {claim.id: grades.NOT_JUDGED}
