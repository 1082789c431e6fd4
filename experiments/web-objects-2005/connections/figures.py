"""R2 over the rate, and which way is faster."""

from matplotlib.figure import Figure

from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.run.grid import Grid
from anabranch_lab.show import plots

from . import judge

COLOURS = (*plots.CYCLE, plots.PUBLISHED, plots.OTHER, "#882255")
LOOKS = {"SCTP": "-", "SCTP of today": "-"}


def all_figures(runs: Grid, large: Grid) -> list[Entry]:
    """Two figures."""
    return [
        Entry(
            "ways",
            "A-X1: R2 of 50 objects over the rate of the line (100 ms one way)",
            "Buffers of 50 packets (a) and 500 (b); means and 95 % intervals.",
            lambda: ways(runs, large),
        ),
        Entry(
            "crossover",
            "A-X1: one association in percent of 50 parallel TCP connections",
            "Above 100 % the parallel connections are faster.",
            lambda: crossover(runs, large),
        ),
    ]


def ways(runs: Grid, large: Grid) -> Figure:
    """A curve for each way."""
    figure, panels = plots.panels(2, height=4.6)
    figure.set_size_inches(11.0, 4.6)
    for axes, grid, title in zip(panels, (runs, large), ("(a) 50 packets", "(b) 500 packets"), strict=True):
        for way, colour in zip(grid.values("way"), COLOURS, strict=False):
            curve = grid.curve("R2", over="rate", way=way)
            plots.curve(axes, curve, way, color=colour, linestyle=LOOKS.get(way, "--"), marker="o")
        plots.label(axes, title, "rate, kbit/s", "R2, s", log_x=True, log_y=True)
    panels[1].legend(fontsize=8)
    return figure


def crossover(runs: Grid, large: Grid) -> Figure:
    """The stacks of the thesis and of today."""
    figure, (axes,) = plots.panels(1, height=4.0)
    figure.set_size_inches(7.2, 4.0)
    pairs = (
        ("SCTP", "TCP in parallel", "stacks of 2001"),
        ("SCTP of today", "TCP of today in parallel", "today's"),
    )
    for (sctp, tcp, name), colour in zip(pairs, (plots.SCTP, plots.TCP), strict=True):
        for grid, line, buffer in ((runs, "-", 50), (large, "--", 500)):
            curve = judge.ratio(grid, sctp, tcp)
            plots.curve(axes, curve, f"{name}, buffer of {buffer}", color=colour, linestyle=line, marker="o")
    axes.axhline(100.0, color=plots.OTHER, linewidth=0.8)
    plots.label(
        axes,
        "A-X1: one association in % of 50 parallel TCP connections",
        "rate, kbit/s (100 ms one way)",
        "SCTP's R2, % of TCP's",
        log_x=True,
    )
    axes.legend()
    return figure
