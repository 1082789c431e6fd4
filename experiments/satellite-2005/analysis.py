"""Alamgir et al. (2005): tables, claims and figures from the runs that are on disk."""

from collections.abc import Mapping

from anabranch_lab.judge.experiment import Analysis, Table, claim_builder
from anabranch_lab.run.results import Results
from anabranch_lab.stats import Estimate, paired

from . import data, figures, judge

MEASURES = {
    "share": ("share of SCTP, %", "sctp_pct"),
    "delta": ("δ, %", "delta_pct"),
    "util": ("utilisation, %", "util_pct"),
}


def analyse(results: Results) -> Analysis:
    """What the lab asks an experiment for."""
    sweeps = {
        sweep.name: data.cells(results, sweep.name)
        for sweep in results.plan.sweeps
        if sweep.axes and not sweep.trace
    }
    main = table_2(sweeps)
    claims = judge.all_claims(claim_builder(results), results, sweeps)
    return Analysis(
        claims=claims,
        tables=[
            main,
            engines(results, sweeps, "share"),
            engines(results, sweeps, "delta"),
            engines(results, sweeps, "util"),
            ns2(sweeps),
        ],
        figures=figures.all_figures(results, sweeps),
        findings=findings(sweeps, claims),
        sentence=sentence(sweeps, claims),
        headline=headline(sweeps),
    )


def table_2(sweeps: Mapping[str, data.Cells]) -> Table:
    """Table 2 of the study: printed, measured, and the two other witnesses."""
    printed, reference, linux, study = data.published(), data.ns2("ns2"), data.linux(), sweeps["study"]
    rows = []
    for p, row in printed.items():
        cells = [f"{p:g}"]
        for measure, (_, column) in MEASURES.items():
            short = column.removesuffix("_pct")
            cells += [
                f"{row[column]:.1f}",
                _text(study[p].of(measure)),
                f"{reference[p][column]:.1f} ± {reference[p][short + '_ci95']:.1f}",
                _text(linux[p].of(measure)) if p in linux else "–",
            ]
        rows.append(cells)
    head = ["p"]
    for name in ("share", "δ", "util"):
        head += [f"{name} %: printed", "measured", "ns-2.35", "Linux 6.1"]
    runs = min(len(cell.share) for cell in study.values())
    return Table(
        "Table 2: share of SCTP, its advantage δ over TCP, and utilisation of the link",
        head,
        rows,
        note=f"Measured: SCTP ns2-2.28 and TCP study-2005, {runs} runs of 1000 s a row, ± 95 % (Student). ns-2.35: SCTP with "
        "4 reports and TCP Sack1 with limited transmit, 10 runs. Linux 6.1: 5 runs, at four probabilities. The printed δ of row "
        "0.008 contradicts the printed shares (claim L-T2-del).",
    )


def headline(sweeps: Mapping[str, data.Cells]) -> Table:
    """What fits on a terminal."""
    printed, study = data.published(), sweeps["study"]
    reference = data.ns2("ns2")
    rows = [
        [
            f"{p:g}",
            f"{row['sctp_pct']:.1f}",
            _text(study[p].of("share")),
            f"{reference[p]['sctp_pct']:.1f}",
            f"{row['delta_pct']:.1f}",
            _text(study[p].of("delta")),
            f"{row['util_pct']:.1f}",
            _text(study[p].of("util")),
        ]
        for p, row in printed.items()
    ]
    head = [
        "p",
        "share % printed",
        "measured",
        "ns-2.35",
        "δ % printed",
        "measured",
        "util % printed",
        "measured",
    ]
    runs = min(len(cell.share) for cell in study.values())
    return Table(
        "Alamgir et al. (2005), Table 2: SCTP beside TCP",
        head,
        rows,
        note=f"{runs} runs of 1000 s a row, ± 95 %",
    )


def engines(results: Results, sweeps: Mapping[str, data.Cells], measure: str) -> Table:
    """One measure for every sweep."""
    title, column = MEASURES[measure]
    head = ["sweep", *(f"{p:g}" for p in data.published()), "TCP", "SCTP"]
    rows = [["printed", *(f"{row[column]:.1f}" for row in data.published().values()), "", ""]]
    for sweep in results.plan.sweeps:
        if sweep.name in sweeps:
            cells = sweeps[sweep.name]
            rows.append(
                [
                    sweep.name,
                    *(_text(cell.of(measure)) for cell in cells.values()),
                    *next(iter(cells.values())).engines,
                ]
            )
    return Table(
        f"Every sweep: {title}",
        head,
        rows,
        open=False,
        note="What each sweep switches is listed under Sweeps.",
    )


def ns2(sweeps: Mapping[str, data.Cells]) -> Table:
    """The sweeps that repeat a configuration of ns-2.35, beside ns-2.35."""
    rows = []
    for name in ("ns2", "ns2-common", "ns2-3-reports", "ns2-satellite-loss", "ns2-reno"):
        for p, row in data.ns2(name).items():
            cell = sweeps[name][p]
            rows.append(
                [
                    name,
                    f"{p:g}",
                    _text(cell.of("share")),
                    f"{row['sctp_pct']:.1f} ± {row['sctp_ci95']:.1f}",
                    _text(cell.of("delta")),
                    f"{row['delta_pct']:.1f} ± {row['delta_ci95']:.1f}",
                    _text(cell.of("util")),
                    f"{row['util_pct']:.1f} ± {row['util_ci95']:.1f}",
                ]
            )
    head = ["sweep", "p", "share % here", "ns-2.35", "δ % here", "ns-2.35", "util % here", "ns-2.35"]
    return Table("The same configurations here and in ns-2.35", head, rows, open=False)


def findings(sweeps: Mapping[str, data.Cells], claims: list[judge.Claim]) -> list[str]:
    """The outcome in a few sentences, with the numbers."""
    study = sweeps["study"]
    by_id = {claim.id: claim for claim in claims}
    at = {p: study[p].of("share") for p in (0.008, data.PEAK, 0.03)}
    rise = judge.slope(study)
    found = [
        f"SCTP sends more than TCP in the mean of the runs: {at[0.008].text()} % of the total at p = 0.008, "
        f"{at[data.PEAK].text()} % at 0.01, {at[0.03].text()} % at 0.03.",
        f"From p = 0.01 to 0.03 the share of SCTP changes by {rise.text(2)} percentage points; the printed one falls by 3.1. "
        f"The printed peak at 0.01: {by_id['L-F3'].verdict}.",
    ]
    both = judge.shrinkage(sweeps["study-common"], sweeps["same-scheme"])
    found.append(
        "The study concludes that the retransmission scheme makes the advantage; the test that it did not make says "
        f"otherwise: with limited transmit for TCP and three reports for SCTP, δ falls by {both.text(2)} points, which is "
        "nothing."
        if both.low <= 0
        else f"With limited transmit for TCP and three reports for SCTP, δ shrinks by {both.text(2)} points."
    )
    narrower = study[data.PEAK].of("delta").half / sweeps["study-common"][data.PEAK].of("delta").half
    found.append(
        f"The same losses for both protocols make the interval of δ at p = 0.01 {narrower:.1f} times narrower."
    )
    rfc = paired(sweeps["rfc9260"][data.PEAK].share, study[data.PEAK].share)
    found.append(
        f"SCTP by RFC 9260 instead of the module of 2005 has {rfc.text(2)} points more of the total at p = 0.01."
    )
    return found


def sentence(sweeps: Mapping[str, data.Cells], claims: list[judge.Claim]) -> str:
    """The outcome for somebody in a hurry."""
    low, high = (sweeps["study"][p].of("share").text() for p in (0.008, 0.03))
    peak = next(claim.verdict for claim in claims if claim.id == "L-F3")
    return (
        f"Beside a TCP on a lossy satellite link SCTP gets {low} % of the traffic when 0.8 % of the packets are lost and {high} % when "
        f"3 % are; the published peak at 1 % is {peak}."
    )


def _text(value: Estimate) -> str:
    return value.text()
