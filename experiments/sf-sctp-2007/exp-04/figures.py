"""The figures of experiment IV."""

from matplotlib.figure import Figure

from anabranch_lab.judge.claims import Claim
from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.run import series
from anabranch_lab.run.grid import Grid
from anabranch_lab.run.results import Results
from anabranch_lab.show import plots

from ..common import bottleneck, pictures


def all_figures(results: Results, runs: Grid, claim: Claim) -> list[Entry]:
    """Every figure, in the order of the thesis; `claim`: the published utilisation."""
    return [
        Entry(
            "figure-5-9",
            "Fig. 5.9: window, rate and queue with one subflow and with four",
            "One recorded run of the engine of the thesis, its last 30 s.",
            lambda: figure_5_9(results),
        ),
        Entry(
            "figure-5-14",
            "Fig. 5.14: utilisation and drop rate over the number of subflows",
            "Means and 95 % intervals for both engines; crosses are published values with their tolerance.",
            lambda: pictures.use_and_drops(runs, claim),
        ),
        Entry(
            "figure-5-19",
            "Fig. 5.19: windows of subflows 0 and 1 of four",
            "30 s of one recorded run of the engine of the thesis.",
            lambda: figure_5_19(results),
        ),
    ]


def figure_5_9(results: Results) -> Figure:
    """One subflow (a) and four (b)."""
    columns = []
    for title, n in (("(a) one subflow", 1), ("(b) four subflows", 4)):
        (samples,) = series.load(results, "pictures", {"engine": results.plan.engines[0], "n": n}).values()
        columns.append((title, samples))
    return bottleneck.picture(columns, 1170.0, 1200.0)


def figure_5_19(results: Results) -> Figure:
    """Drop-Tail (a) and RED (b)."""
    figure, panels = plots.panels(2)
    at = {"engine": results.plan.engines[0], "n": 4}
    told = (("sampled", "(a) experiment IV, Drop-Tail"), ("sampled-red", "(b) experiment VIII, RED"))
    for axes, (sweep, title) in zip(panels, told, strict=True):
        samples = next(iter(series.load(results, sweep, at).values()))
        for number, colour in enumerate((plots.SCTP, plots.TCP)):
            sender = samples.sender("sf", number)
            shown = sender.time >= sender.time[-1] - 30
            axes.plot(
                sender.time[shown],
                sender.cwnd[shown] / bottleneck.MTU,
                color=colour,
                linewidth=1.0,
                label=f"subflow {number}",
            )
        axes.set_ylim(bottom=0)
        plots.label(axes, title, "time, s", "cwnd, 1500 B packets")
    panels[0].legend()
    return figure
