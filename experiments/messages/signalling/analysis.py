"""Signalling: from runs to grades, figures and a finding."""

from matplotlib.figure import Figure

from anabranch_lab.judge.claims import Claim, ClaimBuilder
from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.run.grid import Grid, Sample
from anabranch_lab.run.results import Results
from anabranch_lab.show import plots

from ..common import drawing
from ..common.comparing import LOSSY, minus, over

# Milliseconds, of one run: the mean over the trunks of each one's percentile; the longest of all.
MEASURES = {
    "p50": "1e3 * avg(latency_p50_s) FILTER (kind = 'source')",
    "p99": "1e3 * avg(latency_p99_s) FILTER (kind = 'source')",
    "longest": "1e3 * max(latency_max_s) FILTER (kind = 'source')",
}

SHOWN = ("TCP", "TCP, linux-6.1", "one stream", "a stream each", "a stream each, RACK", "unordered")
"""Ways that are drawn; the other is in the tables."""

DRAWN_NETWORK = "50 ms"
"""The round trip that is drawn; the findings have both."""


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    runs = results.grid("signalling", MEASURES)
    return Analysis(
        claims=claims(claim_builder(results), runs),
        figures=[
            Entry(
                f"figure-signalling-{name}",
                title,
                f"Means and 95 % intervals, round trip {DRAWN_NETWORK}; a panel for each rate of all eight trunks together.",
                lambda measure=measure, label=label: figure(runs, measure, label),
            )
            for name, measure, title, label in (
                (
                    "p99",
                    "p99",
                    "99th percentile of the latency of a signalling message",
                    "99 % take no longer, ms",
                ),
                ("longest", "longest", "The slowest of all signalling messages", "longest, ms"),
            )
        ],
        findings=[
            finding(runs, network, rate) for network in runs.values("network") for rate in runs.values("rate")
        ],
    )


def finding(runs: Grid, network: str, rate: str) -> str:
    """One sentence: the 99th percentile and the longest where most is lost."""
    loss = runs.values("loss")[-1]

    def at(measure: str, how: str) -> str:
        return runs.at(measure, network=network, rate=rate, loss=loss, how=how).text(0)

    told = "; ".join(f"{how} {at('p99', how)} and {at('longest', how)}" for how in runs.values("how"))
    return (
        f"Round trip {network}, {rate} messages a second, {100 * loss:g} % lost: "
        f"99th percentile of a trunk and longest of all, ms: {told}."
    )


def claims(builder: ClaimBuilder, runs: Grid) -> list[Claim]:
    """The hypotheses of claims.toml that name this experiment."""
    rates = list(runs.values("rate"))

    def of(measure: str, how: str, network: str, rate: str, loss: float) -> Sample:
        return runs.sample(measure, network=network, rate=rate.removesuffix("/s"), loss=loss, how=how)

    def places(rates: list[str], losses: list[float]) -> list[tuple]:
        return [
            (net, f"{rate}/s", loss) for net in runs.values("network") for rate in rates for loss in losses
        ]

    lossy = [loss for loss in runs.values("loss") if loss >= LOSSY]
    everywhere = places(rates, lossy)
    found = {
        "M-11": minus(of, "p99", "one stream", "a stream each", places(rates[1:], lossy)),
        "M-12": minus(of, "p99", "TCP", "a stream each", everywhere),
        "M-13": minus(of, "longest", "a stream each", "a stream each, RACK", everywhere),
        "M-14": over(of, "p99", "a stream each", "unordered", everywhere),
        "M-15": over(of, "p50", "a stream each", "TCP", places(rates, [0])),
    }
    return [builder.claim(identifier, measured) for identifier, measured in found.items()]


def figure(runs: Grid, measure: str, label: str) -> Figure:
    """A panel for each rate, a curve for each way, at one round trip."""
    rates = runs.values("rate")
    drawn, panels = plots.panels(len(rates))
    for axes, rate, letter in zip(panels, rates, "abc", strict=False):
        for how, colour, marker in zip(SHOWN, (*plots.CYCLE, "black"), "osPv^D", strict=False):
            curve = {
                loss: runs.at(measure, network=DRAWN_NETWORK, rate=rate, how=how, loss=loss)
                for loss in runs.values("loss")
            }
            drawing.over_loss(axes, curve, how, colour, marker)
        plots.label(axes, f"({letter}) {rate} messages a second", "packets lost, %", label, log_y=True)
    panels[0].legend(fontsize="small")
    return drawn
