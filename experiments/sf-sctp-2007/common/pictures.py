"""Figures that several experiments have: windows over time, and two measures over an axis."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from anabranch_lab.judge.claims import Claim
from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.run import series
from anabranch_lab.run.grid import Grid
from anabranch_lab.run.results import Results
from anabranch_lab.show import plots

from . import bottleneck


def over_time(
    results: Results, name: str, title: str, start: float, end: float, subflows: Sequence[int] = (1, 4)
) -> Entry:
    """Window, rate and queue of the sweep `pictures`, a column for each number of subflows."""

    def draw() -> Figure:
        columns = []
        for letter, n in zip("abcd", subflows, strict=False):
            (samples,) = series.load(
                results, "pictures", {"engine": results.plan.engines[0], "n": n}
            ).values()
            columns.append((f"({letter}) {n} subflow{'s' if n > 1 else ''}", samples))
        return bottleneck.picture(columns, start, end)

    return Entry(name, title, "One recorded run of the engine of the thesis.", draw)


def over_axis(runs: Grid, axis: str, label: str, name: str, title: str) -> Entry:
    """User data and drop rate along an axis, one subflow and four, every engine."""

    def draw() -> Figure:
        figure, (a, b) = plots.panels(2)
        for engine in runs.values("engine"):
            # White inside, not open: a bar would be seen through it.
            for n, inside in ((1, {}), (4, {"markerfacecolor": "white", "markersize": 6.0})):
                for axes, what in ((a, "user_data"), (b, "drop_rate")):
                    curve = runs.curve(what, over=axis, engine=engine, n=n)
                    if axes is a and axis == "rate":
                        curve = bottleneck.of_rate(curve)
                    plots.curve(axes, curve, f"{engine}, n = {n}", **inside, **plots.ENGINES[engine])
        plots.label(a, "(a) network utilisation", label, "user data, % of the link")
        plots.label(b, "(b) network drop rate", label, "drops per packet", log_y=True)
        plots.legend_below(a, 2)
        return figure

    return Entry(name, title, "Means and 95 % intervals; white marks are four subflows.", draw)


def use_and_drops(runs: Grid, claim: Claim) -> Figure:
    """Utilisation (a) and drop rate (b) over the number of subflows; `claim`: the published utilisation."""
    figure, (a, b) = plots.panels(2)
    for engine in runs.values("engine"):
        plots.curve(a, runs.curve("user_data", over="n", engine=engine), engine)
        plots.curve(b, runs.curve("drop_rate", over="n", engine=engine), engine)
    plots.published(a, claim, {"n = 1, %": 1, "n = 12, %": 12})
    plots.label(a, "(a) network utilisation", "number of subflows", "user data, % of the link")
    plots.label(b, "(b) network drop rate", "number of subflows", "drops per packet")
    a.legend()
    return figure
