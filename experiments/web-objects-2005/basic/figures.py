"""Fig. 5.1."""

from matplotlib.figure import Figure

from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.run.grid import Grid
from anabranch_lab.show import plots

from ..common.pages import BASIC, NETWORKS, share


def all_figures(runs: Grid) -> list[Entry]:
    """One figure."""
    return [
        Entry(
            "figure-5-1",
            "Fig. 5.1: BASIC scenario results",
            "R2 of SCTP in percent of TCP's (solid, left), and the difference in seconds (dashed, right), with 95 % intervals.",
            lambda: figure_5_1(runs),
        )
    ]


def figure_5_1(runs: Grid) -> Figure:
    """The networks of each scenario beside each other, as the thesis has them."""
    figure, (axes,) = plots.panels(1, height=4.2)
    figure.set_size_inches(9.0, 4.2)
    seconds = axes.twinx()
    seconds.spines["right"].set_visible(True)
    seconds.grid(visible=False)
    ticks, names = [], []
    for group, scenario in enumerate(BASIC):
        x = [group * (len(NETWORKS) + 1) + place for place in range(len(NETWORKS))]
        percent = [share(runs, network, scenario).estimate for network in NETWORKS]
        sctp, tcp = (
            [runs.sample("R2", network=network, scenario=scenario, protocol=protocol) for network in NETWORKS]
            for protocol in ("SCTP", "TCP")
        )
        late = [(mine - yours).estimate for mine, yours in zip(sctp, tcp, strict=True)]
        look = {"capsize": 2.5, "markersize": 5.0, "elinewidth": 1.0}
        axes.errorbar(
            x,
            [each.mean for each in percent],
            yerr=[each.half for each in percent],
            color=plots.SCTP,
            marker="o",
            label="SCTP in % of TCP" if group == 0 else None,
            **look,
        )
        seconds.errorbar(
            x,
            [each.mean for each in late],
            yerr=[each.half for each in late],
            color=plots.TCP,
            marker="s",
            linestyle="--",
            label="SCTP - TCP, s" if group == 0 else None,
            **look,
        )
        ticks += x
        names += [f"{network}\n{scenario if place == 2 else ''}" for place, network in enumerate(NETWORKS)]
    plots.label(axes, "", "", "SCTP's R2, % of TCP's")
    axes.set_xticks(ticks, names, fontsize=9)
    axes.axhline(100.0, color=plots.OTHER, linewidth=0.8)
    axes.set_ylim(85, 120)
    seconds.set_ylabel("difference, s")
    seconds.set_ylim(-1.5, 2.0)
    lines = [*axes.get_legend_handles_labels()[0], *seconds.get_legend_handles_labels()[0]]
    axes.legend(lines, [line.get_label() for line in lines], loc="upper right")
    return figure
