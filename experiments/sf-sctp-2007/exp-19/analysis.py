"""Experiment XIX (the thesis's IXX): from runs to grades, figures and a finding."""

from anabranch_lab.judge.comparison import Measured
from anabranch_lab.judge.experiment import Analysis, claim_builder, results_of
from anabranch_lab.run.grid import Grid
from anabranch_lab.run.results import Results

from ..common import fair, phi


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    first = results_of(results, "exp-18")
    a, b, clean = fair.measured(results, "a"), fair.measured(results, "b"), fair.measured(first, "a")
    whole, whole_b = fair.measured(results, "a-1500"), fair.grids(results, "b-1500-slow")
    equal = fair.grids(results, "equal")
    rates = ", ".join(
        f"{1e3 * a.at('fr_sf', n=8, phi=name).mean:.2f}e-3 ({phi.LABELS[name]})" for name in phi.NAMES
    )
    return Analysis(
        claims=[
            claim_builder(results).claim(
                "Z-XIX-1",
                judge(a, b, clean),
                readings={fair.WHOLE: judge(whole, whole_b, fair.measured(first, "a-1500"))},
            )
        ],
        figures=fair.figures(a, b, "n", "number of subflows", phi.NAMES, ("5.39", "5.40"), equal=equal),
        findings=[
            f"Fast retransmits of eight subflows beside one SCTP, for each packet: {rates}. One subflow gets "
            f"{fair.share(equal, 'single', n=1).text(2)} times what one SCTP gets.",
        ],
    )


def judge(a: Grid, b: Grid, clean: Grid) -> dict[str, Measured]:
    """Loss indications of both associations, and the rates of the one that suffers."""
    rates: dict[str, Measured] = {
        f"({scenario}) n = {n}, Phi = {name}: fast retransmits a packet": runs.at("fr_sf", n=n, phi=name)
        for scenario, runs in (("a", a), ("b", b))
        for n in runs.values("n")
        for name in ("n^2", "2n^2")
    }
    return rates | {f"(a) {at}": more for at, more in fair.kept(a, clean).items()}
