"""Experiment XII: from runs to grades, figures and a finding."""

import tomllib

from anabranch_lab.judge.comparison import Signs
from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.run import series
from anabranch_lab.run.grid import Grid, Sample
from anabranch_lab.run.results import Results
from anabranch_lab.stats import Estimate

from ..common import background

CHANGING = ("square", "exponential", "pareto")
"""Kinds of background that come and go."""


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    engine = results.plan.engines[0]
    runs, spread = (background.judged(results, name) for name in ("runs", "spread"))
    long = background.judged(results, "long")
    seen = {
        name: (
            series.measure(results, name, background.edges, events=True).only(engine=engine),
            background.judged(results, name),
        )
        for name in ("edges", "edges-spread")
    }
    claims = claim_builder(results)
    taken = long.curve("share", over="n", background="pareto")
    published = claims.claim("Z-XII-1", {f"n = {n}, %": taken.at(n) for n in (1, 4)})
    return Analysis(
        claims=[
            published,
            claims.claim("Z-XII-2", compared(runs), readings={background.SPREAD: compared(spread)}),
            claims.claim("Z-XII-3", drops(runs), readings={background.SPREAD: drops(spread)}),
            claims.claim(
                "Z-XII-4",
                edges(*seen["edges"]),
                readings={background.SPREAD: edges(*seen["edges-spread"])},
                note="Every on-edge counts, also those of bursts that end within the two seconds, and those that find one subflow below 2 Mbit/s. "
                "What counts of several fast retransmits is that they cut the window (ssthresh changes).",
            ),
            claims.claim("Z-XII-5", offered(results)),
        ],
        figures=[
            background.over_time(results, "pareto", "figure-5-23", "Fig. 5.23: beside Pareto on/off traffic"),
            background.bars(
                results,
                runs,
                {"pareto": published},
                "figure-5-24",
                "Fig. 5.24: share and drop rate beside four kinds of traffic",
            ),
        ],
        findings=[
            "Beside Pareto traffic SCTP takes "
            + " and ".join(f"{taken.at(n).text()} % with n = {n}" for n in (1, 4))
            + f"; single runs of 800 s lie within ±{2 * taken.at(1).sd:.0f} points of that.",
        ],
    )


def compared(runs: Grid) -> dict[str, Signs]:
    """Comparisons of the shares beside different traffic: signs, as shares beside heavy tails have no useful mean."""

    def taken(n: int, kind: str) -> Sample:
        return runs.sample("share", n=n, background=kind)

    return {
        **{f"n = 1: CBR minus {kind}": Signs(taken(1, "cbr") - taken(1, kind)) for kind in CHANGING},
        **{
            f"n = 1: {kind} minus Pareto": Signs(taken(1, kind) - taken(1, "pareto"))
            for kind in ("square", "exponential")
        },
        "n = 4: Pareto minus CBR": Signs(taken(4, "pareto") - taken(4, "cbr")),
    }


def drops(runs: Grid) -> dict[str, Sample]:
    """Drop rates over the number of subflows."""
    return {
        at: difference
        for kind in background.KINDS
        for at, difference in background.ordered(
            {n: runs.sample("drop_rate", n=n, background=kind) for n in (1, 2, 4)}, f"drop rate, {kind}"
        ).items()
    }


def edges(watched: Grid, runs: Grid) -> dict[str, Estimate]:
    """The effects of the background when it comes on: from samples and events, and from the sums of runs."""
    parts = {}
    for kind in CHANGING:
        at = {"n": 1, "background": kind}
        parts |= {
            f"timeouts per on-edge, within 2 s, {kind}": watched.at("timeouts", **at),
            f"on-edges with two cuts or more and then a timeout, within 2 s, {kind}": watched.at(
                "several", **at
            ),
            f"least rate over 1 s within 2 s of an on-edge, {kind}, Mbit/s": watched.at("least", **at),
            f"loss rate of the background, {kind}": runs.at("background_drops", **at),
        }
    return parts


def offered(results: Results) -> dict[str, float]:
    """The rate that each kind of background offers, by its scenario: Mbit/s."""
    found = {}
    for point in results.plan.sweep("runs").points():
        flows = {flow["name"]: flow for flow in tomllib.loads(point.scenario)["flow"]}
        traffic = flows["background"]["traffic"]
        rate, on, off = (float(str(traffic.get(key, "1 s")).split()[0]) for key in ("rate", "on", "off"))
        found[f"{point.at['background']}, Mbit/s"] = rate * (on / (on + off) if "on" in traffic else 1.0)
    return found
