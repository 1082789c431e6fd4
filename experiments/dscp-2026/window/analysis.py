"""One receive window for all code points: from runs to verdicts, figures and findings."""

from matplotlib.figure import Figure

from anabranch_lab import plots
from anabranch_lab.claims import Claim
from anabranch_lab.experiment import Analysis, claim_builder
from anabranch_lab.experiment import Figure as Entry
from anabranch_lab.grid import Grid
from anabranch_lab.results import Results

from ..common import drawing, measures

LEVELS = ("four subflows, level 0", "four subflows, level 1")
TABLE = ("audio_p99", "video_p99", "data_p99", "video_in_time", "total", "spurious", "timeouts")


def analyse(results: Results) -> Analysis:
    """What the lab asks an experiment for."""
    runs = results.grid("starving", measures.MEASURES)
    return Analysis(
        claims=claims(claim_builder(results), runs),
        tables=[
            measures.table(
                "Every point",
                runs,
                TABLE,
                "window: receive window, kB; starved: traffic that is served before the file, Mbit/s, 2 s on and 2 s off.",
                shown=False,
            )
        ],
        figures=[
            Entry(
                "figure-dscp-window",
                "Video over the size of the receive window that a starved file shares",
                "99th percentile; means and 95 % intervals; a panel for each rate of the traffic that is served before the file, 2 s on and 2 s off.",
                lambda: figure(runs, "video_p99"),
            )
        ],
        findings=[finding(runs, window) for window in (runs.values("window")[0], runs.values("window")[-1])],
    )


def finding(runs: Grid, window: float) -> str:
    """Video and everything where the file starves most."""
    starved = runs.values("starved")[-1]

    def at(measure: str, how: str) -> str:
        return measures.text(runs, measure, {"window": window, "starved": starved, "how": how})

    told = "; ".join(
        f"{how} {at('video_p99', how)}, {at('total', how)} Mbit/s in all" for how in runs.values("how")
    )
    return f"A receive window of {window:g} kB, {starved:g} Mbit/s served before the file: 99 % of video takes no longer than, ms: {told}."


def claims(builder, runs: Grid) -> list[Claim]:
    """The hypotheses of claims.toml that name this experiment."""
    windows = runs.values("window")

    def place(window: float, starved: float, how: str) -> dict:
        return {"window": window, "starved": starved, "how": how}

    return [
        builder.claim(
            "DS-14",
            [
                measures.no_more(
                    runs,
                    "video_p99",
                    place(windows[0], starved, how),
                    place(windows[-1], starved, how),
                    2.0,
                    f"{how}, {starved:g} Mbit/s: {windows[0]:g} kB against {windows[-1]:g} kB",
                )
                for starved in runs.values("starved")
                for how in LEVELS
            ],
            note="With 256 kB level 0 has what it has with 1 MB, level 1 with 128 kB.",
        ),
    ]


def figure(runs: Grid, measure: str) -> Figure:
    """A panel for each rate, a curve for each way."""
    rates, windows = runs.values("starved"), runs.values("window")
    drawn, panels = plots.panels(len(rates))
    for axes, rate, letter in zip(panels, rates, "abc", strict=False):
        ways = {
            how: [
                measures.known(runs, measure, {"window": window, "starved": rate, "how": how})
                for window in windows
            ]
            for how in runs.values("how")
        }
        drawing.curves(axes, windows, ways)
        plots.label(
            axes,
            f"({letter}) {rate:g} Mbit/s before the file",
            "receive window, kB",
            measures.NAMES[measure],
            log_x=True,
            log_y=True,
        )
    drawing.legend(drawn, panels[0])
    return drawn
