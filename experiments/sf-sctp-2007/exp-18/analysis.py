"""Experiment XVIII: from runs to verdicts, figures and a finding; and what XVIII to XXI have in common."""

from anabranch_lab.judge.claims import (
    Claim,
    ClaimBuilder,
    Explanation,
    Part,
    above,
    below,
    condition,
    number,
    within,
)
from anabranch_lab.judge.experiment import Analysis, claim_builder, results_of
from anabranch_lab.run.grid import Grid
from anabranch_lab.run.results import Results
from anabranch_lab.stats import estimate, jain

from ..common import fair, phi

PLACES = (2, 4, 8, 15)
THESIS = "ns2-2.28"
"""The engine that the thesis ran."""


def analyse(results: Results) -> Analysis:
    """What the lab asks an experiment for."""
    runs = {name: fair.measured(results, name) for name in ("a", "b")}
    runs["xx"] = results_of(results, "exp-20").grid("b", fair.MEASURES)
    for name in ("equal", "equal-xix", "equal-xxi", "b-xix", "b-xxi"):
        runs[name] = results.grid(name, fair.MEASURES)
    step = results.grid("step", fair.MEASURES)
    claims = claim_builder(results)
    engine = results.plan.engines[0]
    shares = ", ".join(
        f"{fair.share(runs['a'], 'single', engine=engine, n=8, phi=name).text(1)} ({phi.LABELS[name]})"
        for name in phi.NAMES
    )
    return Analysis(
        claims=[
            alike(claims, runs),
            sums(claims, runs),
            fairer(claims, runs),
            retransmits(claims, runs),
            no_order(claims, runs, step),
        ],
        figures=fair.figures(
            results,
            runs["a"],
            runs["b"],
            "n",
            "number of subflows",
            phi.NAMES,
            ("5.37", "5.38"),
            equal=runs["equal"],
        ),
        findings=[
            f"How much eight subflows get, as a multiple of the single SCTP beside them: {shares} ({engine}).",
            f"Against eight SCTPs eight subflows with Phi = n² get {runs['b'].at('sf', engine=engine, n=8, phi='n^2').text(2)} Mbit/s. Where the "
            f"receiving host takes no time for a packet it is {step.at('sf', engine=THESIS, n=8, phi='n^2').text(2)}: flows fall into step "
            "with the full queue, and only who has just grown is cut.",
        ],
    )


def alike(builder: ClaimBuilder, runs: dict[str, Grid]) -> Claim:
    """Z-XVIII-1."""

    def judge(engine: str) -> list[Part]:
        parts: list[Part] = []
        for name, told in (("equal", "XVIII"), ("equal-xix", "XIX"), ("equal-xxi", "XXI")):
            sf, single = (runs[name].sample(measure, engine=engine, n=1) for measure in ("sf", "single"))
            index = estimate([jain(pair) for pair in zip(sf.values, single.values, strict=True)], sf.least)
            parts += [
                above(f"{told}: Jain's index", 0.99, index),
                number(
                    f"{told}: SF-SCTP / SCTP", 1.0, fair.share(runs[name], "single", engine=engine, n=1), 0.05
                ),
            ]
        return parts

    return builder.claim("Z-XVIII-1", judge)


def sums(builder: ClaimBuilder, runs: dict[str, Grid]) -> Claim:
    """Z-XVIII-2."""
    told = {"b": "XVIII", "b-xix": "XIX", "b-xxi": "XXI"}

    def equal(name: str, grid: Grid, engine: str, n: int) -> Part:
        share = fair.share(grid, "singles", engine=engine, n=n, phi="1")
        return number(f"{told[name]}, n = {n}", 1.0, share, 0.05)

    def over_losses(grid: Grid) -> list[Part]:
        return [
            number(
                f"XX, n = 4, loss {p:g}",
                1.0,
                fair.share(grid, "singles", engine=THESIS, p=p, phi="1"),
                0.05,
            )
            for p in runs["xx"].values("p")
        ]

    def judge(engine: str) -> list[Part]:
        parts = [equal(name, runs[name], engine, n) for name in told for n in PLACES]
        return parts + (over_losses(runs["xx"]) if engine == THESIS else [])

    return builder.claim("Z-XVIII-2", judge)


def fairer(builder: ClaimBuilder, runs: dict[str, Grid]) -> Claim:
    """Z-XVIII-3."""

    def judge(engine: str) -> list[Part]:
        parts: list[Part] = []
        a, b = runs["a"], runs["b"]
        for n in PLACES:
            got = {
                name: a.sample("sf", engine=engine, n=n, phi=name)
                / a.sample("single", engine=engine, n=n, phi=name)
                for name in ("1", "n", "n^2")
            }
            parts += [
                above(f"(a) n = {n}: ratio at Phi = 1 minus at n", 0.0, (got["1"] - got["n"]).estimate),
                above(f"(a) n = {n}: ratio at Phi = n minus at n^2", 0.0, (got["n"] - got["n^2"]).estimate),
                above(f"(a) n = {n}: ratio at Phi = n^2", 1.0, got["n^2"].estimate),
            ]
            for name in ("n", "n^2", "2n^2"):
                less = b.sample("sf", engine=engine, n=n, phi=name) - b.sample(
                    "singles", engine=engine, n=n, phi=name
                )
                parts.append(
                    below(f"(b) n = {n}, Phi = {name}: SF-SCTP minus SCTPs, Mbit/s", 0.0, less.estimate)
                )
            gain = a.sample("single", engine=engine, n=n, phi="n^2") - a.sample(
                "single", engine=engine, n=n, phi="1"
            )
            parts.append(
                above(f"(a) n = {n}: what the single SCTP gains by Phi = n^2, Mbit/s", 0.0, gain.estimate)
            )
        return parts

    return builder.claim("Z-XVIII-3", judge)


def retransmits(builder: ClaimBuilder, runs: dict[str, Grid]) -> Claim:
    """Z-XVIII-4."""

    def judge(engine: str) -> list[Part]:
        parts: list[Part] = []
        for scenario in ("a", "b"):
            for n in PLACES:

                def rate(measure: str, name: str, n: int = n, scenario: str = scenario):
                    return runs[scenario].sample(measure, engine=engine, n=n, phi=name)

                for name in ("n", "n^2", "2n^2"):
                    for measure, who in (("fr_sf", "SF-SCTP"), ("fr_single", "SCTP")):
                        fewer = (rate(measure, "1") - rate(measure, name)).estimate
                        parts.append(above(f"({scenario}) n = {n}: {who}, Phi = 1 minus {name}", 0.0, fewer))
                    less = (rate("fr_single", name) - rate("fr_sf", name)).estimate
                    parts.append(above(f"({scenario}) n = {n}, Phi = {name}: SCTP minus SF-SCTP", 0.0, less))
        return parts

    return builder.claim("Z-XVIII-4", judge)


def no_order(builder: ClaimBuilder, runs: dict[str, Grid], step: Grid) -> Claim:
    """Z-XVIII-5."""

    def close(scenario: str, n: int, grid: Grid, engine: str) -> Part:
        square, double = (grid.sample("sf", engine=engine, n=n, phi=name) for name in ("n^2", "2n^2"))
        return within(f"({scenario}) n = {n}: 2n^2 / n^2", 0.85, 1.15, (double / square).estimate)

    def one_sign(engine: str) -> Part:
        """A difference of a few percent that always has the same sign is an order, however small.

        With eight differences one in three studies would find a sign somewhere that is not there: each is held against the eighth of 5 %.
        """
        apart = {
            f"({scenario}) n = {n}": (
                runs[scenario].sample("sf", engine=engine, n=n, phi="2n^2")
                - runs[scenario].sample("sf", engine=engine, n=n, phi="n^2")
            ).estimate
            for scenario in ("a", "b")
            for n in PLACES
        }
        level = 1 - 0.05 / len(apart)
        more = [name for name, each in apart.items() if each.mean > each.half_at(level)]
        less = [name for name, each in apart.items() if -each.mean > each.half_at(level)]
        few = [each.n for each in apart.values() if each.n < each.least]
        return condition(
            f"signs of the differences that are significant at 95 % among {len(apart)}",
            "both, or no such difference",
            f"more with 2n^2: {', '.join(more) or 'nowhere'}; less: {', '.join(less) or 'nowhere'}",
            bool(more) == bool(less),
            seeds=min(few, default=None),
        )

    def judge(engine: str) -> list[Part]:
        return [
            *(close(scenario, n, runs[scenario], engine) for scenario in ("a", "b") for n in PLACES),
            one_sign(engine),
        ]

    return builder.claim(
        "Z-XVIII-5",
        judge,
        explanation=Explanation(
            "The receiving host takes no time for a packet, as hosts in ns-2 do by themselves: nothing is random then, and flows fall into step with the queue.",
            runs=("step",),
            parts=tuple(close("b", n, step, THESIS) for n in step.values("n")),
        ),
    )
