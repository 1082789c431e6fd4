"""Signalling: from runs to verdicts, figures and a finding."""

from matplotlib.figure import Figure

from anabranch_lab.judge.claims import Claim, ClaimBuilder, Part, above, below
from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.run.grid import Grid
from anabranch_lab.run.results import Results
from anabranch_lab.show import plots

from ..common import drawing

# Milliseconds, of one run: the mean over the trunks of each one's percentile; the longest of all.
MEASURES = {
    "p50": "1e3 * avg(latency_p50_s) FILTER (kind = 'source')",
    "p99": "1e3 * avg(latency_p99_s) FILTER (kind = 'source')",
    "longest": "1e3 * max(latency_max_s) FILTER (kind = 'source')",
}

LOSSY = 0.01
"""From this probability on a loss is an everyday event."""

SHOWN = ("TCP", "TCP, linux-6.1", "one stream", "a stream each", "a stream each, RACK", "unordered")
"""Ways that are drawn; the other is in the tables."""

DRAWN_NETWORK = "50 ms"
"""The round trip that is drawn; the findings have both."""


def analyse(results: Results) -> Analysis:
    """What the lab asks an experiment for."""
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
    lossy = [loss for loss in runs.values("loss") if loss >= LOSSY]
    rates = list(runs.values("rate"))
    return [
        builder.claim("M-11", longer(runs, "p99", "one stream", "a stream each", rates[1:], lossy)),
        builder.claim("M-12", longer(runs, "p99", "TCP", "a stream each", rates, lossy)),
        builder.claim("M-13", longer(runs, "longest", "a stream each", "a stream each, RACK", rates, lossy)),
        builder.claim("M-14", as_good(runs, "p99", "a stream each", "unordered", rates, lossy, 1.1)),
        builder.claim("M-15", as_good(runs, "p50", "a stream each", "TCP", rates, [0], 1.01)),
    ]


def sample(runs: Grid, measure: str, how: str, network: str, rate: str, loss: float):
    """A value for each seed."""
    return runs.sample(measure, network=network, rate=rate, loss=loss, how=how)


def longer(
    runs: Grid, measure: str, slow: str, fast: str, rates: list[str], losses: list[float]
) -> list[Part]:
    """One way takes longer than another, seed by seed."""
    return [
        above(
            f"{network}, {rate}/s, loss {loss:g}: {slow} minus {fast}, {measure}, ms",
            0.0,
            (
                sample(runs, measure, slow, network, rate, loss)
                - sample(runs, measure, fast, network, rate, loss)
            ).estimate,
        )
        for network in runs.values("network")
        for rate in rates
        for loss in losses
    ]


def as_good(
    runs: Grid, measure: str, one: str, other: str, rates: list[str], losses: list[float], factor: float
) -> list[Part]:
    """One way takes at most that many times as long as another."""
    return [
        below(
            f"{network}, {rate}/s, loss {loss:g}: {one} minus {factor:g} times {other}, {measure}, ms",
            0.0,
            (
                sample(runs, measure, one, network, rate, loss)
                - sample(runs, measure, other, network, rate, loss) * factor
            ).estimate,
        )
        for network in runs.values("network")
        for rate in rates
        for loss in losses
    ]


def figure(runs: Grid, measure: str, label: str) -> Figure:
    """A panel for each rate, a curve for each way, at one round trip."""
    rates = runs.values("rate")
    drawn, panels = plots.panels(len(rates))
    for axes, rate, letter in zip(panels, rates, "abc", strict=False):
        for how, colour, marker in zip(SHOWN, (*plots.CYCLE, "black"), "osPv^D", strict=False):
            curve = runs.curve(measure, over="loss", network=DRAWN_NETWORK, rate=rate, how=how)
            drawing.over_loss(axes, curve, how, colour, marker)
        plots.label(axes, f"({letter}) {rate} messages a second", "packets lost, %", label, log_y=True)
    panels[0].legend(fontsize="small")
    return drawn
