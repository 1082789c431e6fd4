"""Judges of the claims L-* of Alamgir et al. (2005)."""

import math
from collections.abc import Mapping

from anabranch_lab.judge.claims import Claim, ClaimBuilder
from anabranch_lab.judge.comparison import Measured
from anabranch_lab.run import grid
from anabranch_lab.run.results import Results
from anabranch_lab.stats import estimate

from . import data, recorded
from .data import Shares

ENGINES = "SCTP ns2-2.28, TCP study-2005"
WITH_HEADERS = "bytes with the headers of packets"
"""Section 5: throughput is "bytes sent ... excluding retransmitted packets"; whether headers are bytes it does not say."""


def all_claims(builder: ClaimBuilder, results: Results, sweeps: Mapping[str, Shares]) -> list[Claim]:
    """Every claim, in the order of the study."""
    study = sweeps["study"]
    return [
        table_2(builder, "L-T2-util", study, "util"),
        table_2(builder, "L-T2-gam", study, "share"),
        delta(builder),
        peak(builder, study),
        zero_bins(builder, results),
        sequence(builder, results),
        windows(builder, results),
        tcp_close_up(builder, results),
        sctp_close_up(builder, results),
        ablation(builder, sweeps),
    ]


def table_2(builder: ClaimBuilder, identifier: str, study: Shares, measure: str) -> Claim:
    """A column of Table 2."""

    def column(shares: Shares) -> dict[str, Measured]:
        return {f"p = {p:g}": getattr(shares, measure)(p) for p in shares.places}

    wire = column(Shares(study.runs, headers=True))
    return builder.claim(identifier, column(study), engine=ENGINES, readings={WITH_HEADERS: wire})


def delta(builder: ClaimBuilder) -> Claim:
    """L-T2-del: arithmetic of the printed table, nothing is simulated."""
    rows = data.published()
    again = {
        f"p = {p:g}": 100 * (row["sctp_pct"] - row["tcp_pct"]) / row["tcp_pct"] for p, row in rows.items()
    }
    return builder.claim("L-T2-del", again, engine="none: arithmetic of the table")


def peak(builder: ClaimBuilder, study: Shares) -> Claim:
    """L-F3."""
    chance = peak_by_chance(study)
    return builder.claim(
        "L-F3",
        {
            f"share at {data.PEAK:g} less share at {p:g}, pp": study.share(data.PEAK) - study.share(p)
            for p in study.places
            if p != data.PEAK
        },
        engine=ENGINES,
        note=f"One run a point, as in the study, has its largest share at {data.PEAK:g} with probability {chance:.4f}.",
    )


def peak_by_chance(study: Shares) -> float:
    """How likely a campaign of one run a point, each drawn from the runs at hand, has its largest share at 0.01."""
    others = [study.share(p).values for p in study.places if p != data.PEAK]
    mine = study.share(data.PEAK).values
    return math.fsum(
        math.prod(sum(other < value for other in values) / len(values) for values in others) for value in mine
    ) / len(mine)


def zero_bins(builder: ClaimBuilder, results: Results) -> Claim:
    """L-F4."""
    rows = results.rows("recorded", recorded.BINS, kind="trace")
    return builder.claim(
        "L-F4",
        {"empty bins of 400": estimate([float(row["zero"]) for row in rows])},
        engine=ENGINES,
        note="Bins shorter than the round trip of half a second are easily empty: a window leaves in less than 0.1 s.",
    )


def sequence(builder: ClaimBuilder, results: Results) -> Claim:
    """L-F5."""
    rows = results.rows("recorded", recorded.AHEAD, kind="trace")
    ahead = [float(row["packets"]) for row in rows]
    return builder.claim(
        "L-F5",
        {"packets ahead after 300 s": estimate(ahead)},
        engine=ENGINES,
        note=f"In {sum(packets > 0 for packets in ahead)} of {len(ahead)} runs SCTP is ahead.",
    )


def windows(builder: ClaimBuilder, results: Results) -> Claim:
    """L-F67."""
    rows = results.rows("recorded", recorded.WINDOWS, kind="trace")
    column = {
        (flow, name): estimate([row[name] for row in rows if row["flow"] == flow])
        for flow in ("tcp", "sctp")
        for name in ("low", "high", "by_event", "by_time", "flight")
    }
    texts = {"low": "lowest window", "high": "highest window", "by_event": "average over events"}
    over_time = ", ".join(
        f"{flow.upper()} {column[flow, 'by_time'].text()} (in flight {column[flow, 'flight'].text()})"
        for flow in ("tcp", "sctp")
    )
    return builder.claim(
        "L-F67",
        {
            f"{flow.upper()}, {text}, packets": column[flow, name]
            for flow in ("tcp", "sctp")
            for name, text in texts.items()
        },
        engine=ENGINES,
        note=f"Averaged over time the windows are {over_time} packets.",
    )


def tcp_close_up(builder: ClaimBuilder, results: Results) -> Claim:
    """L-F8."""
    seen = recorded.close_up(results, "figure-8", "tcp")
    return builder.claim(
        "L-F8",
        {
            "duplicate acknowledgements": str(len(seen.reports)),
            "window before, packets": str(math.floor(seen.cwnd)),
            "window after fast retransmit, packets": str(math.floor(seen.retransmission().cwnd)),
            **_answers(seen, len(seen.reports), "duplicate"),
            "spacing of duplicates, ms": seen.spacing_ms(),
        },
        engine="TCP study-2005",
        note="One run with one forced loss.",
    )


def sctp_close_up(builder: ClaimBuilder, results: Results) -> Claim:
    """L-F9."""
    seen = recorded.close_up(results, "figure-9", "sctp")
    first, *_, third, fourth = seen.reports[:4]
    seventh = seen.reports[:7][-1]
    return builder.claim(
        "L-F9",
        {
            "window before, packets": str(math.floor(seen.cwnd)),
            "highest packet before the first report": str(seen.highest),
            **_answers(seen, 4, "report"),
            "flight less window when the third report has been answered, packets": float(
                seen.after(third).flight - math.floor(seen.cwnd)
            ),
            "window after the fourth report, packets": str(math.floor(seen.after(fourth, "ack").cwnd)),
            "spacing of reports, ms": seen.spacing_ms(),
            "seven reports, from the first to the last, ms": 1e3 * (seventh.time - first.time),
            "from sending the lost packet to the first report, ms": 1e3 * (first.time - seen.sent_at),
        },
        engine="SCTP ns2-2.28",
        note="One run with one forced loss.",
    )


def _answers(seen: recorded.CloseUp, first: int, name: str) -> dict[str, Measured]:
    """The packets that the sender sends after each of the first reports."""
    return {
        f"after {name} {number}": ", ".join(
            f"{packet} again" if what == "again" else str(packet) for what, packet in sent
        )
        or "nothing"
        for number, sent in enumerate(seen.answers()[:first], start=1)
    }


def ablation(builder: ClaimBuilder, sweeps: Mapping[str, Shares]) -> Claim:
    """L-C1."""
    lost = {name: shrinkage(sweeps, name) for name in ("limited-transmit", "three-reports")}
    return builder.claim(
        "L-C1",
        {"delta lost with limited transmit, pp": lost["limited-transmit"]},
        engine=ENGINES + ", common losses",
        note=f"Of {sweeps['study-common'].mean_delta().estimate.text()} points on the mean of the seven probabilities. Three reports instead of four "
        f"for SCTP take {lost['three-reports'].estimate.text(2)} points away.",
    )


def shrinkage(sweeps: Mapping[str, Shares], changed: str) -> grid.Sample:
    """How much smaller delta is with a change, seed by seed, averaged over the loss probabilities."""
    return sweeps["study-common"].mean_delta() - sweeps[changed].mean_delta()
