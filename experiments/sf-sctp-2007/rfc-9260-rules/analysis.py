"""X-8: three predictions of the effects of RFC 9260, made before the first run."""

from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.run import grid, series
from anabranch_lab.run.results import Results

from ..common import background, bottleneck


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    busy = results.grid("IV", bottleneck.MEASURES).at("utilisation", n=1)
    edges = series.measure(results, "edges", background.edges, events=True)
    late = {kind: edges.at("timeouts", n=1, background=kind) for kind in edges.values("background")}
    goodput = {"goodput": grid.of_flow("sf", "goodput_wire_run_bps")}
    many, one = (
        results.grid(name, goodput).sample("goodput", n=n) for name, n in (("XIV-many", 27), ("XIV", 1))
    )
    rise = many.over(one)
    return Analysis(
        claims=[
            claim_builder(results).claim(
                "X-8",
                {
                    "IV, n = 1: time that the link is busy, %": busy,
                    **{f"timeouts per on-edge, {kind}": found for kind, found in late.items()},
                    "XIV, Phi = n^2: n = 27 over n = 1": rise,
                },
            )
        ],
        findings=[
            f"With the rules of RFC 9260 the link of IV is busy {busy.text()} % of the time with one subflow, an on-edge of the background brings "
            f"{max(late.values(), key=lambda each: each.mean).text(2)} timeouts at most, and 27 subflows with Phi = n^2 get {rise.text(2)} times what one gets.",
        ],
    )
