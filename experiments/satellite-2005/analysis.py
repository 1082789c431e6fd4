"""Alamgir et al. (2005): tables, claims and figures from the runs that are on disk."""

from collections.abc import Mapping

from anabranch_lab.judge.claims import Claim
from anabranch_lab.judge.experiment import Analysis, Table, claim_builder
from anabranch_lab.run.grid import Sample
from anabranch_lab.run.results import Results

from . import data, figures, judge
from .data import Shares


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    sweeps = {
        sweep.name: data.shares(results, sweep.name)
        for sweep in results.plan.sweeps
        if sweep.axes and not sweep.trace
    }
    claims = judge.all_claims(claim_builder(results), results, sweeps)
    by_id = {claim.id: claim for claim in claims}
    study = sweeps["study"]
    low, high = min(study.places), max(study.places)
    main = table_2(study, by_id)
    return Analysis(
        claims=claims,
        tables=[main, ns2(sweeps)],
        figures=figures.all_figures(results, sweeps, by_id),
        findings=[
            f"SCTP sends more than TCP in the mean of the runs: {_text(study.share(low))} % of the total at p = {low:g}, "
            f"{_text(study.share(data.PEAK))} % at {data.PEAK:g}, {_text(study.share(high))} % at {high:g}.",
            f"From p = {data.PEAK:g} to {high:g} the share of SCTP changes by {_text(study.share(high) - study.share(data.PEAK), 2)} percentage points.",
            f"Limited transmit for TCP takes {_text(judge.shrinkage(sweeps, 'limited-transmit'), 2)} of "
            f"{_text(sweeps['study-common'].mean_delta())} points of δ away; three reports instead of four for SCTP take "
            f"{_text(judge.shrinkage(sweeps, 'three-reports'), 2)}.",
        ],
        sentence=f"Beside a TCP on a lossy satellite link SCTP gets {_text(study.share(low))} % of the traffic when {100 * low:g} % of the packets are "
        f"lost and {_text(study.share(high))} % when {100 * high:g} % are.",
        headline=main,
    )


def table_2(study: Shares, claims: Mapping[str, Claim]) -> Table:
    """Table 2 of the study: printed, measured, and the two other witnesses."""
    reference, linux = data.ns2("ns2"), data.linux()
    rows = []
    for p in study.places:
        cells = [f"{p:g}"]
        for measure, short, identifier in (
            ("share", "sctp", "L-T2-gam"),
            ("delta", "delta", "L-T2-del"),
            ("util", "util", "L-T2-util"),
        ):
            printed = next(part.value for part in claims[identifier].parts if part.at == f"p = {p:g}")
            cells += [
                f"{printed:.1f}",
                _text(getattr(study, measure)(p)),
                f"{reference[p][f'{short}_pct']:.1f} ± {reference[p][f'{short}_ci95']:.1f}",
                _text(getattr(linux, measure)(p)) if p in linux.places else "–",
            ]
        rows.append(cells)
    heads = [
        f"{name} %: printed|measured|ns-2.35|Linux 6.1".split("|") for name in ("share", "δ", "utilisation")
    ]
    return Table(
        "Table 2: share of SCTP, its advantage δ over TCP, and utilisation of the link",
        ["p", *(each for head in heads for each in head)],
        rows,
        note=f"Measured: {judge.ENGINES}, runs of 1000 s, ± 95 % (Student). ns-2.35: SCTP with 4 reports and TCP Sack1 with limited "
        "transmit, 10 runs. Linux 6.1: 5 runs, at four probabilities.",
    )


def ns2(sweeps: Mapping[str, Shares]) -> Table:
    """The sweeps that repeat a configuration of ns-2.35, beside ns-2.35."""
    rows = []
    for name in (each for each in sweeps if each.startswith("ns2")):
        for p, row in data.ns2(name).items():
            cells = [name, f"{p:g}"]
            for measure, short in (("share", "sctp"), ("delta", "delta"), ("util", "util")):
                cells += [
                    _text(getattr(sweeps[name], measure)(p)),
                    f"{row[f'{short}_pct']:.1f} ± {row[f'{short}_ci95']:.1f}",
                ]
            rows.append(cells)
    head = ["sweep", "p", "share % here", "ns-2.35", "δ % here", "ns-2.35", "util % here", "ns-2.35"]
    return Table("The same configurations here and in ns-2.35", head, rows, open=False)


def _text(sample: Sample, digits: int = 1) -> str:
    return sample.estimate.text(digits)
