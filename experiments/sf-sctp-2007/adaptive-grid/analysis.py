"""X-10: shares of the adaptive coupling on a grid of networks, as one heat map."""

import numpy as np
from matplotlib.colors import TwoSlopeNorm
from matplotlib.figure import Figure

from anabranch_lab.judge.comparison import Measured
from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.run import grid
from anabranch_lab.run.grid import Grid, Sample
from anabranch_lab.run.results import Results
from anabranch_lab.show import plots
from anabranch_lab.stats import Estimate

SHARED = {
    "sf": grid.of_flow("sf", "goodput_payload_run_bps"),
    "single": grid.of_flow("single", "goodput_payload_run_bps"),
}
ALONE = {"used": grid.of_flow("sf", "goodput_payload_run_bps")}

PLAIN = "1"
SHOWN = ("2, adaptive", "8, adaptive", "30, adaptive", "8, n^2", "8, independent")
"""Subflows and couplings in the figure, in this order."""
LOW, HIGH = 0.8, 1.5
"""Shares that are fair enough, for the figure and the findings."""

LOSSY = "lost"
"""The ending of the names of networks with random losses."""

Shares = dict[tuple[str, str, str], Estimate]
"""By network, competitor and how the subflows are coupled."""


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    runs, alone = results.grid("shared", SHARED), results.grid("alone", ALONE)
    shares = all_shares(runs)
    return Analysis(
        claims=[claim_builder(results).claim("X-10", measured(runs, shares, alone))],
        figures=[
            Entry(
                "shares",
                "X-10: share of the association, over that of one without subflows in its place",
                "Means; 1 is fair. Rows are networks (20 Mbit/s, a round trip of 100 ms where nothing else is said; queues in bandwidth-delay products, BDP), columns "
                "competitors, numbers of subflows and couplings. Darker is farther from 1, by factors; bold is outside 0.8 to 1.5.",
                lambda: figure(runs, shares),
            )
        ],
        findings=findings(runs, shares, alone),
    )


def all_shares(runs: Grid) -> Shares:
    """Goodput over that of the competitor, divided by the same for one association without subflows."""
    found = {}
    for network in runs.values("network"):
        for other in runs.values("other"):
            over = {
                how: runs.sample("sf", network=network, other=other, how=how)
                / runs.sample("single", network=network, other=other, how=how)
                for how in runs.values("how")
            }
            for how in runs.values("how"):
                if how != PLAIN:
                    found[network, other, how] = (over[how] / over[PLAIN]).estimate
    return found


def adaptive(runs: Grid) -> list[str]:
    """The adaptive couplings, which are judged."""
    return [how for how in runs.values("how") if how.endswith("adaptive")]


def used(alone: Grid, network: str, how: str) -> Sample:
    """The coupling's use of a link for itself, as a ratio to that of independent subflows."""
    count = how.split(",")[0]
    return alone.sample("used", network=network, how=how) / alone.sample(
        "used", network=network, how=f"{count}, independent"
    )


def measured(shared: Grid, shares: Shares, alone: Grid) -> dict[str, Measured]:
    """X-10."""
    parts: dict[str, Measured] = {}
    for network in shared.values("network"):
        for how in adaptive(shared):
            every = (shares[network, other, how] for other in shared.values("other"))
            found = sorted(every, key=lambda each: each.mean)
            parts[f"{network}, {how}: smallest share"] = found[0]
            parts[f"{network}, {how}: largest share"] = found[-1]
    for network in alone.values("network"):
        for how in adaptive(alone):
            parts[f"{network}, alone, {how}: over independent"] = used(alone, network, how)
    return parts


def findings(shared: Grid, shares: Shares, alone: Grid) -> list[str]:
    """How often the goal is met, and the cases where it is not, in words."""
    told = []
    for how in (how for how in SHOWN if how in shared.values("how")):
        places = [
            (network, other, shares[network, other, how].mean)
            for network in shared.values("network")
            for other in shared.values("other")
        ]
        fair = sum(LOW <= mean <= HIGH for *_, mean in places)
        worst = sorted(places, key=lambda place: -abs(np.log(place[2])))[:3]
        far = ", ".join(f"{mean:.2f} ({network}, beside {other})" for network, other, mean in worst)
        told.append(
            f"{coupled(how)}: {fair} of {len(places)} shares between {LOW} and {HIGH}; farthest from 1: {far}."
        )
    for how in adaptive(alone):
        least = min(
            ((used(alone, network, how).estimate.mean, network) for network in alone.values("network")),
        )
        told.append(
            f"Alone, {coupled(how)}: at least {100 * least[0]:.0f} % of what independent subflows use ({least[1]})."
        )
    return told + [harm(shared, network) for network in shared.values("network") if network.endswith(LOSSY)]


def harm(shared: Grid, network: str) -> str:
    """The competitor's share of its rate beside one association without subflows, and the use of the link by both.

    Where one flow is held down by losses that are not the queue's, a share says how much of the rest the association takes, and this whether
    it takes it from the competitor.
    """

    def both(how: str) -> list[tuple[float, float]]:
        at = [{"network": network, "other": other, "how": how} for other in shared.values("other")]
        return [(shared.at("sf", **each).mean / 1e6, shared.at("single", **each).mean / 1e6) for each in at]

    def used(how: str) -> str:
        return ranged([mine + theirs for mine, theirs in both(how)], ".1f")

    def kept(how: str) -> str:
        shares = [100 * now / then for (_, now), (_, then) in zip(both(how), both(PLAIN), strict=True)]
        return f"{coupled(how)} {ranged(shares, '.0f')} % (together {used(how)} Mbit/s)"

    found = "; ".join(kept(how) for how in SHOWN if how in shared.values("how"))
    return f"{network}: one association and its competitor use {used(PLAIN)} Mbit/s. Of what it has there the competitor keeps beside {found}."


def ranged(values: list[float], digits: str) -> str:
    """The smallest to the largest."""
    low, high = (f"{value:{digits}}" for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def named(network: str) -> str:
    """The name of a network in the figure."""
    return network.replace("BDP", "BDP of queue").replace("other 200 ms", "competitor's round trip 200 ms")


def coupled(how: str) -> str:
    """The name of a number of subflows with a coupling, in texts and figures."""
    return how.replace(", ", " subflows, ")


def figure(runs: Grid, shares: Shares) -> Figure:
    """One heat map of all cases."""
    rows = list(runs.values("network"))
    shown = [how for how in SHOWN if how in runs.values("how")]
    columns = [(other, how) for other in runs.values("other") for how in shown]
    values = np.array([[shares[network, other, how].mean for other, how in columns] for network in rows])
    drawn, (axes,) = plots.panels(1, height=1.6 + 0.36 * len(rows))
    drawn.set_figwidth(3.2 + 0.52 * len(columns))
    image = axes.imshow(
        np.log2(np.clip(values, 1 / 16, 16)),
        cmap="RdBu_r",
        norm=TwoSlopeNorm(0.0, vmin=-4.0, vmax=4.0),
        aspect="auto",
    )
    for y, row in enumerate(values):
        for x, value in enumerate(row):
            bold = "normal" if LOW <= value <= HIGH else "bold"
            colour = "white" if abs(np.log2(value)) > 2.5 else "black"
            axes.text(
                x,
                y,
                f"{value:.2f}" if value < 9.95 else f"{value:.0f}",
                ha="center",
                va="center",
                fontsize=7,
                fontweight=bold,
                color=colour,
            )
    axes.set_yticks(range(len(rows)), [named(row) for row in rows], fontsize="small")
    axes.set_xticks(range(len(columns)), [coupled(how) for _, how in columns], rotation=90, fontsize=7)
    count = len(columns) // max(1, len(runs.values("other")))
    for place, other in enumerate(runs.values("other")):
        axes.text((place + 0.5) * count - 0.5, -0.7, f"beside {other}", ha="center", va="bottom", fontsize=8)
        if place:
            axes.axvline(place * count - 0.5, color="black", linewidth=1.0)
    axes.grid(visible=False)
    bar = drawn.colorbar(image, ax=axes, ticks=[-3, -2, -1, 0, 1, 2, 3], fraction=0.03)
    bar.ax.set_yticklabels(["1/8", "1/4", "1/2", "1", "2", "4", "8"])
    bar.set_label("share; bold: outside 0.8 to 1.5")
    return drawn
