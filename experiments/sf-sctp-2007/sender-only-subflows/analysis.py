"""X-1: how much of the gain of subflows needs no change on the wire."""

from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.run.grid import Grid, Sample
from anabranch_lab.run.results import Results
from anabranch_lab.stats import Estimate

from ..common import paths


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    losses, delays = (
        results.grid(name, paths.MEASURES)
        .joined(results.grid(f"{name}-sf2007", paths.MEASURES))
        .only(engine="rfc9260")
        for name in ("losses", "delays")
    )
    second = [(f"II, p2 = {p2:g}", losses, {"p2": p2}) for p2 in (1e-5, 1e-4)]
    third = [(f"III, RTT1 = {(d + 252) / 1000:g} s", delays, {"delay": d}) for d in (348, 748)]
    places = {
        f"{told}, of {name}": gain(runs, level, **at)
        for level, name, chosen in (
            ("1", "level 1", [*second, *third]),
            # Experiment II has the same runs for both, so a ratio with an interval would mislead.
            ("sf2007", "the thesis's own encoding", third),
        )
        for told, runs, at in chosen
    }
    return Analysis(
        claims=[
            claim_builder(results).claim(
                "X-1",
                {f"share of the gain, {name}": value for name, value in places.items()}
                | {"II: goodput of every run, level 0 and the encoding of the thesis": alike(losses)},
                engine="rfc9260",
                note="With the rules of RFC 9260; the receiver of level 0 knows nothing of subflows.",
            )
        ],
        figures=[],
        findings=[
            "Level 0 has so much of what subflows that the receiver knows of gain over the shared association: "
            + "; ".join(f"{name} {value.text(3)}" for name, value in places.items())
            + "."
        ],
    )


def gain(runs: Grid, other: str, **at: float) -> Estimate:
    """(level 0 - shared) / (another level - shared)."""

    def over_shared(level: str) -> Sample:
        both = runs.sample("sf", level=level, **at)
        return both - runs.sample("shared", level=level, **at)

    return over_shared("0").over(over_shared(other))


def alike(runs: Grid) -> str:
    """Whether level 0 and the thesis's own encoding have the same goodput in every run of II, packet by packet."""
    same = all(
        runs.sample(flow, level="0", p2=p2).values == runs.sample(flow, level="sf2007", p2=p2).values
        for flow in ("sf", "shared")
        for p2 in (1e-5, 1e-4)
    )
    return "identical" if same else "different"
