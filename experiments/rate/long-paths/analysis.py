"""Long paths: from runs to grades, figures and a finding."""

from collections.abc import Iterable

import numpy as np
from matplotlib.figure import Figure

from anabranch_lab.judge.claims import Claim, ClaimBuilder
from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.judge.figures import Table
from anabranch_lab.run import grid, series
from anabranch_lab.run.grid import Grid, Sample
from anabranch_lab.run.results import Results
from anabranch_lab.run.series import Samples
from anabranch_lab.show import plots

MEASURES = {
    "goodput": f"{grid.of_flow('f', 'goodput_payload_run_bps')} / 1e6",
    "queue": grid.of_link("path", "queue_mean_packets"),
}

RATES = {"50 Mbit/s, 300 ms": 50.0, "1 Gbit/s, 20 ms": 1000.0}
"""Mbit/s of the bottleneck, where it is not 100."""

TRANSFER = {
    "seconds": grid.of_flow("f", "completion_s"),
    "dropped": grid.of_link("path", "drops_queue"),
}
SHORT = "10 MB over 100 Mbit/s, 100 ms"
"""The size and the path of the sweeps of a transfer."""

LONG = ("100 Mbit/s, 100 ms", "50 Mbit/s, 300 ms")
"""Paths that hold more than a window of 1 MiB."""
PLAIN, CUBIC, BBR = "SCTP, RFC 9260", "SCTP CUBIC", "SCTP BBR"
TCP, TCP_BBR = "TCP CUBIC", "TCP BBR"
WINDOW = 1.0
"""Seconds over which a rate is taken when it is asked when 90 % is reached."""


def rate(path: str) -> float:
    """The rate of the bottleneck of a path, Mbit/s."""
    return RATES.get(path, 100.0)


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    runs = results.grid("alone", MEASURES)
    transfer = results.grid("transfer", TRANSFER)
    return Analysis(
        claims=claims(claim_builder(results), runs, transfer),
        tables=[table(results, runs), transfers(transfer)],
        figures=[
            Entry(
                "figure-goodput",
                "Part of the rate of the bottleneck that is user data, from the first packet on",
                "Means and 95 % intervals over 30 s, at 1 Gbit/s over 10 s.",
                lambda: goodput(runs),
            ),
            *(
                Entry(
                    f"figure-{number}",
                    f"Window and queue: {path}",
                    "One recorded run each, sampled every tenth of a second.",
                    lambda path=path: over_time(results, "pictures", path, network=path),
                )
                for number, path in enumerate(runs.values("network"), 1)
            ),
            Entry(
                "figure-transfer",
                f"Window and queue: {SHORT}",
                "One recorded run each, sampled every fiftieth of a second, until the last byte has come.",
                lambda: over_time(results, "transfer-pictures", SHORT),
            ),
        ],
        findings=[*(finding(runs, path) for path in runs.values("network")), of_transfers(transfer)],
    )


def of_transfers(transfer: Grid) -> str:
    """One sentence: how long 10 MB take."""
    told = "; ".join(
        f"{who} {transfer.at('seconds', who=who).text(2)} ({transfer.at('dropped', who=who).text(0)})"
        for who in transfer.values("who")
    )
    return f"{SHORT}: seconds from INIT or SYN to the last byte, and packets that the queue drops: {told}."


def transfers(transfer: Grid) -> Table:
    """How long 10 MB take."""
    return Table(
        f"{SHORT}: seconds from INIT or SYN until the receiving application has the last byte",
        ["who", "seconds", "packets that the queue drops"],
        [
            [who, transfer.at("seconds", who=who).text(3), transfer.at("dropped", who=who).text(0)]
            for who in transfer.values("who")
        ],
    )


def finding(runs: Grid, path: str) -> str:
    """One sentence: goodput and mean queue of each."""
    told = "; ".join(
        f"{who} {runs.at('goodput', who=who, network=path).text(1)} ({runs.at('queue', who=who, network=path).text(0)})"
        for who in runs.values("who")
    )
    return f"{path}: goodput, Mbit/s, and packets in the queue in the mean: {told}."


def reached(samples: Samples, target: float) -> float:
    """Seconds until new data came at `target` Mbit/s for a second; without end where it never did."""
    receiver = samples.receiver("f")
    width = max(1, round(WINDOW / receiver.interval))
    if len(receiver.rate) < width:
        return float("inf")
    means = np.convolve(receiver.rate, np.ones(width) / width, mode="valid") / 1e6
    (found,) = np.nonzero(means >= target)
    return float(receiver.time[found[0] + width - 1]) if len(found) else float("inf")


def parts(samples: Samples) -> dict[str, float]:
    """The times at which nine tenths of each rate of the bottlenecks were reached, s."""
    return {f"{whole:g}": reached(samples, 0.9 * whole) for whole in (50.0, 100.0, 1000.0)}


def table(results: Results, runs: Grid) -> Table:
    """The time at which 90 % of the rate is reached: the median of the recorded runs."""
    times = series.measure(results, "pictures", parts)

    def told(who: str, path: str) -> str:
        median = float(np.median(times.sample(f"{rate(path):g}", who=who, network=path).values))
        return f"{median:.1f}" if np.isfinite(median) else "not reached"

    everybody = list(runs.values("who"))
    return Table(
        "Seconds until 90 % of the bottleneck's rate arrive as new data for a second",
        ["path", *everybody],
        [[path, *(told(who, path) for who in everybody)] for path in runs.values("network")],
    )


def claims(builder: ClaimBuilder, runs: Grid, transfer: Grid) -> list[Claim]:
    """The hypotheses of claims.toml that name this experiment."""
    lossy = [path for path in runs.values("network") if "lost" in path]
    clean = [path for path in runs.values("network") if path not in lossy]

    def of(who: str, path: str) -> Sample:
        return runs.sample("goodput", who=who, network=path)

    def goodputs(who: str, paths: Iterable[str]) -> dict[str, Sample]:
        return {f"{path}: Mbit/s": of(who, path) for path in paths}

    return [
        builder.claim("R-6", goodputs(CUBIC, clean)),
        builder.claim("R-7", goodputs(BBR, lossy)),
        builder.claim(
            "R-8", {f"{path}: SCTP over TCP, less 1": of(CUBIC, path) / of(TCP, path) - 1 for path in clean}
        ),
        builder.claim("R-9", goodputs(PLAIN, (path for path in LONG if path in clean))),
        builder.claim(
            "R-15",
            {f"{who}: seconds": transfer.at("seconds", who=who) for who in (CUBIC, BBR)},
            note="A handshake of two round trips, and seven rounds of slow start from ten packets, leave 5,620 packets at 0.9 s: 1.62 s is what doubling "
            "allows. What was tried stands in experiments/rate/tried.md.",
        ),
    ]


COLOURS = dict(
    zip(
        (PLAIN, "SCTP Reno", CUBIC, BBR, "TCP Reno", TCP, TCP_BBR),
        (plots.OTHER, plots.CYCLE[4], plots.SCTP, plots.NS2, plots.LINUX, plots.TCP, plots.CYCLE[5]),
        strict=True,
    )
)


def goodput(runs: Grid) -> Figure:
    """A row for each path, a mark for each of them."""
    paths = list(runs.values("network"))
    drawn, (axes,) = plots.panels(1, height=4.2)
    everybody = list(runs.values("who"))
    for number, (who, marker) in enumerate(zip(everybody, "xso^vdP", strict=False)):
        found = [runs.at("goodput", who=who, network=path) for path in paths]
        axes.errorbar(
            [one.mean / rate(path) for one, path in zip(found, paths, strict=True)],
            [place + 0.1 * (number - (len(everybody) - 1) / 2) for place in range(len(paths))],
            xerr=[one.half / rate(path) if one.n > 1 else 0 for one, path in zip(found, paths, strict=True)],
            fmt=marker,
            color=COLOURS[who],
            label=who,
            capsize=2,
        )
    axes.set_yticks(range(len(paths)), paths, fontsize="small")
    axes.set_xlim(0, 1)
    axes.invert_yaxis()
    plots.label(axes, "alone on the path", "goodput over the rate of the path", "")
    plots.legend_below(axes, 4)
    return drawn


def over_time(results: Results, sweep: str, path: str, **place: str) -> Figure:
    """Windows above, the queue as time below."""
    drawn, (windows, queues) = plots.rows(2, height=2.2)
    ends: list[float] = []
    for who, colour in COLOURS.items():
        loaded = series.load(results, sweep, {"who": who, **place})
        if not loaded:
            continue
        samples = next(iter(loaded.values()))
        sender, link = samples.sender("f"), samples.link("path")
        # A transfer is drawn until its last data has come.
        receiver = samples.receiver("f")
        end = float(receiver.time[receiver.packets > 0][-1])
        ends.append(end)
        shown, waits = sender.time <= end, link.time <= end
        windows.plot(sender.time[shown], sender.cwnd[shown] / 1e6, color=colour, linewidth=1.0, label=who)
        queues.plot(link.time[waits], 8e-3 * link.queue_size[waits] / rate(path), color=colour, linewidth=1.0)
    for axes in (windows, queues):
        axes.set_ylim(bottom=0)
        axes.set_xlim(0, max(ends, default=1.0))
    plots.label(windows, f"(a) {path}", "", "cwnd, MB")
    plots.label(queues, "(b) queue", "time, s", "time in the queue, ms")
    plots.legend_below(windows, 4)
    return drawn
