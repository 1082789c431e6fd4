"""Figures 3 to 9 of the study, from recorded runs."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from anabranch_lab.judge.claims import Claim
from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.run.results import Results
from anabranch_lab.show import plots

from . import data, recorded

SEED = 1
"""The recorded run that Figs. 4 to 7 show."""
COLOUR = {"tcp": plots.TCP, "sctp": plots.SCTP}
STUDY = "SCTP ns2-2.28, TCP study-2005"
"""The engines that stand for the stacks of the study."""


def all_figures(
    results: Results, sweeps: Mapping[str, data.Shares], claims: Mapping[str, Claim]
) -> list[Entry]:
    """Every figure, in the order of the study."""
    seed = results.seeds(results.plan.sweep("recorded"))[0]
    runs = f"One recorded run at p = 0.01, seed {seed}."
    return [
        Entry(
            "figure-3",
            "Fig. 3: share of SCTP in the throughput",
            "Means and 95 % intervals: what the study ran (SCTP ns2-2.28, TCP study-2005), the profile of ns-2.35 with the options that ns-2.35 itself ran with, "
            "ns-2.35 and Linux 6.1.",
            lambda: figure_3(sweeps, claims["L-T2-gam"]),
            front=True,
        ),
        Entry(
            "advantage",
            "How much more SCTP sends than TCP (column δ of Table 2)",
            "Means and 95 % intervals with the same losses for both protocols: what the study ran (SCTP ns2-2.28, TCP study-2005), and with one thing "
            "of the two retransmission schemes made alike (claim L-C1).",
            lambda: figure_delta(sweeps, claims["L-T2-del"]),
        ),
        Entry(
            "figure-4",
            "Fig. 4: total throughput, 100 to 140 s",
            f"Payload sent for the first time in bins of 0.1 s. {runs}",
            lambda: figure_4(results, seed),
        ),
        Entry(
            "figure-5",
            "Fig. 5: packets sent at p = 0.01",
            "Every packet of both protocols against time in one recorded run, and faintly the other runs: which protocol "
            f"is ahead differs from run to run. {runs}",
            lambda: figure_5(results, seed),
        ),
        Entry(
            "figure-6",
            "Fig. 6: window and threshold of TCP",
            f"In packets of 1448 bytes. {runs}",
            lambda: figure_6_7(results, seed, "tcp"),
        ),
        Entry(
            "figure-7",
            "Fig. 7: window and threshold of SCTP",
            f"In DATA chunks of 1464 bytes, as ns-2 counts. {runs}",
            lambda: figure_6_7(results, seed, "sctp"),
        ),
        Entry(
            "figure-8",
            "Fig. 8: TCP retransmits packet 7",
            "Two duplicate acknowledgements send nothing, the third sends packet 7 again, the fifth to the seventh let new "
            "packets go. One recorded run with one forced loss.",
            lambda: close_up(recorded.close_up(results, "figure-8", "tcp"), "tcp"),
        ),
        Entry(
            "figure-9",
            "Fig. 9: SCTP retransmits packet 63",
            "Each of the first three reports lets a new packet go, the fourth sends packet 63 again although the window is "
            "full. One recorded run with one forced loss.",
            lambda: close_up(recorded.close_up(results, "figure-9", "sctp"), "sctp"),
        ),
    ]


def _series(axes: plt.Axes, shares: data.Shares, measure: str, shift: float, **look: object) -> None:
    found = {p: getattr(shares, measure)(p).estimate for p in shares.places}
    axes.errorbar(
        [p + shift for p in found],
        [value.mean for value in found.values()],
        yerr=[min(value.half, 50) for value in found.values()],
        **{"capsize": 2.5, "markersize": 4.5, "elinewidth": 1, **look},
    )


def _published(axes: plt.Axes, claim: Claim, places: list[float], name: str) -> None:
    plots.published(axes, claim, {f"p = {p:g}": p for p in places}, name, linestyle=":")


def figure_3(sweeps: Mapping[str, data.Shares], claim: Claim) -> Figure:
    """Share of SCTP against the loss probability."""
    figure, axes = plt.subplots()
    _published(axes, claim, sweeps["study"].places, "published (one run per point)")
    _series(axes, sweeps["study"], "share", 0, color=plots.SCTP, marker="o", label=STUDY)
    ours = "SCTP ns2-2.35, TCP ns2-sack1"
    _series(axes, sweeps["ns2"], "share", -1.2e-4, color=plots.TCP, marker="^", label=ours)
    reference = data.ns2("ns2")
    axes.errorbar(
        [p + 1.2e-4 for p in reference],
        [row["sctp_pct"] for row in reference.values()],
        yerr=[row["sctp_ci95"] for row in reference.values()],
        capsize=2.5, markersize=4.5, elinewidth=1, linestyle="--", marker="s", color=plots.NS2,
        label="ns-2.35 itself, 10 runs",
    )  # fmt: skip
    look = {"color": plots.LINUX, "marker": "D", "linestyle": "none", "label": "Linux 6.1, 5 runs"}
    _series(axes, data.linux(), "share", 2.4e-4, **look)
    axes.axhline(50, color=plots.OTHER, linewidth=0.8)
    axes.set_xlabel("loss probability p")
    axes.set_ylabel("share of SCTP, %")
    axes.set_title("Fig. 3: share of SCTP in the throughput")
    axes.legend(loc="upper left", ncols=1)
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + 0.35 * (high - low))
    return figure


def figure_delta(sweeps: Mapping[str, data.Shares], claim: Claim) -> Figure:
    """Delta with the study's schemes and with one of them changed."""
    figure, axes = plt.subplots()
    _published(axes, claim, sweeps["study-common"].places, "published")
    look = {
        "study-common": (STUDY, plots.SCTP, "o"),
        "three-reports": ("SCTP with 3 reports", plots.LINUX, "v"),
        "limited-transmit": ("TCP with limited transmit", plots.TCP, "^"),
    }
    for index, (name, (label, colour, marker)) in enumerate(look.items()):
        _series(axes, sweeps[name], "delta", 1.5e-4 * (index - 1), color=colour, marker=marker, label=label)
    axes.set_xlabel("loss probability p")
    axes.set_ylabel("δ, %")
    axes.set_title("Advantage of SCTP over TCP")
    axes.set_ylim(0, 37)
    axes.legend(loc="upper right", ncols=2)
    return figure


def figure_4(results: Results, seed: int) -> Figure:
    """Total throughput in bins of 0.1 s."""
    rows = results.rows(
        "recorded",
        "SELECT CAST(floor(time_ns / 1e8) AS BIGINT) AS bin, CAST(sum(size) AS DOUBLE) AS bytes FROM runs "
        f"WHERE seed = {seed} AND kind = 'sent' AND reason = '' AND time_ns >= 100e9 AND time_ns < 140e9 "
        "GROUP BY bin ORDER BY bin",
        kind="trace",
    )
    sent = {row["bin"]: row["bytes"] for row in rows}
    bins = range(1000, 1400)
    figure, axes = plt.subplots(figsize=(7.2, 3.4))
    axes.stairs(
        [sent.get(index, 0) * 8 / 0.1 / 1e6 for index in bins],
        [index / 10 for index in (*bins, 1400)],
        color=plots.SCTP, linewidth=0.9, fill=True, alpha=0.75,
    )  # fmt: skip
    axes.set_xlim(100, 140)
    axes.set_xlabel("time, s")
    axes.set_ylabel("total throughput, Mbit/s")
    axes.set_title("Fig. 4: total throughput of both")
    return figure


def figure_5(results: Results, seed: int) -> Figure:
    """Sequence plot."""
    table = results.rows(
        "recorded",
        f"SELECT seed, flow, time_ns / 1e9 AS t, CASE WHEN flow = 'tcp' THEN seq / {data.PAYLOAD} ELSE seq END AS packet "
        "FROM (SELECT *, row_number() OVER (PARTITION BY seed, flow) AS n FROM runs WHERE kind = 'sent' AND reason = '') "
        f"WHERE seed = {seed} OR n % 40 = 0 ORDER BY seed, flow, t",
        kind="trace",
    )
    lines: dict[tuple[int, str], list[tuple[float, float]]] = {}
    for row in table:
        lines.setdefault((row["seed"], row["flow"]), []).append((row["t"], row["packet"]))
    figure, axes = plt.subplots()
    for (run, flow), points in lines.items():
        mine = run == seed
        axes.plot(
            *zip(*points, strict=True),
            color=COLOUR[flow],
            linewidth=1.8 if mine else 0.5,
            alpha=1 if mine else 0.25,
            zorder=3 if mine else 1,
            label=flow.upper() if mine else None,
        )
    axes.set_xlim(0, recorded.END)
    axes.set_ylim(0)
    axes.set_xlabel("time, s")
    axes.set_ylabel("packet number")
    axes.set_title("Fig. 5: sequence plot for a loss probability of 0.01")
    axes.legend()
    return figure


def figure_6_7(results: Results, seed: int, flow: str) -> Figure:
    """Window and threshold."""
    unit = recorded.UNIT[flow]
    rows = results.rows(
        "recorded",
        f"SELECT time_ns / 1e9 AS t, a / {unit} AS cwnd, b / {unit} AS ssthresh FROM runs "
        f"WHERE seed = {seed} AND entity = '{flow}:sender' AND kind = 'window'",
        kind="trace",
    )
    figure, axes = plt.subplots(figsize=(7.2, 3.6))
    times = [row["t"] for row in rows]
    axes.step(
        times, [row["cwnd"] for row in rows], where="post", color=COLOUR[flow], label="cwnd", linewidth=1
    )
    axes.step(
        times,
        [row["ssthresh"] for row in rows],
        where="post",
        color=plots.OTHER,
        label="ssthresh",
        linewidth=1.1,
    )
    axes.set_xlim(0, recorded.END)
    axes.set_ylim(0)
    axes.set_xlabel("time, s")
    axes.set_ylabel("packets")
    axes.set_title(f"Fig. {6 if flow == 'tcp' else 7}: cwnd and ssthresh of {flow.upper()}")
    axes.legend(loc="upper right")
    return figure


def close_up(seen: recorded.CloseUp, flow: str) -> Figure:
    """Packets and reports around one loss."""
    figure, axes = plt.subplots()
    # The study shows seven reports.
    shown = [step for step in seen.steps if step.time <= seen.reports[:7][-1].time + 0.002]
    start = seen.reports[0].time
    marks = {
        "report": ("v", plots.OTHER, "report of the loss (cumulative: the lost packet)"),
        "new": ("o", COLOUR[flow], "new packet sent"),
        "again": ("*", "#c1121f", f"packet {seen.lost} sent again"),
    }
    for what, (marker, colour, label) in marks.items():
        points = [step for step in shown if step.what == what]
        axes.plot(
            [1e3 * (step.time - start) for step in points],
            [step.packet for step in points],
            linestyle="none", marker=marker, color=colour, label=label,
            markersize=11 if what == "again" else 7,
        )  # fmt: skip
        for step in points:
            if what != "report":
                axes.annotate(
                    str(step.packet),
                    (1e3 * (step.time - start), step.packet),
                    textcoords="offset points",
                    xytext=(8, -3),
                    fontsize=9,
                    color=colour,
                )
    for index, step in enumerate(seen.reports):
        if step in shown:
            axes.annotate(
                str(index + 1), (1e3 * (step.time - start), step.packet), textcoords="offset points",
                xytext=(0, -15), ha="center", fontsize=8, color=plots.OTHER,
            )  # fmt: skip
    windows = axes.twinx()
    windows.spines["right"].set_visible(True)
    windows.grid(visible=False)
    windows.step(
        [-3, *(1e3 * (step.time - start) for step in shown)],
        [seen.cwnd, *(step.cwnd for step in shown)],
        where="post", color=plots.OTHER, linewidth=1, linestyle="--", label="cwnd (right)",
    )  # fmt: skip
    windows.set_ylim(0, 1.9 * seen.cwnd)
    windows.set_ylabel("cwnd, packets")
    low, high = axes.get_ylim()
    axes.set_ylim(low - 0.12 * (high - low), high + 0.4 * (high - low))
    axes.set_xlim(-3, None)
    axes.set_xlabel(f"time since the first report ({start:.4f} s), ms")
    axes.set_ylabel("packet number")
    axes.set_title(f"Fig. {8 if flow == 'tcp' else 9}: {flow.upper()} retransmits packet {seen.lost}")
    handles, labels = axes.get_legend_handles_labels()
    more, names = windows.get_legend_handles_labels()
    axes.legend(handles + more, labels + names, loc="upper left", ncols=2)
    return figure
