"""Code points that a network changes or drops: from runs to verdicts, figures and findings."""

from matplotlib.figure import Figure

from anabranch_lab import plots
from anabranch_lab.claims import Claim, above, below
from anabranch_lab.experiment import Analysis, claim_builder
from anabranch_lab.experiment import Figure as Entry
from anabranch_lab.grid import Grid
from anabranch_lab.results import Results

from ..common import drawing, measures

ONE = "one code point"
PLAIN = "four code points, plain"
LEVELS = ("four subflows, level 0", "four subflows, level 1")
CHANGED = ("bleaches all", "bleaches the call's")
DROPPED = ("drops EF", "polices EF to 32 kbit/s")
TABLE = (
    "audio_p99",
    "video_p99",
    "data_p99",
    "audio_in_time",
    "video_in_time",
    "total",
    "spurious",
    "timeouts",
)


def analyse(results: Results) -> Analysis:
    """What the lab asks an experiment for."""
    runs = results.grid("treatments", measures.MEASURES)
    return Analysis(
        claims=claims(claim_builder(results), runs),
        tables=[measures.table("Every point", runs, TABLE)],
        figures=[
            Entry(
                "figure-dscp-code-points",
                "Video and all user data behind a network that changes or drops code points",
                "Means and 95 % intervals; the bottleneck serves code points by priority. Video is in time within 200 ms.",
                lambda: figure(runs),
            )
        ],
        findings=[finding(runs, network) for network in runs.values("network")],
    )


def finding(runs: Grid, network: str) -> str:
    """What arrives in time, for each way."""

    def at(measure: str, how: str) -> str:
        return measures.text(runs, measure, {"network": network, "how": how})

    told = "; ".join(
        f"{how} {at('audio_in_time', how)} and {at('video_in_time', how)}, {at('total', how)} Mbit/s in all"
        for how in runs.values("how")
    )
    return f"A network that {network}: audio and video in time, %: {told}."


def claims(builder, runs: Grid) -> list[Claim]:
    """The hypotheses of claims.toml that name this experiment."""
    networks = runs.values("network")
    changed = [network for network in CHANGED if network in networks]
    dropped = [network for network in DROPPED if network in networks]
    return [
        builder.claim(
            "DS-12",
            [
                part(
                    runs,
                    measure,
                    {"network": network, "how": how},
                    {"network": network, "how": ONE},
                    factor,
                    f"{network}: {how} against {ONE}",
                )
                for network in changed
                for how in LEVELS
                for part, measure, factor in (
                    (measures.no_less, "total", 0.95),
                    (measures.no_more, "audio_p99", 1.2),
                )
            ],
            note="Several windows burst into one queue. Where missing reports are counted, and a retransmission is "
            "lost, too, audio waits for a timeout of at least 1 s (one queue, rules of RFC 9260); with an "
            "RTO.Min of 100 ms 99 % take 143 to 148 ms instead of 705 (four seeds), with RACK-TLP 85 to 137.",
        ),
        builder.claim(
            "DS-13",
            [
                *(
                    below(
                        f"{network}: {how}, {measures.NAMES['video_in_time']}",
                        50.0,
                        runs.at("video_in_time", network=network, how=how),
                    )
                    for network in dropped
                    for how in (PLAIN, LEVELS[0])
                ),
                *(
                    above(
                        f"{network}: {LEVELS[1]}, {measures.NAMES['video_in_time']}",
                        95.0,
                        runs.at("video_in_time", network=network, how=LEVELS[1]),
                    )
                    for network in dropped
                ),
            ],
        ),
    ]


def figure(runs: Grid) -> Figure:
    """A panel for video, one for everything."""
    networks = runs.values("network")
    drawn, panels = plots.panels(2, height=4.6)
    for axes, measure, letter in zip(panels, ("video_in_time", "total"), "ab", strict=True):
        ways = {
            how: [measures.known(runs, measure, {"network": network, "how": how}) for network in networks]
            for how in runs.values("how")
        }
        drawing.dots(axes, networks, ways)
        plots.label(
            axes, f"({letter}) {measures.NAMES[measure]}", "what the network does", measures.NAMES[measure]
        )
    drawing.legend(drawn, panels[0])
    return drawn
