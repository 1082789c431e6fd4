"""The satellite study's judges, on made-up runs: right ones pass, wrong ones fail."""

import dataclasses
import sys

import fake
import pytest

from anabranch_lab.judge import claims, experiment
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
    """What the judges make their claims with."""
    return experiment.claim_builder(made_up)


def cell(modules, share, n=30, spread=0.2, util=10.0):
    offsets = [spread * ((i % 5) - 2) for i in range(n)]
    shares = tuple(share + o for o in offsets)
    return modules["data"].Cell(
        share=shares, delta=tuple(100 * (2 * s - 100) / (100 - s) for s in shares), util=tuple(util + o for o in offsets),
        engines=("t", "s"),
    )  # fmt: skip


def same_as_printed(modules, **change):
    data = modules["data"]
    study = {
        p: cell(modules, row["sctp_pct"] + change.get("share", 0), util=row["util_pct"])
        for p, row in data.published().items()
    }
    judge = modules["judge"]
    again = [sweep for pair in judge.ABLATIONS for sweep in pair]
    return dict.fromkeys(("study", "limited-transmit", "three-reports", *judge.OTHERS, *again), study)


def test_every_claim_is_judged(analysed):
    assert [claim.id for claim in analysed.claims] == IDS
    for claim in analysed.claims:
        assert claim.record()["verdict"] in claims.VERDICTS


def test_shares_as_printed_are_reproduced_and_shares_of_one_half_are_not(modules, builder):
    judge = modules["judge"]
    assert judge.share(builder, same_as_printed(modules, share=0.6)).verdict == claims.REPRODUCED
    assert judge.share(builder, same_as_printed(modules, share=-6)).verdict == claims.NOT_REPRODUCED


def test_utilisation_has_its_own_tolerance(modules, builder):
    sweeps = same_as_printed(modules)
    assert modules["judge"].utilisation(builder, sweeps).verdict == claims.REPRODUCED
    sweeps = {name: {p: cell(modules, 55, util=25.0) for p in cells} for name, cells in sweeps.items()}
    assert modules["judge"].utilisation(builder, sweeps).verdict == claims.NOT_REPRODUCED


def test_a_peak_is_seen_where_there_is_one_and_not_where_there_is_none(modules, builder):
    judge = modules["judge"]
    assert judge.peak(builder, same_as_printed(modules)).verdict != claims.NOT_REPRODUCED
    assert judge.has_peak(same_as_printed(modules)["study"]) is True
    flat = {
        name: {p: cell(modules, 54, spread=1.0) for p in cells}
        for name, cells in same_as_printed(modules).items()
    }
    assert judge.peak(builder, flat).verdict != claims.REPRODUCED


def test_few_seeds_reproduce_nothing(modules, builder):
    data = modules["data"]
    study = {p: cell(modules, row["sctp_pct"] + 0.6, n=5) for p, row in data.published().items()}
    sweeps = dict.fromkeys(same_as_printed(modules), study)
    assert modules["judge"].share(builder, sweeps).verdict == claims.NOT_JUDGED


def test_the_erratum_of_table_2(modules, builder):
    claim = modules["judge"].delta(builder)
    by_row = {part.at: part for part in claim.parts}
    assert by_row["p = 0.008"].measured == pytest.approx(0.8, abs=0.05)
    assert not by_row["p = 0.008"].holds
    assert (claim.counts_as, claim.verdict) == (claims.CONSISTENCY, claims.DOES_NOT_HOLD)
    assert "51.5" in claim.note


def test_an_advantage_that_shrinks_and_one_that_does_not(modules, builder):
    judge, sweeps = modules["judge"], same_as_printed(modules)
    assert judge.ablation(builder, sweeps).verdict == claims.NOT_REPRODUCED
    weaker = {p: cell(modules, row["sctp_pct"] - 3) for p, row in modules["data"].published().items()}
    assert judge.ablation(builder, {**sweeps, "same-scheme": weaker}).verdict == claims.REPRODUCED


def test_the_close_ups_of_the_text_are_reproduced(analysed):
    by_id = {claim.id: claim for claim in analysed.claims}
    assert by_id["L-F8"].verdict == claims.REPRODUCED, [p for p in by_id["L-F8"].parts if not p.holds]
    assert by_id["L-F9"].verdict == claims.REPRODUCED, [p for p in by_id["L-F9"].parts if not p.holds]


def test_limited_transmit_is_not_figure_8(satellite, tmp_path, modules, monkeypatch, builder):
    original = fake.figure_8
    monkeypatch.setattr(fake, "figure_8", lambda: original(limited_transmit=True))
    claim = modules["judge"].tcp_close_up(builder, close_up(satellite, tmp_path, "figure-8"))
    assert claim.verdict == claims.NOT_REPRODUCED
    assert [part.at for part in claim.parts if not part.holds] == ["sent after each duplicate"]


def test_three_reports_are_not_figure_9(satellite, tmp_path, modules, monkeypatch, builder):
    original = fake.figure_9
    monkeypatch.setattr(fake, "figure_9", lambda: original(retransmit_on=3))
    claim = modules["judge"].sctp_close_up(builder, close_up(satellite, tmp_path, "figure-9"))
    assert claim.verdict == claims.NOT_REPRODUCED


class Recorded:
    """Results of which only what is asked of recorded flows is known, the same for every sweep."""

    def __init__(self, plan, rows):
        self.plan, self._rows = plan, rows

    def rows(self, sweep, sql, kind=None, at=None):
        return self._rows


def varied(value, n=30):
    """So many values around one."""
    return [value + 0.1 * ((i % 5) - 2) for i in range(n)]


def test_bins_that_are_empty_and_bins_that_are_not(satellite, modules, builder):
    judge = modules["judge"].zero_bins

    def verdict(values):
        return judge(builder, Recorded(satellite, [{"zero": value, "bins": 400} for value in values])).verdict

    assert verdict(varied(40.0)) == claims.REPRODUCED
    assert verdict(varied(0.5)) == claims.NOT_REPRODUCED
    # In every other run none at all.
    assert verdict([0.0, 2.0] * 15) == claims.NOT_REPRODUCED
    assert verdict(varied(40.0, 5)) == claims.NOT_JUDGED


def test_who_is_ahead(satellite, modules, builder):
    judge = modules["judge"].sequence

    def verdict(values):
        return judge(builder, Recorded(satellite, [{"packets": value} for value in values])).verdict

    assert verdict(varied(300.0)) == claims.REPRODUCED
    assert verdict(varied(-300.0)) == claims.NOT_REPRODUCED
    # As often ahead as behind.
    assert verdict([500.0, -500.0] * 15) == claims.NOT_REPRODUCED


@pytest.mark.parametrize(
    ("change", "fails"),
    [
        ({}, []),
        ({"high": 60.0}, ["range in packets"]),
        ({"low": 0.2}, ["range in packets"]),
        ({"by_event": 12.0}, ["average over events"]),
        ({"by_event": 5.0}, ["average over events"]),
        ({"flight": 20.0}, ["in flight, average over time"]),
        ({"flight": 5.0}, ["in flight, average over time"]),
    ],
)
@pytest.mark.parametrize("flow", ["tcp", "sctp"])
def test_windows_as_in_the_figures_and_other_ones(satellite, modules, builder, flow, change, fails):
    rows = []
    for each, flight in (("tcp", 10.4), ("sctp", 13.4)):
        right = {"low": 1.5, "high": 19.0, "by_event": 8.0, "by_time": 9.0, "flight": flight}
        wrong = {**right, **(change if each == flow else {})}
        columns = {name: varied(value) for name, value in wrong.items()}
        rows += [{"flow": each, **{name: column[i] for name, column in columns.items()}} for i in range(30)]
    claim = modules["judge"].windows(builder, Recorded(satellite, rows))
    assert [part.at for part in claim.parts if not part.holds] == [f"{flow.upper()}, {at}" for at in fails]
    assert claim.verdict == (claims.NOT_REPRODUCED if fails else claims.REPRODUCED)


def test_an_empty_bin_is_counted(made_up):
    from anabranch_experiments_satellite_2005 import recorded

    rows = made_up.rows("recorded", recorded.BINS, kind="trace")
    assert [row["bins"] for row in rows] == [400] * 30
    sent = made_up.rows("recorded", "SELECT seed, time_ns FROM runs WHERE kind = 'sent'", kind="trace")
    full = {(row["seed"], row["time_ns"] // 100_000_000) for row in sent}
    for row in rows:
        busy = sum((row["seed"], index) in full for index in range(1000, 1400))
        assert row["zero"] == 400 - busy > 0
