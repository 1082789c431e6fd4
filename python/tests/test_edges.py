"""Effects of background traffic when it comes on, from made-up samples."""

import sys

import numpy as np
import pytest

from anabranch_lab.judge import experiment
from anabranch_lab.plan import folders
from anabranch_lab.run import series

STEP = 0.1
"""Seconds between two samples."""
LENGTH = 100
"""Samples: ten seconds."""


@pytest.fixture
def edges():
    plan = folders.find(folders.root() / "experiments", "sf-sctp-2007/exp-12")
    experiment._module(plan)
    return sys.modules["anabranch_experiments_sf_sctp_2007.common.background"].edges


def samples(on, ssthresh, timeouts=(), retransmits=()):
    """Background on in these samples; ssthresh as steps (sample, value); events in seconds."""
    time = (np.arange(LENGTH) + 1) * STEP * 1e9
    none = np.zeros(LENGTH)
    other = np.zeros(LENGTH)
    other[list(on)] = 80.0
    level = np.zeros(LENGTH)
    for start, value in ssthresh:
        level[start:] = value

    def columns(**values):
        return {"time_ns": time, "seq": none, "size": none, "a": none, "b": none, "c": none, **values}

    return series.Samples(
        1,
        {
            ("background:receiver", 0): columns(seq=other),
            ("sf:sender", 0): columns(b=level),
        },
        {("timeout", "sf:sender"): timeouts, ("fast-retransmit", "sf:sender"): retransmits},
    )


ON = range(30, 50)
"""From 3 s to 5 s."""


def test_two_cuts_and_then_a_timeout(edges):
    # ssthresh falls, rises (the window had grown beyond twice of it), and is set once more by the timer, which expires at 4.25 s.
    seen = edges(samples(ON, [(0, 90e3), (35, 60e3), (38, 70e3), (42, 3e3)], [4.25], [3.5, 3.6, 3.7, 3.8]))
    assert (seen["edges"], seen["timeouts"], seen["retransmits"]) == (1, 1, 4)
    assert (seen["cuts"], seen["several"]) == (2, 1)


def test_one_cut_is_not_several_and_the_timer_is_none(edges):
    seen = edges(samples(ON, [(0, 90e3), (35, 60e3), (42, 3e3)], [4.25], [3.5, 3.6]))
    assert (seen["timeouts"], seen["cuts"], seen["several"]) == (1, 1, 0)


def test_cuts_before_the_edge_and_without_a_timeout_do_not_count(edges):
    before = edges(samples(ON, [(0, 90e3), (20, 60e3), (29, 50e3), (35, 40e3), (42, 3e3)], [4.25]))
    assert (before["cuts"], before["several"]) == (1, 0)
    without = edges(samples(ON, [(0, 90e3), (35, 60e3), (38, 30e3)]))
    assert (without["timeouts"], without["several"]) == (0, 0)


def test_a_timeout_belongs_to_the_edge_last_before_it(edges):
    seen = edges(
        samples([*range(30, 35), *range(40, 50)], [(0, 90e3), (31, 60e3), (42, 50e3), (45, 3e3)], [4.55])
    )
    assert (seen["edges"], seen["timeouts"], seen["cuts"]) == (2, 0.5, 1)


def test_an_edge_too_late_for_its_two_seconds_is_none(edges):
    assert edges(samples(range(85, 100), [(0, 90e3)]))["edges"] == 0
