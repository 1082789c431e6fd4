"""Experiment XXI: from runs to grades, figures and a finding."""

import tomllib

from anabranch_lab.judge.experiment import Analysis, claim_builder, results_of
from anabranch_lab.run.results import Results

from ..common import fair, phi


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    first = results_of(results, "exp-18")
    a, b, clean = fair.measured(results, "a"), fair.measured(results, "b"), fair.measured(first, "a")
    whole, whole_clean = fair.measured(results, "a-1500"), fair.measured(first, "a-1500")
    equal = fair.grids(results, "equal")
    builder = claim_builder(results)
    kept = ", ".join(
        f"{(a.sample('sf', n=8, phi=name) / clean.sample('sf', n=8, phi=name)).estimate.text(2)} ({phi.LABELS[name]})"
        for name in phi.NAMES
    )
    return Analysis(
        claims=[
            builder.claim(
                "Z-XXI-1",
                dict(fair.kept(a, clean)),
                readings={fair.WHOLE: dict(fair.kept(whole, whole_clean))},
            ),
            builder.claim("Z-XXI-2", {"share of the bottleneck when it is on": wave(results)}),
        ],
        figures=fair.figures(a, b, "n", "number of subflows", phi.NAMES, ("5.43", "5.44"), equal=equal),
        findings=[
            f"Of what eight subflows have without the square wave they keep {kept}. One subflow gets "
            f"{fair.share(equal, 'single', n=1).text(2)} times what one SCTP gets.",
        ],
    )


def wave(results: Results) -> float:
    """The rate of the background over that of the bottleneck, as the scenario has them."""
    scenario = tomllib.loads(results.plan.sweep("a").scenario.read_text(encoding="utf-8"))
    background = next(flow for flow in scenario["flow"] if flow["name"] == "background")["traffic"]["rate"]
    bottleneck = next(link for link in scenario["link"] if link["name"] == "bottleneck")["rate"]
    first, second = (float(rate.removesuffix(" Mbit/s")) for rate in (background, bottleneck))
    return first / second
