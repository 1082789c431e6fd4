"""Experiment XIX (the thesis's IXX): from runs to grades, figures and a finding."""

from anabranch_lab.judge.comparison import Measured
from anabranch_lab.judge.experiment import Analysis, claim_builder, results_of
from anabranch_lab.run.grid import Grid
from anabranch_lab.run.results import Results

from ..common import fair, phi, readings


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    first = results_of(results, "exp-18")
    a, b, clean = fair.measured(results, "a"), fair.measured(results, "b"), fair.measured(first, "a")
    beside = {
        told: judge(
            fair.measured(results, f"a-{name}"),
            fair.grids(results, f"b-{name}-slow"),
            fair.measured(first, f"a-{name}"),
        )
        for told, name in ((readings.WHOLE, "1500"), (readings.DATA, "data"))
    }
    equal = fair.grids(results, "equal")
    rates = ", ".join(
        f"{1e3 * a.at('fr_sf', n=8, phi=name).mean:.2f}e-3 ({phi.LABELS[name]})" for name in phi.NAMES
    )
    return Analysis(
        claims=[
            claim_builder(results).claim("Z-XIX-1", judge(a, b, clean), readings=beside),
        ],
        figures=fair.figures(a, b, "n", "number of subflows", phi.NAMES, ("5.39", "5.40"), equal=equal),
        findings=[
            f"Fast retransmits of eight subflows beside one SCTP, for each packet: {rates}. One subflow gets "
            f"{fair.share(equal, 'single', n=1).text(2)} times what one SCTP gets.",
        ],
    )


def judge(a: Grid, b: Grid, clean: Grid) -> dict[str, Measured]:
    """Fast retransmits of SF-SCTP in both scenarios, and the shares of its throughput that it keeps (`fair.kept`)."""
    rates: dict[str, Measured] = {
        f"({scenario}) n = {n}, Phi = {name}: fast retransmits a packet": runs.at("fr_sf", n=n, phi=name)
        for scenario, runs in (("a", a), ("b", b))
        for n in runs.values("n")
        for name in ("n^2", "2n^2")
    }
    return rates | {f"(a) {at}": more for at, more in fair.kept(a, clean).items()}
