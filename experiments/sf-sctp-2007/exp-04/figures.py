"""The figures of experiment IV."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from anabranch_lab import plots
from anabranch_lab.experiment import Figure as Entry
from anabranch_lab.grid import Grid


def all_figures(runs: Grid, engines: Sequence[str]) -> list[Entry]:
    """In the order of the thesis."""
    return [
        Entry(
            "figure-5-14",
            "Fig. 5.14: utilisation and drop rate over the number of subflows",
            "Means and 95 % intervals for both engines; crosses are printed values.",
            lambda: figure_5_14(runs, engines),
        )
    ]


def figure_5_14(runs: Grid, engines: Sequence[str]) -> Figure:
    """Utilisation (a) and drop rate (b)."""
    figure, (a, b) = plots.panels(2)
    for engine in engines:
        plots.curve(a, runs.curve("utilisation", over="n", engine=engine), engine)
        plots.curve(b, runs.curve("drop_rate", over="n", engine=engine), engine)
    plots.printed(a, [1, 12], [92.0, 95.4])
    plots.label(a, "(a) utilisation", "number of subflows", "%")
    plots.label(b, "(b) drop rate", "number of subflows", "drops per packet")
    a.legend()
    return figure
