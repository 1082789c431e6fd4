"""Experiment XV: from runs to verdicts, figures and a finding."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from anabranch_lab import stats
from anabranch_lab.judge.claims import (
    Claim,
    ClaimBuilder,
    Explanation,
    Part,
    above,
    below,
    flat,
    number,
    number_in,
)
from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.run import grid
from anabranch_lab.run.grid import Curve, Grid
from anabranch_lab.run.results import Results
from anabranch_lab.show import plots

from ..common import phi
from ..common.estimates import highest, jackknife, peak
from ..common.fair import begun

THESIS = "ns2-2.28"
"""The engine that the thesis ran."""
P = 1e-4
ONSET = 1.5 * P
"""Fast retransmits a packet from which on congestion costs as much as half of the link's own errors."""
MEASURES = {
    "utilisation": f"100 * {grid.of_link('lossy', 'utilisation')}",
    "mbps": f"{grid.of_flow('sf', 'goodput_wire_run_bps')} / 1e6",
    "fr": "sum(fast_retransmits) FILTER (kind = 'flow') / sum(packets_sent) FILTER (kind = 'flow')",
    "drops": grid.of_link("lossy", "drops_queue"),
}


def analyse(results: Results) -> Analysis:
    """What the lab asks an experiment for."""
    one, root, queues, longer, many, plain = (
        results.grid(name, MEASURES)
        for name in ("one", "root", "queues", "root-queue", "flat-many", "plain-many")
    )
    level = results.grid("flat", MEASURES).joined(many)
    no_slow_start = results.grid("flat-no-slow-start", MEASURES).joined(
        results.grid("flat-many-no-slow-start", MEASURES)
    )
    claims = claim_builder(results)
    engine = results.plan.engines[0]
    used = {
        name: runs.curve("utilisation", over="n", engine=engine) for name, runs in (("1", one), ("n", root))
    }
    lengths = "; ".join(
        f"{queue:g} packets: {queues.at('utilisation', engine=engine, queue=queue, n=7).text()} %"
        for queue in queues.values("queue")
    )
    return Analysis(
        claims=[
            needed(
                claims,
                "Z-XV-1",
                one,
                7,
                (6, 8),
                "queues",
                {
                    queue: queues.curve("utilisation", over="n", engine=THESIS, queue=queue)
                    for queue in queues.values("queue")
                },
            ),
            needed(
                claims,
                "Z-XV-2",
                root,
                27,
                (25, 38),
                "root-queue",
                {200: longer.curve("utilisation", over="n", engine=THESIS)},
            ),
            congestion(claims, one, queues),
            limited(claims, level, no_slow_start, plain, results.grid("flat-many-starts", MEASURES)),
        ],
        figures=[
            Entry(
                "figure-5-28",
                "Fig. 5.28: throughput and fast retransmits over the number of subflows",
                "Means and 95 % intervals. Dotted: 90 % of the link, and the losses of the link.",
                lambda: figure_5_28(one, root, level, results.plan.engines),
            )
        ],
        findings=[
            f"With Phi = 1 seven subflows use {used['1'].at(7).text()} % of the link ({engine}); with Phi = n 27 use "
            f"{used['n'].at(27).text()} %. With other queues seven use: {lengths}.",
        ],
    )


def reached(curve: Curve, threshold: float) -> stats.Estimate:
    """Where the mean curve first reaches a threshold, between the points that were run; not a number if it never does.

    The first point at which a single seed does would be too early: noise takes it there."""
    return jackknife(curve.values, lambda rows: _first(curve.x, rows.mean(axis=0), threshold), curve.least)


def _first(x: Sequence[float], values: np.ndarray, threshold: float) -> float:
    for index, value in enumerate(values):
        if value >= threshold:
            if index == 0:
                return float(x[0])
            before = values[index - 1]
            return float(x[index - 1] + (threshold - before) / (value - before) * (x[index] - x[index - 1]))
    return math.nan


def needed(
    builder: ClaimBuilder,
    name: str,
    runs: Grid,
    printed: int,
    range_of: tuple[int, int],
    sweep: str,
    queues: Mapping[int, Curve],
) -> Claim:
    """Z-XV-1 and Z-XV-2; `queues` is the same with queues of other lengths, from a sweep."""
    low, high = range_of

    def part(used: Curve) -> Part:
        return number_in("subflows for 90 %", low, high, reached(used, 90.0))

    used = runs.curve("utilisation", over="n", engine=THESIS)
    most = ", ".join(f"with {queue} {max(curve.means):.1f} %" for queue, curve in queues.items())
    return builder.claim(
        name,
        lambda engine: [part(runs.curve("utilisation", over="n", engine=engine))],
        note=f"With the {printed} subflows of the thesis {used.at(printed).text()} % are used. With a queue of 100 packets at most {max(used.means):.1f} % are reached (n = {used.x[int(used.means.argmax())]:g}), {most}.",
        explanation=[
            Explanation(
                f"The thesis does not print its queue. One of 100 packets is an eighth of what the path holds: every overflow leaves it idle. "
                f"Here it has {queue} packets.",
                runs=(sweep,),
                parts=(part(curve),),
            )
            for queue, curve in queues.items()
        ],
    )


def congestion(builder: ClaimBuilder, runs: Grid, queues: Grid) -> Claim:
    """Z-XV-3."""

    def judge(engine: str, runs: Grid = runs, **at: int) -> list[Part]:
        rate = runs.curve("fr", over="n", engine=engine, **at)
        got = runs.curve("mbps", over="n", engine=engine, **at)
        more = rate.sample(25).over(rate.sample(5))
        return [
            number_in("onset: fast retransmits reach 1.5e-4 a packet at n", 5, 8, reached(rate, ONSET)),
            number_in("highest mean throughput at n", 7, 12, peak(got)),
            below("throughput, n = 25 minus n = 9, Mbit/s", 0.0, got.rise(9, 25)),
            above("fast retransmits, n = 25 / n = 5", 10.0, more),
        ]

    got = runs.curve("mbps", over="n", engine=THESIS)
    return builder.claim(
        "Z-XV-3",
        judge,
        note=f"The mean throughput is highest at n = {highest(got):g}, with {got.means.max():.2f} Mbit/s; at n = 9 it has "
        f"{got.at(9).text(2)}, at n = 25 {got.at(25).text(2)}.",
        explanation=[
            Explanation(
                f"The thesis does not print its queue. Here it has {queue} packets.",
                runs=("queues",),
                parts=tuple(judge(THESIS, queues, queue=queue)),
            )
            for queue in queues.values("queue")
        ],
    )


def limited(builder: ClaimBuilder, runs: Grid, no_slow_start: Grid, plain: Grid, starts: Grid) -> Claim:
    """Z-XV-4."""

    def judge(engine: str, runs: Grid = runs) -> list[Part]:
        parts: list[Part] = []
        for name in ("n^2", "2n^2"):
            parts += [
                number(
                    f"fast retransmits, Phi = {name}, n = {n}",
                    P,
                    runs.at("fr", engine=engine, phi=name, n=n),
                    0.2 * P,
                )
                for n in (5, 9, 25)
            ]
            parts.append(
                flat(
                    f"throughput over n, Phi = {name}", runs.curve("mbps", over="n", engine=engine, phi=name)
                )
            )
        return parts

    def times(source: Grid, name: str):
        """25 subflows over one."""
        many = source.sample("mbps", engine=THESIS, phi=name, n=25)
        return many / runs.sample("mbps", engine=THESIS, phi=name, n=1)

    begun = "; ".join(
        f"Phi = {name}: "
        + ", ".join(
            f"{starts.at('mbps', engine=THESIS, phi=name, n=25, start=start).text(2)} from {start / 1500:g}"
            for start in starts.values("start")
        )
        + f", {runs.at('mbps', engine=THESIS, phi=name, n=25).text(2)} from 4"
        for name in ("n^2", "2n^2")
    )
    shown = [(name, times(runs, name), times(plain, name)) for name in ("n^2", "2n^2")]
    return builder.claim(
        "Z-XV-4",
        judge,
        note="; ".join(
            f"Phi = {name}: 25 subflows get {with_it.estimate.text(2)} times what one gets, {without.estimate.text(2)} times by the model's "
            "rules"
            for name, with_it, without in shown
        )
        + f". Throughput of 25 subflows, Mbit/s, by the packets in their first windows: {begun}.",
        explanation=Explanation(
            "After a fast retransmit cwnd equals ssthresh, which is slow start: the next SACK adds a whole packet, as much as Phi round trips "
            "do.",
            runs=("flat-no-slow-start", "flat-many-no-slow-start"),
            parts=tuple(judge(THESIS, no_slow_start)),
        ),
        evidence=("plain-many",),
    )


def figure_5_28(one: Grid, root: Grid, level: Grid, engines: tuple[str, ...]) -> Figure:
    """Throughput (a) and fast retransmits (b)."""
    figure, (a, b) = plots.panels(2)
    for axes, measure in ((a, "mbps"), (b, "fr")):
        for engine, line in zip(engines, ("-", "--"), strict=False):
            for name, runs, at in (
                ("1", one, {}),
                ("n", root, {}),
                ("n^2", level, {"phi": "n^2"}),
                ("2n^2", level, {"phi": "2n^2"}),
            ):
                curve = runs.curve(measure, over="n", engine=engine, **at)
                if name == "n":
                    # With one subflow Phi = n is Phi = 1.
                    curve = begun(one.curve(measure, over="n", engine=engine).between(1, 1), curve)
                plots.curve(axes, curve, f"{phi.LABELS[name]}, {engine}", linestyle=line, **phi.LOOK[name])
    a.axhline(18.0, label="90 % of the link (a), its losses (b)", **plots.MODEL)
    b.axhline(P, **plots.MODEL)
    plots.label(a, "(a) throughput", "number of subflows", "throughput, Mbit/s")
    plots.label(
        b, "(b) Fast Retransmit rate", "number of subflows", "fast retransmits\nper packet sent", log_y=True
    )
    plots.legend_below(a, 4)
    return figure
