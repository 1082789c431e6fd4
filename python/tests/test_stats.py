import math
import statistics
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch_lab import stats
from anabranch_lab.judge import experiment
from anabranch_lab.plan import folders
from anabranch_lab.run.grid import Sample

# Two-sided 95 % points of Student's distribution, from printed tables.
TABLE = {1: 12.706, 2: 4.303, 4: 2.776, 9: 2.262, 29: 2.045, 120: 1.980, 10_000: 1.960}


@pytest.mark.parametrize(("freedom", "printed"), TABLE.items())
def test_quantiles_are_those_of_the_printed_table(freedom, printed):
    assert stats.t_quantile(0.975, freedom) == pytest.approx(printed, abs=6e-4)


def test_one_degree_of_freedom_is_the_cauchy_distribution():
    for t in (-30.0, -1.0, 0.2, 5.0):
        assert stats.t_cdf(t, 1) == pytest.approx(0.5 + math.atan(t) / math.pi, abs=1e-12)


@given(st.floats(0.001, 0.999), st.integers(1, 500))
def test_quantile_undoes_the_distribution(probability, freedom):
    assert stats.t_cdf(stats.t_quantile(probability, freedom), freedom) == pytest.approx(
        probability, abs=1e-9
    )


def test_an_interval_by_hand():
    found = stats.estimate([1.0, 2.0, 3.0, 4.0, 5.0])
    assert found.mean == 3.0
    assert found.half == pytest.approx(2.7764 * math.sqrt(2.5) / math.sqrt(5), abs=1e-3)
    assert (found.low, found.high) == (found.mean - found.half, found.mean + found.half)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=50))
def test_mean_and_spread_agree_with_the_standard_library(values):
    found = stats.estimate(values)
    assert found.mean == pytest.approx(statistics.fmean(values), abs=1e-6)
    assert found.sd == pytest.approx(statistics.stdev(values), rel=1e-6, abs=1e-6)


def test_one_value_says_nothing_about_the_spread():
    assert stats.estimate([7.0]).half == math.inf


def test_no_value_is_an_error():
    with pytest.raises(ValueError, match="no values"):
        stats.estimate([])


def test_pairs_cancel_what_both_have_in_common():
    noise = [10.0, -20.0, 35.0, 4.0, -8.0]
    first = [100 + n + d for n, d in zip(noise, (1.0, 1.1, 0.9, 1.0, 1.0), strict=True)]
    second = [100 + n for n in noise]
    found = stats.paired(first, second)
    assert found.mean == pytest.approx(1.0)
    assert found.half < 0.2 < stats.estimate(first).half
    with pytest.raises(ValueError, match="one length"):
        stats.paired(first, second[:-1])


def test_an_interval_covers_the_truth_as_often_as_it_says():
    import random

    rng = random.Random(5)
    hits = sum(
        (found := stats.estimate([rng.gauss(3, 2) for _ in range(6)])).low <= 3 <= found.high
        for _ in range(4000)
    )
    # Binomial: 0.95 +- 4 standard deviations of 0.00345.
    assert abs(hits / 4000 - 0.95) < 0.014


def test_rank_correlation_with_ties():
    # By hand: ranks 1, 2.5, 2.5, 4 against 1, 2, 3, 4: covariance 4.5, variances 4.5 and 5.
    assert stats.spearman([1, 2, 2, 3], [1, 2, 3, 4]) == pytest.approx(4.5 / math.sqrt(4.5 * 5))
    assert stats.spearman([1, 2, 3], [3, 2, 1]) == -1
    assert stats.spearman([1, 2, 3], [5, 5, 5]) == 0


def test_fairness():
    assert stats.jain([3, 3, 3]) == pytest.approx(1)
    assert stats.jain([1, 0, 0, 0]) == pytest.approx(0.25)
    with pytest.raises(ValueError, match="no fairness"):
        stats.jain([0, 0])


def test_signs():
    assert stats.sign_test([1] * 5) == pytest.approx(1 / 32)
    assert stats.sign_test([1, -1, 0]) == pytest.approx(0.75)
    assert stats.sign_test([]) == 1


def test_two_groups_of_runs():
    # Welch's test of two groups: t = 10 / sqrt(2/3 + 1/2), and its degrees of freedom.
    found = stats.unpaired([11, 12, 13, 14, 10, 12], [1, 2, 3, 2, 1, 3])
    apart = np.var([11, 12, 13, 14, 10, 12], ddof=1) / 6, np.var([1, 2, 3, 2, 1, 3], ddof=1) / 6
    assert found.mean == pytest.approx(10)
    assert found.degrees == pytest.approx(sum(apart) ** 2 / (apart[0] ** 2 / 5 + apart[1] ** 2 / 5))
    assert found.half == pytest.approx(stats.t_quantile(0.975, found.degrees) * math.sqrt(sum(apart)))
    assert math.isnan(stats.unpaired([1.0], [2.0, 3.0]).mean)


def test_a_period_is_a_peak_of_the_autocorrelation():
    wave = [math.sin(2 * math.pi * k / 25) for k in range(1000)]
    found = stats.autocorrelation(wave, 60)
    assert found[0] == pytest.approx(1)
    assert 10 + int(found[10:40].argmax()) == 25
    assert not stats.autocorrelation([3.0] * 10, 5).any()


def test_a_ratio_of_means_and_its_interval():
    first, second = [10.0, 12.0, 14.0, 12.0], [5.0, 6.0, 7.0, 6.0]
    found = stats.ratio(first, second)
    assert found.mean == pytest.approx(2)
    assert found.half == pytest.approx(0, abs=1e-12)
    assert stats.ratio([1.0, 3.0], [1.0, 1.0]).half > 1


def test_slopes():
    assert stats.slope([1, 2, 3], [2, 4, 6]) == pytest.approx(2)
    assert stats.exponent([1, 10, 100], [5, 50, 500]) == pytest.approx(1)
    assert stats.exponent([1, 10, 100, 1000], [5, 50, 500, 0]) == pytest.approx(1)
    with pytest.raises(ValueError, match="two different x"):
        stats.slope([1, 1], [2, 3])


def test_what_a_run_did_not_measure_is_no_figure():
    assert stats.estimate([1.0, math.nan, 2.0]).text() == "no figure"
    assert stats.estimate([1.0, 2.0, 3.0]).text(0) == "2 ± 2"


def test_a_control_takes_out_luck_and_its_interval_still_covers():
    """Goodput that falls with losses: with a correlation of -0.95 the same seeds say it three times as precisely, and no less truly."""
    rng = np.random.default_rng(3)
    covered = {"plain": 0, "controlled": 0}
    narrower = []
    for _ in range(800):
        losses = rng.normal(0.0, 1.0, 12)
        goodput = 50.0 - 0.95 * losses + math.sqrt(1 - 0.95**2) * rng.normal(0.0, 1.0, 12)
        plain, better = stats.estimate(list(goodput)), stats.controlled(list(goodput), list(losses))
        covered["plain"] += plain.low <= 50.0 <= plain.high
        covered["controlled"] += better.low <= 50.0 <= better.high
        narrower.append(plain.half / better.half)
    assert all(0.93 * 800 <= count <= 0.97 * 800 for count in covered.values()), covered
    # Seeds go with the square: nearly nine times fewer.
    assert 2.5 < statistics.median(narrower) < 3.5


def test_a_control_that_says_nothing_is_left_alone():
    values = [1.0, 2.0, 3.0, 4.0, 5.0]
    assert stats.controlled(values, [0.0] * 5) == stats.estimate(values)
    assert stats.controlled(values[:3], [1.0, 2.0, 3.0]) == stats.estimate(values[:3])
    with pytest.raises(ValueError, match="a value for each run"):
        stats.controlled(values, [0.0])


def test_a_ratio_whose_divisor_is_all_of_one_seed_has_no_bound():
    found = stats.ratio([0.0, 3.0, 0.0], [0.0, 4.0, 0.0])
    assert (found.mean, found.half) == (0.75, math.inf)


def test_a_ratio_without_luck_covers_with_five_seeds():
    """Experiments XIII and XIV: the ratio of two means, each without the luck of its losses."""
    experiment._module(folders.find(folders.root() / "experiments", "sf-sctp-2007/exp-13"))
    without_luck = sys.modules["anabranch_experiments_sf_sctp_2007.common.estimates"].without_luck
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(600):
        pairs = []
        for mean in (2.0, 1.0):
            luck = rng.normal(0.0, 1.0, 5)
            values = mean * (1 - 0.06 * (0.96 * luck + 0.28 * rng.normal(0.0, 1.0, 5)))
            pairs.append(tuple(Sample(tuple(range(5)), tuple(each)) for each in (values, luck)))
        found = without_luck(pairs, lambda means: means[0] / means[1])
        covered += found.low <= 2.0 <= found.high
    assert 0.93 * 600 <= covered <= 0.98 * 600, covered
