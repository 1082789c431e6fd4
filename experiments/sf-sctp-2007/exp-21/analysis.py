"""Experiment XXI: from runs to verdicts, figures and a finding."""

from anabranch_lab.judge.claims import Claim, ClaimBuilder, Explanation, Part, above, arithmetic, within
from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.run.grid import Grid, Sample
from anabranch_lab.run.results import Results

from ..common import fair, phi


def analyse(results: Results) -> Analysis:
    """What the lab asks an experiment for."""
    equal = results.grid("equal", fair.MEASURES)
    floor = results.grid("floor", fair.MEASURES)
    a, b, without = (fair.measured(results, name) for name in ("a", "b", "a-xviii"))
    claims = claim_builder(results)
    engine = results.plan.engines[0]
    kept = ", ".join(
        f"{left(a, without, engine, 8, name).estimate.text(2)} ({phi.LABELS[name]})" for name in phi.NAMES
    )
    alone = fair.share(equal, "single", engine=engine, n=1)
    return Analysis(
        claims=[loses(claims, a, without, floor), wave(claims)],
        figures=fair.figures(
            results, a, b, "n", "number of subflows", phi.NAMES, ("5.43", "5.44"), equal=equal
        ),
        findings=[
            f"Of what eight subflows have without the square wave they keep {kept} ({engine}). One subflow gets {alone.text(2)} "
            "times what one SCTP gets.",
        ],
    )


def left(a: Grid, without: Grid, engine: str, n: int, name: str):
    """What SF-SCTP has beside the wave, as a share of what it has in XVIII."""
    return a.sample("sf", engine=engine, n=n, phi=name) / without.sample("sf", engine=engine, n=n, phi=name)


def loses(builder: ClaimBuilder, a: Grid, without: Grid, floor: Grid) -> Claim:
    """Z-XXI-1."""

    def judge(engine: str) -> list[Part]:
        parts: list[Part] = []
        for n in (2, 4, 8, 15):
            kept = {name: left(a, without, engine, n, name) for name in phi.NAMES}
            for small, large in (("1", "n"), ("n", "n^2"), ("n^2", "2n^2")):
                more = (kept[small] - kept[large]).estimate
                parts.append(above(f"n = {n}: share kept with Phi = {small} minus {large}", 0.0, more))
        return parts

    def got(source: Grid, n: int, name: str) -> Sample:
        return source.sample("sf", engine="ns2-2.28", n=n, phi=name)

    return builder.claim(
        "Z-XXI-1",
        judge,
        explanation=Explanation(
            "Beside the wave eight and fifteen subflows with Phi = n^2 and 2 n^2 have windows on the floor of ssthresh, two packets: they do not grow "
            "by one between two waves, and Phi is not seen. Both get the same there, and 2 n^2 keeps the larger share of the less that it has "
            "without the wave. A lower floor takes from both.",
            runs=("floor",),
            parts=tuple(
                part
                for n in (8, 15)
                for part in (
                    within(
                        f"n = {n}: beside the wave, 2n^2 / n^2",
                        0.95,
                        1.05,
                        (got(a, n, "2n^2") / got(a, n, "n^2")).estimate,
                    ),
                    *(
                        above(
                            f"n = {n}, Phi = {name}: what the floor is worth, Mbit/s",
                            0.0,
                            (got(a, n, name) - got(floor, n, name)).estimate,
                        )
                        for name in ("n^2", "2n^2")
                    ),
                )
            ),
        ),
    )


def wave(builder: ClaimBuilder) -> Claim:
    """Z-XXI-2."""

    def judge(_engine: str) -> list[Part]:
        return [arithmetic("share of the bottleneck when it is on", 0.8, 8.0 / 10.0, 0.0)]

    return builder.claim("Z-XXI-2", judge)
