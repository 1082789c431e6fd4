"""Figs. 5.2 and 5.5."""

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from anabranch_lab.judge.claims import Claim
from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.run.grid import Grid
from anabranch_lab.show import plots

from ..common.pages import NETWORKS, OBJECTS, longer, share


def all_figures(runs: Grid, claims: Mapping[str, Claim]) -> list[Entry]:
    """Every figure, in the order of the thesis."""
    return [
        Entry(
            "figure-5-2",
            "Fig. 5.2: MS scenario results, (a) SCTP and (b) TCP",
            "From R1, the first object, to R2, the last: bars on the left axis. Circles on the right axis: how much longer "
            "R2 is than in MS 1. In each network MS 1 to MS 8 from the left to the right.",
            lambda: figure_5_2(runs),
        ),
        Entry(
            "figure-5-5",
            "Fig. 5.5: SCTP's R2 in percent of TCP's",
            "Means and 95 % intervals (smaller than the marks); crosses are published values with their tolerance.",
            lambda: figure_5_5(runs, claims["A-F55"]),
        ),
    ]


def figure_5_2(runs: Grid) -> Figure:
    """Pairs of R1 and R2, one panel for each protocol."""
    figure, (a, b) = plots.rows(2, width=10.0, height=3.4)
    _intervals(a, runs, "SCTP", plots.SCTP)
    _intervals(b, runs, "TCP", plots.TCP)
    a.set_title("(a) SCTP")
    b.set_title("(b) TCP")
    return figure


def _intervals(axes: Axes, runs: Grid, protocol: str, colour: str) -> None:
    circles = axes.twinx()
    circles.spines["right"].set_visible(True)
    circles.grid(visible=False)
    ticks, names = [], []
    for group, network in enumerate(NETWORKS):
        for place, scenario in enumerate(OBJECTS):
            x = group * (len(OBJECTS) + 1.5) + place
            low, high = (
                runs.at(measure, network=network, scenario=scenario, protocol=protocol).mean
                for measure in ("R1", "R2")
            )
            axes.plot([x, x], [low, high], color=colour, linewidth=1.6, zorder=2)
            axes.plot([x, x], [low, high], color=colour, marker="_", markersize=7, linestyle="none", zorder=3)
            more = longer(runs, network, scenario, protocol).estimate.mean
            circles.plot(
                x,
                more,
                color=plots.PUBLISHED,
                marker="o",
                markersize=5,
                markerfacecolor="none",
                linestyle="none",
            )
            ticks.append(x)
            names.append(scenario[3:] + (f"\n{network}" if place == 4 else ""))
    axes.set_yscale("log")
    axes.set_ylabel("R1 to R2, s")
    axes.set_xticks(ticks, names, fontsize=8)
    axes.tick_params(axis="x", labelbottom=True)
    circles.set_ylabel("R2 over MS 1, % (circles)")
    circles.set_ylim(-10, 290)


def figure_5_5(runs: Grid, claim: Claim) -> Figure:
    """A line for each network."""
    figure, (axes,) = plots.panels(1, height=4.0)
    figure.set_size_inches(7.2, 4.0)
    for network, colour, marker in zip(NETWORKS, plots.CYCLE, "os^Dv", strict=False):
        found = [share(runs, network, scenario).estimate for scenario in OBJECTS]
        axes.errorbar(
            range(1, len(OBJECTS) + 1),
            [each.mean for each in found],
            yerr=[each.half for each in found],
            label=network,
            color=colour,
            marker=marker,
            markersize=4.5,
            capsize=2.5,
        )
    names = list(OBJECTS)
    printed = {"MS 6, least of the networks, %": "MS 6", "B1, MS 8, %": "MS 8"}
    plots.published(axes, claim, {at: 1 + names.index(scenario) for at, scenario in printed.items()})
    plots.label(axes, "Fig. 5.5: SCTP R2 result in percentage of TCP", "", "SCTP's R2, % of TCP's")
    axes.set_xticks(
        range(1, len(OBJECTS) + 1), [f"{name}\n{count}" for name, count in OBJECTS.items()], fontsize=9
    )
    axes.set_xlabel("scenario, and objects in it")
    axes.set_ylim(0, 110)
    axes.legend()
    return figure
