"""Our engines with the profile ns2-2.35 beside ns-2.35 itself.

ns-2's numbers are in `ns2/single_flow.csv` and in the references of the satellite study. CI runs a reduced comparison;
`make reference` (ANABRANCH_REFERENCE=full) all of it.
"""

import concurrent.futures
import csv
import dataclasses
import math
import os
import sys
import tomllib
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
import tomli_w

from anabranch_lab.judge import experiment
from anabranch_lab.plan import plan
from anabranch_lab.run import campaign, simulation
from anabranch_lab.run.results import Results
from anabranch_lab.run.schedule import Schedule
from anabranch_lab.stats import Estimate, estimate

pytestmark = pytest.mark.reference

HERE = Path(__file__).parent / "ns2"
FULL = os.environ.get("ANABRANCH_REFERENCE") == "full"
WORKERS = os.cpu_count() or 1


def reference(experiment, p=0.0):
    lines = [line for line in (HERE / "single_flow.csv").read_text().splitlines() if not line.startswith("#")]
    rows = [row for row in csv.DictReader(lines) if row["experiment"] == experiment and float(row["p"]) == p]
    assert rows
    return rows


def column(rows, name):
    return [float(row[name]) for row in rows]


def run(seed, values, *, trace=False):
    document = tomllib.loads((HERE / "single_flow.toml").read_text())
    for key, value in values.items():
        plan.put(document, key, value)
    return simulation.simulate(tomli_w.dumps(document), seed, trace=trace)


XVII = {
    "link.bottleneck.rate": "20 Mbit/s",
    "link.bottleneck-back.rate": "20 Mbit/s",
    "link.bottleneck.queue.packets": 20,
}


@pytest.mark.parametrize(("name", "values"), [("XVI", {}), ("XVII", XVII)])
def test_the_cycle_of_one_flow_is_within_two_percent(name, values):
    outcome = run(1, values, trace=True)
    flow = outcome.summary["flows"][0]
    rows = reference(name)
    goodput, cycle, peak = (
        estimate(column(rows, c)).mean for c in ("goodput_wire_mbps", "cycle_s", "peak_cwnd_bytes")
    )
    drops, peaks = cuts(outcome.trace, after=400.0)
    assert len(drops) > 40
    assert flow["goodput_wire_run_bps"] / 1e6 == pytest.approx(goodput, rel=0.02)
    assert (drops[-1] - drops[0]) / (len(drops) - 1) == pytest.approx(cycle, rel=0.02)
    assert estimate(peaks).mean == pytest.approx(peak, rel=0.02)
    assert flow["timeouts"] == 0


def cuts(trace, after):
    """The times at which the window of a flow is cut from its peak, and the peaks."""
    drops, peaks, last = [], [], None
    windows = trace.filter(pc.equal(trace["kind"].cast(pa.string()), "window"))
    for time, cwnd in zip(windows["time_ns"].to_pylist(), windows["a"].to_pylist(), strict=True):
        if last is not None and cwnd < 0.7 * last and time >= after * 1e9:
            drops.append(time / 1e9)
            peaks.append(last)
        last = cwnd
    return drops, peaks


# Loss probability, length of a run (as long as ns-2's, after 400 s of warm-up), seeds here and in full.
WAN = [(1e-2, 4300, 10, 30), (1e-3, 8200, 6, 30), (1e-4, 5800, 0, 15), (1e-5, 5200, 0, 6)]


@pytest.mark.parametrize(("p", "duration", "few", "many"), WAN)
def test_goodput_over_a_lossy_wan_is_within_the_intervals(p, duration, few, many):
    seeds = many if FULL else few
    if seeds == 0:
        pytest.skip("only in `make reference`")
    values = {
        "duration": f"{duration} s",
        "link.bottleneck.rate": "10 Gbit/s",
        "link.bottleneck-back.rate": "10 Gbit/s",
        "link.bottleneck.delay": "248 ms",
        "link.bottleneck-back.delay": "248 ms",
        "link.bottleneck.queue.packets": 1_000_000,
        "link.last.loss": {"kind": "bernoulli", "p": p, "applies": "data"},
    }
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        flows = [
            outcome.summary["flows"][0]
            for outcome in pool.map(lambda seed: run(seed, values), range(1, seeds + 1))
        ]
    here = estimate([flow["goodput_wire_run_bps"] / 1e6 for flow in flows])
    rows = reference("WAN", p)
    there = estimate(column(rows, "goodput_wire_mbps"))
    assert overlap(here, there), (here, there)
    # Goodput falls with the square root of the losses that happened to fall: with that taken out, the engines
    # themselves are compared, and much more sharply.
    assert level(
        [(flow["goodput_wire_run_bps"] / 1e6, flow["loss_indication_rate"]) for flow in flows], p
    ).mean == pytest.approx(
        level([(float(r["goodput_wire_mbps"]), float(r["fr_rate"])) for r in rows], p).mean, rel=0.02
    )


def level(runs, p):
    return estimate([goodput * math.sqrt(rate / p) for goodput, rate in runs])


def overlap(a: Estimate, b: Estimate) -> bool:
    return a.low <= b.high and b.low <= a.high


# Reduced: three probabilities, ten seeds, as many as ns-2 has.
SATELLITE = ["ns2", "ns2-common", "ns2-3-reports", "ns2-satellite-loss"]


@pytest.mark.parametrize("sweep", SATELLITE if FULL else ["ns2", "ns2-common"])
def test_satellite_shares_and_utilisation_are_within_the_intervals(sweep, satellite, tmp_path):
    experiment._module(satellite)
    data = sys.modules["anabranch_experiments_satellite_2005.data"]
    wanted = [p for p in data.published() if FULL or p in (0.008, 0.01, 0.02)]
    only = dataclasses.replace(satellite, sweeps=(at(satellite.sweep(sweep), wanted),))
    results = Results(only, tmp_path, seeds=range(1, 31 if FULL else 11))
    campaign.run([Schedule(results)], campaign.Threads(WORKERS))
    seen, rows = data.shares(results, sweep), data.ns2(sweep)
    assert sorted(seen.places) == wanted
    for p in seen.places:
        for measure, short in (("share", "sctp"), ("util", "util")):
            there = Estimate(rows[p][f"{short}_pct"], rows[p][f"{short}_ci95"], 10, math.nan)
            here = getattr(seen, measure)(p).estimate
            assert overlap(here, there), (p, measure, here, there)


def at(sweep, values):
    (axis,) = sweep.axes
    return dataclasses.replace(sweep, axes=(axis.only(values),))
