"""The satellite study's judges, on made-up runs: right ones pass, wrong ones fail."""

import dataclasses
import sys

import fake
import pytest

from anabranch_lab.judge import experiment, grades
from anabranch_lab.plan import catalogue
from anabranch_lab.run import grid
from anabranch_lab.run.results import Results

IDS = ["L-T2-util", "L-T2-gam", "L-T2-del", "L-F3", "L-F4", "L-F5", "L-F67", "L-F8", "L-F9", "L-C1"]


def close_up(satellite, tmp_path, sweep):
    """Results of one sweep of the study alone."""
    only = dataclasses.replace(satellite, sweeps=(satellite.sweep(sweep),))
    results = Results(only, tmp_path / "results", code="fake")
    fake.run(results)
    return results


@pytest.fixture(scope="session")
def modules(satellite):
    """The experiment's own modules."""
    experiment._module(satellite)
    return {
        name: sys.modules[f"anabranch_experiments_satellite_2005.{name}"]
        for name in ("data", "judge", "recorded")
    }


@pytest.fixture(scope="session")
def builder(made_up):
    """The builder with which the judges make their claims."""
    return experiment.claim_builder(made_up)


def shares(modules, share, n=30, spread=0.2, util=10.0):
    """Runs in which SCTP has such a share at each loss probability; numbers, or functions of the probability."""
    cells = {}
    for p in modules["data"].published():
        mean, whole = (each(p) if callable(each) else each for each in (share, util))
        offsets = [spread * ((i % 5) - 2) for i in range(n)]
        both = [(whole + o) / 100 * modules["data"].BOTTLENECK for o in offsets]
        parts = [(mean + o) / 100 for o in offsets]
        cells[(p,)] = {
            "seed": list(range(1, n + 1)),
            "sctp": [part * all_of_it for part, all_of_it in zip(parts, both, strict=True)],
            "tcp": [(1 - part) * all_of_it for part, all_of_it in zip(parts, both, strict=True)],
        }
    return modules["data"].Shares(grid.Grid(("p",), ("tcp", "sctp"), cells))


@pytest.fixture
def printed(builder):
    """The published values of a column of Table 2, by loss probability."""

    def values(identifier):
        parts = builder._entries[identifier].parts
        return {float(part.at.removeprefix("p = ")): part.value for part in parts}

    return {"share": values("L-T2-gam").__getitem__, "util": values("L-T2-util").__getitem__}


def test_every_claim_is_judged(analysed):
    assert [claim.id for claim in analysed.claims] == IDS
    for claim in analysed.claims:
        assert claim.record()["grade"] in grades.WORDS


def test_shares_as_printed_are_reproduced_and_shares_of_one_half_are_not(modules, builder, printed):
    judge = modules["judge"]

    def grade(less=0.0):
        runs = shares(modules, lambda p: printed["share"](p) + 0.6 - less)
        return judge.table_2(builder, "L-T2-gam", runs, "share").grade

    assert grade() == "A"
    assert grade(less=6.0) == "D"


def test_utilisation_has_its_own_tolerance(modules, builder, printed):
    judge = modules["judge"]
    right = judge.table_2(builder, "L-T2-util", shares(modules, 55, util=printed["util"]), "util")
    assert right.grade == "A"
    assert judge.table_2(builder, "L-T2-util", shares(modules, 55, util=25.0), "util").grade == "B"
    # With headers the same runs use more of the link.
    (wire,) = right.readings.values()
    assert all(
        1.02 < more.measured / part.measured < 1.04 for more, part in zip(wire, right.parts, strict=True)
    )


def test_a_peak_is_seen_where_there_is_one_and_not_where_there_is_none(modules, builder, printed):
    judge = modules["judge"]
    assert judge.peak(builder, shares(modules, lambda p: 56.0 if p == 0.01 else 54.0)).grade == "A"
    assert judge.peak(builder, shares(modules, lambda p: 50.0 + 100 * p)).grade == "D"


def test_few_seeds_reproduce_nothing(modules, builder, printed):
    few = shares(modules, lambda p: printed["share"](p) + 0.6, n=4)
    assert modules["judge"].table_2(builder, "L-T2-gam", few, "share").grade == grades.NOT_JUDGED


def test_the_erratum_of_table_2(modules, builder):
    claim = modules["judge"].delta(builder)
    by_row = {part.at: part for part in claim.parts}
    assert by_row["p = 0.008"].measured == pytest.approx(0.8, abs=0.05)
    assert by_row["p = 0.008"].grade == "B"
    assert claim.counts_as == catalogue.CONSISTENCY


def test_an_advantage_that_shrinks_and_one_that_does_not(modules, builder):
    judge = modules["judge"]
    study = shares(modules, 54.0)

    def grade(with_limited_transmit):
        sweeps = {"study-common": study, "three-reports": study, "limited-transmit": with_limited_transmit}
        return judge.ablation(builder, sweeps).grade

    assert grade(shares(modules, 53.0)) == "A"
    assert grade(shares(modules, 55.0)) == "D"


def test_the_close_ups_of_the_text_are_reproduced(analysed):
    by_id = {claim.id: claim for claim in analysed.claims}
    for each in ("L-F8", "L-F9"):
        assert by_id[each].grade == "A", by_id[each].short
        assert by_id[each].counts_as == catalogue.CALIBRATED


def test_limited_transmit_is_not_figure_8(satellite, tmp_path, modules, monkeypatch, builder):
    original = fake.figure_8
    monkeypatch.setattr(fake, "figure_8", lambda: original(limited_transmit=True))
    claim = modules["judge"].tcp_close_up(builder, close_up(satellite, tmp_path, "figure-8"))
    assert claim.grade == "D"
    assert {part.at for part in claim.short} == {f"after duplicate {n}" for n in (1, 2, 5, 6, 7)}


def test_three_reports_are_not_figure_9(satellite, tmp_path, modules, monkeypatch, builder):
    original = fake.figure_9
    monkeypatch.setattr(fake, "figure_9", lambda: original(retransmit_on=3))
    claim = modules["judge"].sctp_close_up(builder, close_up(satellite, tmp_path, "figure-9"))
    assert claim.grade == "D"


class Recorded:
    """Results that have only the rows of recorded flows, the same for every sweep."""

    def __init__(self, plan, rows):
        self.plan, self._rows = plan, rows

    def rows(self, sweep, sql, kind=None, at=None):
        return self._rows


def varied(value, n=30):
    """Returns `n` values around one."""
    return [value + 0.1 * ((i % 5) - 2) for i in range(n)]


def test_bins_that_are_empty_and_bins_that_are_not(satellite, modules, builder):
    judge = modules["judge"].zero_bins

    def grade(values):
        return judge(builder, Recorded(satellite, [{"zero": value, "bins": 400} for value in values])).grade

    assert grade(varied(40.0)) == "A"
    assert grade(varied(0.5)) == "D"
    # In every other run none at all.
    assert grade([0.0, 2.0] * 15) == "C"
    assert grade(varied(40.0, 4)) == grades.NOT_JUDGED


def test_who_is_ahead(satellite, modules, builder):
    judge = modules["judge"].sequence

    def grade(values):
        return judge(builder, Recorded(satellite, [{"packets": value} for value in values])).grade

    assert grade(varied(300.0)) == "A"
    assert grade(varied(-300.0)) == "D"
    # As often ahead as behind.
    assert grade([500.0, -500.0] * 15) == "C"


@pytest.mark.parametrize(
    ("change", "fails"),
    [
        ({}, []),
        ({"high": 60.0}, ["highest window"]),
        ({"low": 0.2}, ["lowest window"]),
        ({"by_event": 12.0}, ["average over events"]),
        ({"by_event": 5.0}, ["average over events"]),
    ],
)
@pytest.mark.parametrize("flow", ["tcp", "sctp"])
def test_windows_as_in_the_figures_and_other_ones(satellite, modules, builder, flow, change, fails):
    rows = []
    for each in ("tcp", "sctp"):
        right = {"low": 1.5, "high": 19.0, "by_event": 8.0, "by_time": 9.0, "flight": 10.0}
        wrong = {**right, **(change if each == flow else {})}
        columns = {name: varied(value) for name, value in wrong.items()}
        rows += [{"flow": each, **{name: column[i] for name, column in columns.items()}} for i in range(30)]
    claim = modules["judge"].windows(builder, Recorded(satellite, rows))
    assert [part.at for part in claim.short] == [f"{flow.upper()}, {at}, packets" for at in fails]
    assert claim.grade == ("B" if fails else "A")


def test_an_empty_bin_is_counted(made_up):
    from anabranch_experiments_satellite_2005 import recorded

    rows = made_up.rows("recorded", recorded.BINS, kind="trace")
    assert [row["bins"] for row in rows] == [400] * 30
    sent = made_up.rows("recorded", "SELECT seed, time_ns FROM runs WHERE kind = 'sent'", kind="trace")
    full = {(row["seed"], row["time_ns"] // 100_000_000) for row in sent}
    for row in rows:
        busy = sum((row["seed"], index) in full for index in range(1000, 1400))
        assert row["zero"] == 400 - busy > 0
