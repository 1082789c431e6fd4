"""Experiment XV: from runs to grades, a figure and a finding."""

from matplotlib.figure import Figure

from anabranch_lab.judge.comparison import Measured
from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.run import grid
from anabranch_lab.run.grid import Curve, Grid
from anabranch_lab.run.results import Results
from anabranch_lab.show import plots

from ..common import phi
from ..common.estimates import highest, peak, reached
from ..common.fair import begun

P = 1e-4
"""Losses of the link."""
FULL = 90.0
"""Utilisation, percent, from which subflows are `enough`."""
MEASURES = {
    "utilisation": f"100 * {grid.of_link('lossy', 'utilisation')}",
    "used": f"100 * {grid.of_flow('sf', 'goodput_payload_run_bps')} / 20e6",
    "mbps": f"{grid.of_flow('sf', 'goodput_wire_run_bps')} / 1e6",
    "fr": "sum(fast_retransmits) FILTER (kind = 'flow') / sum(packets_sent) FILTER (kind = 'flow')",
}
LONGER = "a queue of 200 packets"
USER_DATA = "utilisation as user data"


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    engine = results.plan.engines[0]
    one, root, one_longer, root_longer, few, many = (
        results.grid(name, MEASURES).only(engine=engine)
        for name in ("one", "root", "one-queue", "root-queue", "flat", "flat-many")
    )
    flat = few.joined(many)
    builder = claim_builder(results)
    used = {name: runs.curve("utilisation", over="n") for name, runs in (("1", one), ("n", root))}
    return Analysis(
        claims=[
            builder.claim(
                name,
                needed(runs),
                readings={LONGER: needed(longer), USER_DATA: needed(runs, "used")},
                note=f"Most is used, of 100 packets of queue, with {top(runs)}; of 200, with {top(longer)}.",
            )
            for name, runs, longer in (("Z-XV-1", one, one_longer), ("Z-XV-2", root, root_longer))
        ]
        + [
            builder.claim("Z-XV-3", congestion(one), readings={LONGER: congestion(one_longer)}),
            builder.claim("Z-XV-4", limited(flat)),
        ],
        figures=[
            Entry(
                "figure-5-28",
                "Fig. 5.28: throughput and fast retransmits over the number of subflows",
                "Means and 95 % intervals. Dotted: 90 % of the link, and the losses of the link.",
                lambda: figure_5_28(one, root, flat),
            )
        ],
        findings=[
            f"With Phi = 1 seven subflows use {used['1'].at(7).text()} % of the link, and {one_longer.at('utilisation', n=7).text()} % on a queue "
            f"of 200 packets; with Phi = n 27 use {used['n'].at(27).text()} and {root_longer.at('utilisation', n=27).text()} %.",
        ],
    )


def needed(runs: Grid, measure: str = "utilisation") -> dict[str, Measured]:
    """Z-XV-1 and Z-XV-2. Where 90 % are never reached no number of subflows is measured, and the first part says so."""
    used = runs.curve(measure, over="n")
    return {
        "highest mean utilisation, %": used.at(highest(used)),
        "subflows for 90 %": reached(used, FULL),
    }


def top(runs: Grid) -> str:
    """The number of subflows with the highest utilisation, in words."""
    used = runs.curve("utilisation", over="n")
    n = highest(used)
    return f"{n:g} subflows ({used.at(n).text()} %)"


def congestion(runs: Grid) -> dict[str, Measured]:
    """Z-XV-3: congestion begins where fast retransmits cost as much as half of the link's own errors."""
    rate, got = (runs.curve(measure, over="n") for measure in ("fr", "mbps"))
    return {
        "onset: fast retransmits reach 1.5 times the losses of the link at n": reached(rate, 1.5 * P),
        "highest mean throughput at n": peak(got),
        "throughput, n = 25 minus n = 9, Mbit/s": got.rise(9, 25),
        "fast retransmits, n = 25 / n = 5": rate.sample(25).over(rate.sample(5)),
    }


def limited(runs: Grid) -> dict[str, Measured]:
    """Z-XV-4."""
    parts: dict[str, Measured] = {}
    for name in ("n^2", "2n^2"):
        for n in (5, 9, 25):
            parts[f"fast retransmits, Phi = {name}, n = {n}"] = runs.at("fr", phi=name, n=n)
        parts[f"throughput over n, Phi = {name}"] = runs.curve("mbps", over="n", phi=name).change()
    return parts


def figure_5_28(one: Grid, root: Grid, level: Grid) -> Figure:
    """Throughput (a) and fast retransmits (b)."""
    figure, (a, b) = plots.panels(2)
    for axes, measure in ((a, "mbps"), (b, "fr")):
        alone: Curve = one.curve(measure, over="n")
        curves = {
            "1": alone,
            # With one subflow Phi = n is Phi = 1.
            "n": begun(alone.between(1, 1), root.curve(measure, over="n")),
            **{name: level.curve(measure, over="n", phi=name) for name in ("n^2", "2n^2")},
        }
        for name, curve in curves.items():
            plots.curve(axes, curve, phi.LABELS[name], **phi.LOOK[name])
    a.axhline(FULL / 100 * 20.0, label="90 % of the link (a), its losses (b)", **plots.MODEL)
    b.axhline(P, **plots.MODEL)
    plots.label(a, "(a) throughput", "number of subflows", "throughput, Mbit/s")
    plots.label(
        b, "(b) Fast Retransmit rate", "number of subflows", "fast retransmits\nper packet sent", log_y=True
    )
    plots.legend_below(a, 4)
    return figure
