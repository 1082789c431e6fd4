"""The part of the windows that remains after an overflow, where samples are too coarse to show it."""

import sys

import numpy as np
import pytest

from anabranch_lab.judge import experiment
from anabranch_lab.plan import folders
from anabranch_lab.run import series


@pytest.fixture
def fall():
    plan = folders.find(folders.root() / "experiments", "sf-sctp-2007/exp-04")
    experiment._module(plan)
    return sys.modules["anabranch_experiments_sf_sctp_2007.common.bottleneck"].fall


def sender(cwnd, ssthresh):
    time = np.arange(len(cwnd)) * 0.02
    none = np.zeros(len(cwnd))
    return series.Sender(
        time, 0.02, none, none, np.array(cwnd, dtype=float), np.array(ssthresh, dtype=float), none
    )


def test_what_the_samples_missed_is_read_from_ssthresh(fall):
    # It grew from 40 to 42 before it was cut, and from 21 to 22 before the next sample.
    before, after = fall(sender([39, 40, 22, 23], [10, 10, 21, 21]), 1, 3)
    assert (before, after) == (42, 21)


def test_two_cuts_count_from_the_first(fall):
    assert fall(sender([40, 20, 10], [5, 20, 10]), 0, 2) == (40, 10)


def test_one_that_was_not_cut_did_not_fall(fall):
    # A cut before the high is not one of this fall.
    assert fall(sender([40, 21, 22, 24], [20, 20, 20, 20]), 1, 3) == (21, 24)
