import math

import numpy as np
import pyarrow as pa
import pytest

from anabranch_lab import stats
from anabranch_lab.judge import claims
from anabranch_lab.run import grid
from anabranch_lab.run.grid import Curve, Sample

MEASURES = {"a": "sum(x) FILTER (kind = 'flow')", "b": "sum(x) FILTER (kind = 'link')"}


def table():
    rows = [
        {"engine": engine, "n": n, "seed": seed, "a": n * seed * scale, "b": None}
        for engine, scale in (("old", 1.0), ("new", 2.0))
        for n in (1, 2, 4)
        for seed in (1, 2, 3)
        if (engine, n, seed) != ("new", 4, 3)
    ]
    return pa.Table.from_pylist(rows)


@pytest.fixture
def loaded():
    return grid.load(table(), ["engine", "n"], ["a", "b"])


def test_a_curve_has_a_value_for_each_seed_and_point(loaded):
    curve = loaded.curve("a", over="n", engine="old")
    assert curve.x == (1, 2, 4)
    assert curve.seeds == (1, 2, 3)
    assert curve.values.tolist() == [[1, 2, 4], [2, 4, 8], [3, 6, 12]]
    assert curve.means.tolist() == [2, 4, 8]
    assert curve.at(2) == stats.estimate([2, 4, 6])
    assert curve.rise(1, 4) == stats.estimate([3, 6, 9])
    assert curve.between(2, 9).x == (2, 4)


def test_two_sweeps_make_one_grid_if_no_point_is_in_both(loaded):
    old, new = (
        grid.Grid(
            loaded.axes,
            loaded.measures,
            {place: cell for place, cell in loaded.cells.items() if place[0] == engine},
        )
        for engine in ("old", "new")
    )
    assert old.joined(new).cells == loaded.cells
    with pytest.raises(ValueError, match=r"in both grids: .'engine': 'old', 'n': 1"):
        old.joined(loaded)
    with pytest.raises(ValueError, match="grids of"):
        old.joined(grid.Grid(("n",), loaded.measures, {}))


def test_only_seeds_that_every_point_has_make_a_curve(loaded):
    assert loaded.curve("a", over="n", engine="new").seeds == (1, 2)


def test_curves_are_compared_seed_by_seed(loaded):
    old, new = (loaded.curve("a", over="n", engine=engine) for engine in ("old", "new"))
    quotient = new / old
    assert quotient.seeds == (1, 2)
    assert np.all(quotient.values == 2)
    assert (new - old).values.tolist() == [[1, 2, 4], [2, 4, 8]]
    assert np.isnan((old / (old * 0)).values).all()
    with pytest.raises(ValueError, match="different points"):
        _ = old - old.between(1, 2)


def test_a_place_that_is_not_one_is_named(loaded):
    with pytest.raises(KeyError, match="one value for each of engine, n"):
        loaded.at("a", engine="old")
    with pytest.raises(KeyError, match="no axis `m`"):
        loaded.at("a", m=1)
    with pytest.raises(KeyError, match="does not make one curve"):
        loaded.curve("a", over="n")
    with pytest.raises(KeyError, match="no point 3"):
        loaded.curve("a", over="n", engine="old").at(3)


def test_what_was_not_counted_is_not_a_number_and_holds_for_nobody(loaded):
    sample = loaded.sample("b", engine="old", n=1)
    assert all(math.isnan(value) for value in sample.values)
    many = Sample(tuple(range(40)), (math.nan,) * 40)
    for part in (
        claims.number("", 1.0, many.estimate, 100.0),
        claims.above("", -1e9, many.estimate),
        claims.below("", 1e9, many.estimate),
        claims.within("", -1e9, 1e9, many.estimate),
    ):
        assert not part.holds
        assert part.measured == "not a number"


def power_law(exponent, seeds=30, noise=0.01):
    x = (1.0, 2.0, 4.0, 8.0)
    rng = np.random.default_rng(7)
    values = np.array(x) ** exponent * np.exp(noise * rng.normal(size=(seeds, 4)))
    return Curve(x, tuple(range(seeds)), values)


def test_slopes_exponents_and_ranks():
    curve = power_law(2.0)
    assert curve.exponent().mean == pytest.approx(2.0, abs=0.02)
    assert curve.exponent().half < 0.02
    assert curve.rank() == 1
    assert (curve * -1.0).rank() == -1
    assert claims.trend("", curve, 1).holds
    assert not claims.trend("", curve, -1).holds
    assert claims.rank("", curve, 0.95).holds
    assert not claims.rank("", curve, -0.95).holds
    assert not claims.rank("", power_law(2.0, seeds=29), 0.95).holds


def test_a_flat_curve_is_flat_and_a_rising_one_is_not():
    assert claims.flat("", power_law(0.0)).holds
    assert not claims.flat("", power_law(0.5)).holds


def sample(mean, spread=1.0, n=30):
    return Sample(tuple(range(n)), tuple(mean + spread * ((k % 3) - 1) for k in range(n)))


def test_an_order_needs_every_step():
    good = claims.ordered("", ["a", "b", "c"], [sample(30), sample(20), sample(10)])
    assert [part.holds for part in good] == [True, True]
    assert [part.expected for part in good] == ["a > b", "b > c"]
    wrong = claims.ordered("", ["a", "b", "c"], [sample(30), sample(10), sample(20)])
    assert [part.holds for part in wrong] == [True, False]


def test_ranges_equality_and_asymmetric_tolerances():
    assert claims.number_in("", 6, 8, sample(8.2).estimate).holds
    assert not claims.number_in("", 6, 8, sample(9.5).estimate).holds
    assert claims.within("", 6, 8, sample(7).estimate).holds
    assert not claims.within("", 6, 8, sample(7.9).estimate).holds
    assert claims.equal("", sample(0.1).estimate, 0.5).holds
    assert not claims.equal("", sample(0.4).estimate, 0.5).holds
    # +5/-3: the measured value may lie 5 above the printed one, or 3 below.
    exact = sample(0.0, spread=0.0)
    assert claims.number("", 150.0, (exact + 154.9).estimate, 3.0, above=5.0).holds
    assert not claims.number("", 150.0, (exact + 155.1).estimate, 3.0, above=5.0).holds
    assert claims.number("", 150.0, (exact + 147.1).estimate, 3.0, above=5.0).holds
    assert not claims.number("", 150.0, (exact + 146.9).estimate, 3.0, above=5.0).holds


def test_signs_and_shares():
    assert claims.sign_test("", "positive", sample(2)).holds
    assert not claims.sign_test("", "positive", sample(0)).holds
    # A variant that finds the other sign is no explanation: its rule is another.
    assert claims.sign_test("", "more", sample(2)).rule != claims.sign_test("", "less", sample(2)).rule
    assert claims.share_above("", 0.95, 990, 1000).holds
    # 97 of 100 is 91.5 to 99 %.
    part = claims.share_above("", 0.95, 97, 100)
    assert (part.holds, part.by_mean) == (False, True)
    assert "undecided" in part.detail
    assert not claims.share_above("", 0.95, 94, 100).holds
    assert not claims.share_above("", 0.95, 0, 0).holds


def test_the_query_is_one_row_a_run():
    query = grid.sql(["engine", "n"], MEASURES)
    assert 'GROUP BY "engine", "n", "seed"' in query
    assert query.count("AS DOUBLE") == 2
