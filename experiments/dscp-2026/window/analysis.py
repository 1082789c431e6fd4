"""One receive window for all code points: from runs to grades, figures and findings."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from anabranch_lab.judge.claims import Claim, ClaimBuilder
from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.run.grid import Grid
from anabranch_lab.run.results import Results
from anabranch_lab.show import plots
from anabranch_lab.stats import Estimate

from ..common import drawing, measures

LEVELS = ("four subflows, level 0", "four subflows, level 1")
ONE_EF = "one code point, EF"
STARVED = 8.1
"""Mbit/s served before the file in the sweeps that have no such axis."""
BY_TIME = "rfc9260-rack"
"""The engine of the scenario, where no sweep sets another."""
NOTES = {
    "DS-14": "With 256 kB level 0 has what it has with 1 MB, level 1 with 128 kB.",
    "DS-21": "With the rules of Linux 6.1 level 0 stalls in a few runs: a retransmission of the file is lost, too, it waits for timeouts of 1 s "
    "and more, and what the call sends meanwhile fills the window behind the gap.",
}
"""Remarks on claims, by their identifiers."""
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
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    runs = results.grid("starving", MEASURES)
    further = {name: results.grid(name, MEASURES) for name in ("rules", "three", "others", "apart")}
    rules, three, others, apart = further.values()
    return Analysis(
        claims=claims(claim_builder(results), runs, further),
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
    """Sentences on video and all user data where the file starves most."""
    starved = runs.values("starved")[-1]

    def at(measure: str, how: str) -> str:
        return measures.text(runs, measure, {"window": window, "starved": starved, "how": how})

    told = "; ".join(
        f"{how} {at('video_p99', how)}, {at('total', how)} Mbit/s in all" for how in runs.values("how")
    )
    return f"A receive window of {window:g} kB, {starved:g} Mbit/s served before the file: 99 % of video takes no longer than, ms: {told}."


def finding_of_others(runs: Grid, at: dict, told: str) -> str:
    """A sentence on video over the window, for each way."""
    windows = runs.values("window")

    def over(how: str) -> str:
        return ", ".join(
            measures.text(runs, "video_p99", {"window": window, "how": how, **at}) for window in windows
        )

    sizes = ", ".join(f"{window:g}" for window in windows)
    ways = "; ".join(f"{how} {over(how)}" for how in runs.values("how"))
    return f"{told}, {STARVED:g} Mbit/s served before the file: 99 % of video takes no longer than, ms, with windows of {sizes} kB: {ways}."


def claims(builder: ClaimBuilder, runs: Grid, further: Mapping[str, Grid]) -> list[Claim]:
    """The hypotheses of claims.toml that name this experiment; `further`: the other sweeps."""
    rules, three, others, apart = (further[name] for name in ("rules", "three", "others", "apart"))
    most = runs.values("window")[-1]

    def sizes(grid: Grid, size: float, **at: object) -> dict[str, Estimate]:
        """A small window over the largest."""
        told = ", ".join(
            f"{value:g} Mbit/s" if isinstance(value, float | int) else str(value) for value in at.values()
        )
        places = ({"window": each, **at} for each in (size, most))
        return measures.over(grid, "video_p99", *places, f"{told}: {size:g} kB over {most:g} kB")

    def half(grid: Grid, zero: str, one: str, **at: str) -> list[dict[str, Estimate]]:
        """Parts of the claim that level 1 needs 128 kB, and level 0 256 kB."""
        places = ({"window": 128, "how": how, **at} for how in (zero, one))
        told = f"{', '.join(at.values()) or 'three code points'}, 128 kB: level 0 over level 1"
        return [
            sizes(grid, 256, how=zero, **at),
            sizes(grid, 128, how=one, **at),
            measures.over(grid, "video_p99", *places, told),
        ]

    found = {
        "DS-14": [
            sizes(runs, runs.values("window")[0], starved=rate, how=how)
            for rate in runs.values("starved")
            for how in LEVELS
        ],
        "DS-20": [
            sizes(apart, apart.values("window")[0], rules=each, how="two associations")
            for each in apart.values("rules")
        ],
        "DS-21": [
            *(part for each in rules.values("rules") for part in half(rules, *LEVELS, rules=each)),
            *half(three, "three subflows, level 0", "three subflows, level 1"),
        ],
        "DS-29": [
            {
                f"{size:g} kB: {how} over {ONE_EF}, {measures.NAMES['audio_p99']}": runs.sample(
                    "audio_p99", window=size, starved=STARVED, how=how
                ).over(others.sample("audio_p99", window=size, how=ONE_EF))
            }
            for size in others.values("window")
            if size >= 256
            for how in LEVELS
        ],
    }
    return [
        builder.claim(each, measures.merged(parts), note=NOTES.get(each, "")) for each, parts in found.items()
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
        over_windows(axes, f"({letter}) {rate:g} Mbit/s before the file", measure, windows)
    drawing.legend(drawn, panels[0])
    return drawn


def over_windows(axes: Axes, title: str, measure: str, windows: Sequence[float]) -> None:
    """A measure over the receive window, both in steps of a factor."""
    plots.label(axes, title, "receive window, kB", measures.NAMES[measure], log_x=True, log_y=True)
    drawing.sizes(axes, windows)


def figure_of_others(runs: Grid, rules: Grid, by_time: Sequence[Grid], apart: Grid, measure: str) -> Figure:
    """A panel for each loss recovery, a curve for each way; the runs of `by_time` have RACK-TLP alone."""
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
