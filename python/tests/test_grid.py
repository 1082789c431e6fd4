import math

import numpy as np
import pyarrow as pa
import pytest

from anabranch_lab import stats
from anabranch_lab.judge import grades
from anabranch_lab.judge.comparison import compare
from anabranch_lab.plan.catalogue import Expected
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
    assert grade(many, more_than=-1e9) == grade(many, value=1.0, tolerance=(100.0, 100.0)) == "C"


def grade(measured, **expected):
    return grades.grade([compare(Expected("x", **expected), "x", measured)])[0].grade


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
    assert grade(curve.slope(), more_than=0.0) == "A"
    assert grade(curve.slope(), less_than=0.0) == "D"


def test_a_flat_curve_is_flat_and_a_rising_one_is_not():
    assert grade(power_law(0.0).change(), same=(-0.1, 0.1)) == "A"
    assert grade(power_law(0.5).change(), same=(-0.1, 0.1)) == "D"
    assert power_law(1.0).change().mean == pytest.approx(7 / 3.75, rel=0.02)


def test_one_engine_of_several(loaded):
    one = loaded.only(engine="old")
    assert one.axes == tuple(axis for axis in loaded.axes if axis != "engine")
    assert one.sample("a", n=1).values == loaded.sample("a", engine="old", n=1).values
    with pytest.raises(KeyError, match="no point has"):
        loaded.only(engine="none")


def test_the_query_is_one_row_a_run():
    query = grid.sql(["engine", "n"], MEASURES)
    assert 'GROUP BY "engine", "n", "seed"' in query
    assert query.count("AS DOUBLE") == 2
