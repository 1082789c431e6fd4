"""Experiment XX: from runs to grades, figures and a finding."""

import itertools
import math

from anabranch_lab.judge.comparison import Measured
from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.run.grid import Curve, Grid
from anabranch_lab.run.results import Results

from ..common import estimates, fair, readings

TOP = 4e-4
"""The simulated loss nearest to the printed peak of the single SCTP."""


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    a, b = (fair.measured(results, name) for name in ("a", "b"))
    beside = {
        readings.WHOLE: fair.grids(results, "a-1500"),
        readings.DATA: fair.grids(results, "a-data"),
    }
    builder = claim_builder(results)
    single = a.curve("single", over="p", phi="n^2")
    top = single.x[int(single.means.argmax())]
    return Analysis(
        claims=[
            builder.claim("Z-XX-1", peak(a), readings={told: peak(runs) for told, runs in beside.items()}),
            builder.claim(
                "Z-XX-2",
                root(a),
                readings={told: root(runs) for told, runs in beside.items()},
                note="At a loss of 1 % a window of SF-SCTP is three packets, which a cut cannot bring below the floor of ssthresh, two.",
            ),
        ],
        figures=fair.figures(a, b, "p", "loss rate of the link", ("1", "n^2"), ("5.41", "5.42"), log=True),
        findings=[
            f"Beside four subflows with Phi = n² the single SCTP gets most at a loss of 10^{math.log10(top):.1f}, "
            f"{single.at(top).text(2)} Mbit/s.",
        ],
    )


def peak(runs: Grid) -> dict[str, Measured]:
    """Rise and fall around the printed peak: a peak chosen from these runs would be the maximum of any curve."""
    single, falls = (runs.curve(measure, over="p", phi="n^2") for measure in ("single", "sf"))
    exponents = Curve(tuple(math.log10(p) for p in single.x), single.seeds, single.values, single.least)
    parts: dict[str, Measured] = {
        "log10 of the loss at which the single SCTP gets most": estimates.peak(exponents),
    }
    for end in (single.x[0], single.x[-1]):
        parts[f"single SCTP, its peak minus at {end:g}, Mbit/s"] = single.rise(end, TOP)
    for less, more in itertools.pairwise(falls.x):
        parts[f"SF-SCTP, at {less:g} minus at {more:g}, Mbit/s"] = falls.rise(more, less)
    return parts


def root(runs: Grid) -> dict[str, Measured]:
    """The slopes of both curves beyond the peak."""
    return {
        f"log-log slope beyond the peak, {who}": runs.curve(measure, over="p", phi="n^2")
        .between(TOP, 1.0)
        .exponent()
        for measure, who in (("sf", "SF-SCTP"), ("single", "single SCTP"))
    }
