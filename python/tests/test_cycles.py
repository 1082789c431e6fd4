"""Phases of queues whose phases are known because they were made that way."""

import itertools
import random

import numpy as np
import pytest

from anabranch_lab.run import cycles
from anabranch_lab.run.cycles import QBU, QDN, QSD


def queue(parts, interval=0.1, jitter=0.0, seed=1):
    """Straight pieces: (seconds, value at the end), beginning at 0."""
    rng = random.Random(seed)
    values = [0.0]
    for seconds, end in parts:
        steps = round(seconds / interval)
        start = values[-1]
        values += [start + (end - start) * (k + 1) / steps for k in range(steps)]
    noisy = [max(0.0, value + rng.uniform(-jitter, jitter) if value > 0 else 0.0) for value in values]
    return [interval * k for k in range(len(values))], noisy


CYCLE = [(3.0, 0.0), (6.0, 100.0), (1.0, 0.0)]


@pytest.mark.parametrize("jitter", [0.0, 2.0])
def test_the_phases_of_a_queue_that_empties(jitter):
    time, values = queue(CYCLE * 8, jitter=jitter)
    found = cycles.phases(time, values)
    assert [phase.state for phase in found[:6]] == [QSD, QBU, QDN] * 2
    lengths = cycles.mean_lengths(found)
    assert lengths["cycle"] == pytest.approx(10.0, abs=0.1)
    assert lengths[QSD] == pytest.approx(3.0, abs=0.3)
    assert lengths[QBU] == pytest.approx(6.0, abs=0.3)
    assert lengths[QDN] == pytest.approx(1.0, abs=0.2)
    assert cycles.regrowths(found) == 0
    # Phases leave no gap and do not overlap.
    assert all(a.end == b.start for a, b in itertools.pairwise(found))


def test_a_queue_that_never_empties_cycles_from_build_up_to_build_up():
    time, values = queue([(5.0, 100.0), (2.0, 40.0)] * 6)
    found = cycles.phases(time, values)
    assert QSD not in [phase.state for phase in found[1:]]
    assert cycles.regrowths(found) == 5
    assert cycles.mean_lengths(found)["cycle"] == pytest.approx(7.0, abs=0.1)


def test_phases_are_averaged_one_by_one_even_where_a_cycle_has_two_build_ups():
    parts = [(2.0, 0.0), (5.0, 80.0), (0.5, 40.0), (3.0, 90.0), (1.0, 0.0)] * 4
    found = cycles.phases(*queue(parts))
    assert cycles.mean_phases(found) == pytest.approx({QBU: 4.0, QDN: 0.75, QSD: 2.0}, abs=0.15)
    assert cycles.mean_lengths(found)[QBU] == pytest.approx(8.0, abs=0.2)


def test_a_regrowth_is_told_from_jitter():
    parts = [(2.0, 0.0), (5.0, 80.0), (0.5, 40.0), (3.0, 90.0), (1.0, 0.0)] * 3
    time, values = queue(parts, jitter=2.0)
    assert cycles.regrowths(cycles.phases(time, values)) == 3


def test_an_idle_link_has_one_phase_and_no_cycle():
    found = cycles.phases([0.1 * k for k in range(100)], [0.0, 1.0] * 50)
    assert [phase.state for phase in found] == [QSD]
    assert np.isnan(cycles.mean_lengths(found)["cycle"])


def test_turns_are_highs_and_lows_in_turn():
    assert cycles.turns([0, 5, 4, 9, 3, 4, 2, 8], 3) == [0, 3, 6, 7]
    assert cycles.turns([9, 0, 9], 3) == [0, 1, 2]
    assert cycles.turns([1, 1, 1], 3) == [0, 2]
    assert cycles.turns([], 3) == []


def test_cuts_are_what_is_left():
    values = [10, 20, 10, 25, 18.75, 30, 15, 30]
    assert cycles.cuts(values, 3) == pytest.approx([0.5, 0.75, 0.5])


def test_a_period_is_found_and_noise_has_none_as_strong():
    wave = [np.sin(2 * np.pi * k / 100) for k in range(4000)]
    lag, height = cycles.period(wave, 0.1, 5.0, 15.0)
    assert lag == pytest.approx(10.0)
    assert height > 0.9
    rng = random.Random(3)
    assert cycles.period([rng.gauss(0, 1) for _ in range(4000)], 0.1, 5.0, 15.0)[1] < 0.2


def test_samples_and_times_belong_together():
    with pytest.raises(ValueError, match="2 times for 3 samples"):
        cycles.phases([0, 1], [0, 1, 2])
