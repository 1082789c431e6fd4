"""Experiment XVIII: from runs to grades, figures and a finding; and the common parts of XVIII to XXI."""

import itertools
from collections.abc import Iterable, Sequence

from anabranch_lab.judge.comparison import Measured
from anabranch_lab.judge.experiment import Analysis, claim_builder, results_of
from anabranch_lab.run.grid import Grid
from anabranch_lab.run.results import Results
from anabranch_lab.stats import estimate, jain

from ..common import fair, phi, readings
from ..common.estimates import minus_one

FCC = ("n", "n^2", "2n^2")


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    others = {told: results_of(results, f"exp-{told}") for told in ("19", "20", "21")}
    a, b = (fair.measured(results, name) for name in ("a", "b"))
    spread, of_data = (fair.measured(results, name) for name in ("b-spread", "a-data"))
    beside = {
        readings.WHOLE: {"a": fair.measured(results, "a-1500"), "b": fair.measured(results, "b-1500")},
        readings.SPREAD: {"b": spread},
        readings.DATA: {"a": of_data},
    }
    equal = fair.grids(results, "equal")
    alone = {
        "XVIII": equal,
        "XIX": fair.grids(others["19"], "equal"),
        "XXI": fair.grids(others["21"], "equal"),
    }
    many, many_of_data = (
        {
            "XVIII": fair.grids(results, name),
            "XIX": fair.grids(others["19"], name),
            "XXI": fair.grids(others["21"], name),
        }
        for name in ("b", "b-data")
    )
    builder = claim_builder(results)
    shares = ", ".join(
        f"{fair.share(a, 'single', n=8, phi=name).text(1)} ({phi.LABELS[name]})" for name in phi.NAMES
    )
    return Analysis(
        claims=[
            builder.claim("Z-XVIII-1", alike(alone)),
            builder.claim(
                "Z-XVIII-2",
                {**sums(many), **over_losses(fair.grids(others["20"], "b"))},
                readings={
                    **{told: sums({"XVIII": runs["b"]}) for told, runs in beside.items() if "b" in runs},
                    readings.DATA: {
                        **sums(many_of_data),
                        **over_losses(fair.grids(others["20"], "b-data")),
                    },
                },
            ),
            *(
                builder.claim(
                    name,
                    judge({"a": a, "b": b}),
                    readings={told: judge(runs) for told, runs in beside.items()},
                )
                for name, judge in (
                    ("Z-XVIII-3", fairer),
                    ("Z-XVIII-4", retransmits),
                    ("Z-XVIII-5", no_order),
                )
            ),
        ],
        figures=fair.figures(a, b, "n", "number of subflows", phi.NAMES, ("5.37", "5.38"), equal=equal),
        findings=[
            f"How much eight subflows get, as a multiple of the single SCTP beside them: {shares}.",
            f"Eight subflows with Phi = 1 get {fair.share(b, 'singles', n=8, phi='1').text(2)} times what eight SCTPs get; where the receiving host takes up to "
            f"1 ms for a packet it is {fair.share(spread, 'singles', n=8, phi='1').text(2)}: without it flows fall into step with the full queue, and "
            "only who has just grown is cut.",
            "With messages of 1000 bytes packets have 1052 bytes, and 1048 those of SCTP: with Phi = 1 two subflows get "
            f"{fair.share(many_of_data['XVIII'], 'singles', n=2, phi='1').text(2)} times what two SCTPs get, eight "
            f"{fair.share(many_of_data['XVIII'], 'singles', n=8, phi='1').text(2)} times what eight get, and beside one SCTP eight with Phi = n^2 "
            f"{fair.share(of_data, 'single', n=8, phi='n^2').text(1)} times its share.",
        ],
    )


def alike(alone: dict[str, Grid]) -> dict[str, Measured]:
    """One subflow and one SCTP."""
    parts: dict[str, Measured] = {}
    for told, runs in alone.items():
        sf, single = (runs.sample(measure, n=1) for measure in ("sf", "single"))
        pairs = zip(sf.values, single.values, strict=True)
        parts[f"{told}: Jain's index"] = estimate([jain(pair) for pair in pairs], sf.least)
        parts[f"{told}: SF-SCTP / SCTP, minus 1"] = minus_one(sf.over(single))
    return parts


def sums(many: dict[str, Grid]) -> dict[str, Measured]:
    """Independent subflows against as many SCTPs."""
    return {
        f"{told}, n = {n}: SF-SCTP / SCTPs, minus 1": minus_one(fair.share(runs, "singles", n=n, phi="1"))
        for told, runs in many.items()
        for n in places(runs)
    }


def over_losses(runs: Grid) -> dict[str, Measured]:
    """The same over the loss rate of XX."""
    return {
        f"XX, loss {p:g}: SF-SCTP / SCTPs, minus 1": minus_one(fair.share(runs, "singles", p=p, phi="1"))
        for p in runs.values("p")
    }


def places(runs: Grid) -> Sequence[int]:
    """Numbers of subflows."""
    return [int(n) for n in runs.values("n")]


def fairer(runs: dict[str, Grid]) -> dict[str, Measured]:
    """Shares with each Phi."""
    parts: dict[str, Measured] = {}
    if a := runs.get("a"):
        for n in places(a):
            got = {
                name: a.sample("sf", n=n, phi=name) / a.sample("single", n=n, phi=name) for name in phi.NAMES
            }
            for small, large in itertools.pairwise(("1", "n", "n^2")):
                parts[f"(a) n = {n}: ratio at Phi = {small}, minus at {large}"] = got[small] - got[large]
            parts[f"(a) n = {n}: ratio at Phi = n^2"] = got["n^2"]
            gain = a.sample("single", n=n, phi="n^2") - a.sample("single", n=n, phi="1")
            parts[f"(a) n = {n}: what the single SCTP gains by Phi = n^2, Mbit/s"] = gain
    if b := runs.get("b"):
        for n, name in itertools.product(places(b), FCC):
            less = b.sample("sf", n=n, phi=name) - b.sample("singles", n=n, phi=name)
            parts[f"(b) n = {n}, Phi = {name}: SF-SCTP minus SCTPs, Mbit/s"] = less
    return parts


def retransmits(runs: dict[str, Grid]) -> dict[str, Measured]:
    """Fast retransmits for each packet."""
    parts: dict[str, Measured] = {}
    for scenario, n, name, grid in each(runs):
        for measure, who in (("fr_sf", "SF-SCTP"), ("fr_single", "SCTP")):
            fewer = grid.sample(measure, n=n, phi="1") - grid.sample(measure, n=n, phi=name)
            parts[f"({scenario}) n = {n}: {who}, Phi = 1 minus {name}"] = fewer
        less = grid.sample("fr_single", n=n, phi=name) - grid.sample("fr_sf", n=n, phi=name)
        parts[f"({scenario}) n = {n}, Phi = {name}: SCTP minus SF-SCTP"] = less
    return parts


def each(runs: dict[str, Grid]) -> Iterable[tuple[str, int, str, Grid]]:
    """Scenario, number of subflows, Phi above 1, and the runs."""
    for scenario, grid in runs.items():
        for n, name in itertools.product(places(grid), FCC):
            yield scenario, n, name, grid


def no_order(runs: dict[str, Grid]) -> dict[str, Measured]:
    """Phi = n^2 against 2 n^2.

    A difference of a few percent that always has the same sign is an order, however small. With eight differences one in three studies would find
    a sign somewhere that is not there, and the other parts of the claim may err as well: each is held against 5 % over the number of all.
    """
    parts: dict[str, Measured] = {}
    apart = []
    for scenario, grid in runs.items():
        for n in places(grid):
            square, double = (grid.sample("sf", n=n, phi=name) for name in ("n^2", "2n^2"))
            parts[f"({scenario}) n = {n}: 2n^2 / n^2, minus 1"] = minus_one((double / square).estimate)
            apart.append((double - square).estimate)
    # A text is graded as certain, so that its own error must be small beside that of the claim.
    level = 1 - 0.05 / len(apart) / (len(parts) + 1)
    more = any(each.mean > each.half_at(level) for each in apart)
    less = any(-each.mean > each.half_at(level) for each in apart)
    order = "none" if more == less else "more with 2n^2" if more else "less with 2n^2"
    return {**parts, "a significant order that is the same everywhere": order}
