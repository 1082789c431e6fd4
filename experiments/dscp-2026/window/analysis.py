"""One receive window for all code points: from runs to verdicts, figures and findings."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from anabranch_lab.judge.claims import Claim, Part, below
from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.run.grid import Grid
from anabranch_lab.run.results import Results
from anabranch_lab.show import plots

from ..common import drawing, measures

LEVELS = ("four subflows, level 0", "four subflows, level 1")
ONE_EF = "one code point, EF"
STARVED = 8.1
"""Mbit/s served before the file in the sweeps that have no such axis."""
BY_TIME = "rfc9260-rack"
"""What the scenario has by itself."""
MEASURES = {
    **measures.MEASURES,
    "others": "sum(goodput_wire_run_bps) FILTER (kind = 'flow' AND name = 'others') / 1e6",
}
measures.NAMES["others"] = "other traffic, Mbit/s"
TABLE = (
    "audio_p99",
    "video_p50",
    "video_p99",
    "data_p99",
    "video_in_time",
    "total",
    "others",
    "stalled",
    "spurious",
    "timeouts",
)


def analyse(results: Results) -> Analysis:
    """What the lab asks an experiment for."""
    runs = results.grid("starving", MEASURES)
    rules, three, others, apart = (
        results.grid(sweep, MEASURES) for sweep in ("rules", "three", "others", "apart")
    )
    builder = claim_builder(results)
    return Analysis(
        claims=[
            *claims(builder, runs),
            *claims_of_others(builder, rules, three, apart),
            of_one(builder, runs, others),
        ],
        tables=[
            measures.table(
                "Every point",
                runs,
                TABLE,
                "window: receive window, kB; starved: traffic that is served before the file, Mbit/s, 2 s on and 2 s off.",
                shown=False,
            ),
            *(
                measures.table(title, grid, TABLE, f"{STARVED:g} Mbit/s served before the file.", shown=False)
                for title, grid in (
                    ("Where missing reports are counted", rules),
                    ("Three code points, RACK-TLP", three),
                    ("Two associations, each with a window of that size", apart),
                    ("EF for all, and level 0 with DATA, RACK-TLP", others),
                )
            ),
        ],
        figures=[
            Entry(
                "figure-dscp-window",
                "Video over the size of the receive window that a starved file shares",
                "99th percentile; means and 95 % intervals; a panel for each rate of the traffic that is served before the file, 2 s on and 2 s off.",
                lambda: figure(runs, "video_p99"),
            ),
            Entry(
                "figure-dscp-window-others",
                "Video over the size of the receive window, by loss recovery: two associations, three code points, EF for all, DATA",
                f"99th percentile; means and 95 % intervals; {STARVED:g} Mbit/s are served before the file, 2 s on and 2 s off.",
                lambda: figure_of_others(runs, rules, (three, others), apart, "video_p99"),
            ),
        ],
        findings=[
            *(finding(runs, window) for window in (runs.values("window")[0], runs.values("window")[-1])),
            *(
                finding_of_others(rules, {"rules": each}, f"Losses found as in {drawing.RECOVERY[each]}")
                for each in rules.values("rules")
            ),
            finding_of_others(three, {}, "Three code points, RACK-TLP"),
            finding_of_others(others, {}, "EF for all, and level 0 with DATA, RACK-TLP"),
            *(
                finding_of_others(
                    apart,
                    {"rules": each},
                    f"A window for each association, losses found as in {drawing.RECOVERY[each]}",
                )
                for each in apart.values("rules")
            ),
        ],
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


def finding_of_others(runs: Grid, at: dict, told: str) -> str:
    """Video over the window, for each way."""
    windows = runs.values("window")

    def over(how: str) -> str:
        return ", ".join(
            measures.text(runs, "video_p99", {"window": window, "how": how, **at}) for window in windows
        )

    sizes = ", ".join(f"{window:g}" for window in windows)
    ways = "; ".join(f"{how} {over(how)}" for how in runs.values("how"))
    return f"{told}, {STARVED:g} Mbit/s served before the file: 99 % of video takes no longer than, ms, with windows of {sizes} kB: {ways}."


def claims_of_others(builder, rules: Grid, three: Grid, apart: Grid) -> list[Claim]:
    """The hypotheses about other loss recoveries, three code points and two associations."""
    windows = apart.values("window")

    def half(runs: Grid, at: dict, levels: tuple[str, str], told: str) -> list[Part]:
        """That level 1 needs 128 kB, and level 0 256 kB."""

        def place(window: float, how: str) -> dict:
            return {"window": window, "how": how, **at}

        zero, one = levels
        enough = [
            measures.no_more(
                runs,
                "video_p99",
                place(size, how),
                place(windows[-1], how),
                1.2,
                f"{told}, {how}: {size:g} kB against {windows[-1]:g} kB",
            )
            for size, how in ((128, one), (256, zero))
        ]
        less = measures.no_less(
            runs, "video_p99", place(128, zero), place(128, one), 2.0, f"{told}, 128 kB: {zero} against {one}"
        )
        return [*enough, less]

    others = [
        *(part for each in rules.values("rules") for part in half(rules, {"rules": each}, LEVELS, each)),
        *half(three, {}, ("three subflows, level 0", "three subflows, level 1"), BY_TIME),
    ]
    return [
        builder.claim(
            "DS-20",
            [
                measures.no_more(
                    apart,
                    "video_p99",
                    {"window": windows[0], "rules": each, "how": "two associations"},
                    {"window": windows[-1], "rules": each, "how": "two associations"},
                    1.2,
                    f"two associations, {each}: {windows[0]:g} kB against {windows[-1]:g} kB",
                )
                for each in apart.values("rules")
            ],
        ),
        builder.claim(
            "DS-21",
            others,
            note="It fails in one place: Linux 6.1 at level 0 with 256 kB, where 26 of 30 runs have 26 ms and four 167 to 2139: a retransmission "
            "of the file is lost, too, it waits for timeouts of 1 s and more, and what the call sends meanwhile fills the window behind "
            "the gap. Tried on these four, one at a time: 512 kB, an RTO.Min of 100 ms, each rule of Linux that differs; other runs "
            "stall then, none of these ends it in all four.",
        ),
    ]


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


def of_one(builder, runs: Grid, others: Grid) -> Claim:
    """DS-29: the highest code point for all, against subflows."""
    return builder.claim(
        "DS-29",
        [
            below(
                f"{window:g} kB: {how} minus half of {ONE_EF}, {measures.NAMES['audio_p99']}",
                0.0,
                (
                    runs.sample("audio_p99", window=window, starved=STARVED, how=how)
                    - others.sample("audio_p99", window=window, how=ONE_EF) * 0.5
                ).estimate,
            )
            for window in others.values("window")
            if window >= 256
            for how in LEVELS
        ],
    )


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
        over_windows(axes, f"({letter}) {rate:g} Mbit/s before the file", measure, windows)
    drawing.legend(drawn, panels[0])
    return drawn


def over_windows(axes: Axes, title: str, measure: str, windows: Sequence[float]) -> None:
    """A measure over the receive window, both in steps of a factor."""
    plots.label(axes, title, "receive window, kB", measures.NAMES[measure], log_x=True, log_y=True)
    drawing.sizes(axes, windows)


def figure_of_others(runs: Grid, rules: Grid, by_time: Sequence[Grid], apart: Grid, measure: str) -> Figure:
    """A panel for each loss recovery, a curve for each way; what `by_time` has was run with RACK-TLP alone."""
    panels_of = [*rules.values("rules"), BY_TIME]
    drawn, panels = plots.panels(len(panels_of))
    windows = apart.values("window")
    for axes, each, letter in zip(panels, panels_of, "abc", strict=False):
        ways = {}
        for how in rules.values("how"):
            grid, at = (runs, {"starved": STARVED}) if each == BY_TIME else (rules, {"rules": each})
            ways[how] = [
                measures.known(grid, measure, {"window": size, "how": how, **at}) for size in windows
            ]
        ways["two associations"] = [
            measures.known(apart, measure, {"window": size, "rules": each, "how": "two associations"})
            for size in windows
        ]
        for grid in by_time:
            for how in grid.values("how"):
                ways[how] = [
                    measures.known(grid, measure, {"window": size, "how": how}) if each == BY_TIME else None
                    for size in windows
                ]
        drawing.curves(axes, windows, ways)
        over_windows(axes, f"({letter}) {drawing.RECOVERY[each]}", measure, windows)
    drawing.legend(drawn, panels[0])
    return drawn
