"""Experiment XI: from runs to verdicts, figures and a finding."""

from anabranch_lab.judge.claims import Claim, ClaimBuilder, Part, above, ordered
from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.run import cycles, series
from anabranch_lab.run.grid import Grid
from anabranch_lab.run.results import Results

from ..common import background


def analyse(results: Results) -> Analysis:
    """What the lab asks an experiment for."""
    runs = results.grid("runs", background.MEASURES)
    spread = results.grid("spread", background.MEASURES)
    seen, disturbed = (series.measure(results, name, look) for name in ("sampled", "sampled-spread"))
    engine = results.plan.engines[0]
    taken = runs.curve("share", over="n", engine=engine, background="exponential")
    heights = {
        kind: seen.at("height", engine=engine, background=kind, n=1) for kind in ("cbr", "exponential")
    }
    return Analysis(
        claims=[order(claim_builder(results), (runs, seen), (spread, disturbed))],
        figures=[
            background.over_time(
                results, "exponential", "figure-5-22", "Fig. 5.22: beside exponential on/off traffic"
            )
        ],
        findings=[
            f"Beside exponential on/off traffic {engine} takes "
            + ", ".join(f"{taken.at(n).text()} % with n = {n}" for n in (1, 2, 4))
            + ".",
            f"The highest autocorrelation of the window is {heights['cbr'].text(2)} beside constant traffic and "
            f"{heights['exponential'].text(2)} here.",
        ],
    )


def look(samples: series.Samples) -> dict[str, float]:
    """How periodic the window of a run is."""
    sender = samples.sender("sf")
    return {"height": cycles.period([float(v) for v in sender.cwnd], sender.interval, 3.0, 30.0)[1]}


def order(builder: ClaimBuilder, grids: tuple[Grid, Grid], variant: tuple[Grid, Grid]) -> Claim:
    """Z-XI-1; summed up and sampled runs, as they are and with a spread."""

    def judge(engine: str, grids: tuple[Grid, Grid] = grids) -> list[Part]:
        runs, seen = grids
        taken = [runs.sample("share", engine=engine, n=n, background="exponential") for n in (4, 2, 1)]
        steady, random = (
            seen.sample("height", engine=engine, n=1, background=kind) for kind in ("cbr", "exponential")
        )
        return [
            *ordered("share", ["n = 4", "n = 2", "n = 1"], taken),
            above("autocorrelation: beside CBR minus here", 0.0, (steady - random).estimate),
        ]

    return builder.claim(
        "Z-XI-1",
        judge,
        explanation=background.in_step(judge, variant, (*background.JITTER, "sampled-spread")),
    )
