"""Every judge of every study, on made-up results: in those where its claim holds it says so, and each of its parts can fail."""

import functools
import math
import sys

import made_up
import pytest
import worlds_own
import worlds_pages
import worlds_reference
import worlds_short_flows
import worlds_thesis
from test_satellite import IDS as SATELLITE

from anabranch_lab.judge import experiment, grades
from anabranch_lab.models import renewal
from anabranch_lab.plan import catalogue, folders
from anabranch_lab.run import series

ROOT = folders.root() / "experiments"
WORLDS = {
    **worlds_thesis.WORLDS,
    **worlds_reference.WORLDS,
    **worlds_short_flows.WORLDS,
    **worlds_pages.WORLDS,
    **worlds_own.WORLDS,
}
LOADED, STUDIES = functools.cache(folders.load), functools.cache(folders.study_at)


@pytest.fixture(autouse=True)
def looks(monkeypatch, request):
    """Measures of samples and of packets are made up like everything else."""
    monkeypatch.setattr(series, "measure", lambda results, sweep, look, **_: results.grid(sweep, {}))
    # The same files would be read some thousand times.
    monkeypatch.setattr(folders, "load", LOADED)
    monkeypatch.setattr(folders, "study_at", STUDIES)
    monkeypatch.setattr(renewal, "steady", worlds_thesis.steady)
    if "web-objects-2005/" not in request.node.name:
        return
    experiment._module(made_up.plan("web-objects-2005/traces"))
    package = "anabranch_experiments_web_objects_2005"
    packets, judge, tables = (
        sys.modules[f"{package}.{name}"] for name in ("common.packets", "traces.judge", "traces.tables")
    )
    monkeypatch.setattr(packets, "measure", lambda results, sweep: results.grid(sweep, {}))
    monkeypatch.setattr(packets, "logs", logs)
    # A log here is the rows of Table 5.1 themselves.
    monkeypatch.setattr(judge, "rows_5_1", lambda log: log)
    monkeypatch.setattr(tables, "table_5_1", lambda log: None)


def logs(results, sweep, at):
    """For each seed the values of a log in Table 5.1."""
    runs = results.grid(sweep, {})
    found = {name: runs.sample(name, **at).values for name in worlds_pages.TABLE_5_1}
    return {seed: {name: found[name][seed - 1] for name in found} for seed in made_up.SEEDS}


def judged(name, bend=None):
    """The claims that have results: arithmetic of printed numbers has none, and tests of its own (test_printed.py)."""
    analysis, made = made_up.judged(name, WORLDS, bend)
    return [claim for claim in analysis.claims if claim.counts_as != catalogue.CONSISTENCY], made


def parts(found):
    return {
        (claim.id, part.at): part.grade == grades.A
        for claim in found
        for part in claim.parts
        if part.grade != grades.N
    }


EXPERIMENTS = [name for name in WORLDS if not name.endswith("exp-17")]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_judge_says_yes_and_each_of_its_parts_can_say_no(name):
    good, made = judged(name)
    # A correct replica passes: no comparison is beyond its reach.
    assert not [
        (claim.id, part) for claim in good for part in claim.parts if part.grade not in (grades.A, grades.N)
    ]
    left = set(parts(good))
    tried = 0
    for bend in made_up.bends(made):
        if not left:
            break
        tried += 1
        try:
            bad, _ = judged(name, bend)
        except (ValueError, ZeroDivisionError):
            # Such results are impossible: they give a logarithm of a negative number.
            continue
        seen = parts(bad)
        # Only the first of the parts that fail for one cause is reported.
        left = {place for place in left if seen.get(place, False)}
    assert not left, f"none of {tried} bends makes these fail: {sorted(left)}"


def test_every_claim_has_a_judge_that_is_tested():
    catalogued = {
        entry.id: entry
        for study in folders.studies(ROOT)
        for entry in study.claims.values()
        if entry.counts_as != catalogue.CONSISTENCY
    }
    tested = {
        entry.id for entry in catalogued.values() if f"{study_of(entry)}/{entry.experiment}" in EXPERIMENTS
    }
    assert set(catalogued) - tested == set(SATELLITE) - {"L-T2-del"}


def study_of(entry):
    """The study of an experiment's claim."""
    return next(study.name for study in folders.studies(ROOT) if study.claims.get(entry.id) == entry)


def test_what_was_never_there_does_not_vanish():
    """Peaks at 8 and 20 in the baseline instead of 12 and 17: nothing at 12 and 17 vanishes, with any change of the stack."""
    name = "loss-position-2006/tcp"
    world = WORLDS[name]

    def elsewhere(sweep, measure, at):
        moved = {8: 12, 12: 8, 17: 20, 20: 17}
        low = worlds_short_flows.place_of(at) == "low" and at.get("case") == "baseline"
        return world(
            sweep, measure, {**at, "position": moved.get(at["position"], at["position"])} if low else at
        )

    elsewhere.records = world.records
    analysis, _ = made_up.judged(name, {name: elsewhere})
    found = {claim.id: claim for claim in analysis.claims}
    for each in ("H-T-8", "H-T-9"):
        # Both fail for one cause, and are one part.
        assert [part.at for part in found[each].short] == ["low, baseline, 12 lost: a peak"]
        assert found[each].grade == grades.D
        assert found[each].entry.counted_with == "H-T-3"


@pytest.mark.parametrize(("deviations", "holds"), [(2.4, False), (3.5, True)])
def test_one_sign_of_eight_is_found_by_chance(deviations, holds):
    """XVIII: somewhat more with 2 n^2 at one place of eight, and much less at another: both signs, if the first is more than chance."""
    name = "sf-sctp-2007/exp-18"
    world = WORLDS[name]

    def signs(sweep, measure, at):
        value = world(sweep, measure, at)
        if measure != "sf" or at.get("phi") != "2n^2":
            return value
        apart = {("b-slow", 4): deviations, ("a-slow", 8): -10.0}.get((sweep, at["n"]))
        if apart is None:
            return value
        # Half above and half below, the mean so many standard errors from that of n^2.
        half, error = 0.05, 0.05 / math.sqrt(len(made_up.SEEDS) - 1)
        return tuple(value + apart * error + (half if seed % 2 else -half) for seed in made_up.SEEDS)

    claim = next(c for c in made_up.judged(name, {**WORLDS, name: signs})[0].claims if c.id == "Z-XVIII-5")
    assert [part.grade for part in claim.parts[:-1]] == [grades.A] * 8
    assert (claim.parts[-1].grade == grades.A) == holds, claim.parts[-1].measured
