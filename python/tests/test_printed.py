"""Judges that compare printed values of a paper with the values that follow from it: with one value or one equation wrong they say so.

Their claims need no runs. Where both sides stand in the judge itself (sizes of tables, mean rates of sources) there is nothing to make up.
"""

import dataclasses
import sys
from types import SimpleNamespace

import pytest
from made_up import plan

from anabranch_lab.judge import claims, experiment, grades
from anabranch_lab.models import deterministic, renewal, shared, stochastic

TRACES = "web_objects_2005.traces"
FIGURE = "sf_sctp_2007.fig_4_2"


def module(package, name):
    """A module of an experiment, such as its judge."""
    experiment._module(plan(package.replace("_", "-").replace(".", "/")))
    return sys.modules[f"anabranch_experiments_{package}.{name}"]


@pytest.mark.parametrize(("identifier", "judge"), [("A-T52", "table_5_2"), ("A-T53", "table_5_3")])
def test_every_value_of_tables_5_2_and_5_3_counts(identifier, judge):
    """With one printed value changed, its part fails, and no other."""
    entry = experiment.claim_builder(
        SimpleNamespace(plan=plan("web-objects-2005/traces"), quick=False, rule=lambda sweep: None)
    )
    entry = entry._entries[identifier]
    found = getattr(module(TRACES, "judge"), judge)()

    def failing(parts):
        bent = dataclasses.replace(entry, parts=parts)
        graded, _ = claims.of(bent, claims.compared(bent, found))
        return [part.at for part in graded if part.grade != grades.A]

    assert not failing(entry.parts)
    for place, part in enumerate(entry.parts):
        wrong = (
            {"value": part.value * 1.02 + 0.001} if part.value is not None else {"equals": f"{part.equals}1"}
        )
        bent = dataclasses.replace(part, **wrong)
        assert failing((*entry.parts[:place], bent, *entry.parts[place + 1 :])) == [part.at]


def test_shares_of_which_delta_follows_and_a_delta_that_does_not():
    judge, data = module("satellite_2005", "judge"), module("satellite_2005", "data")
    builder = experiment.claim_builder(
        SimpleNamespace(plan=plan("satellite-2005"), quick=False, rule=lambda sweep: None)
    )

    def failing(rows):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(data, "published", lambda: rows)
            return [part.at for part in judge.delta(builder).parts if part.grade != "A"]

    # The shares that each printed delta needs, where those of the table do not give it.
    rows = {}
    for part in builder._entries["L-T2-del"].parts:
        share = 100 * (1 + part.value / 100) / (2 + part.value / 100)
        rows[float(part.at.removeprefix("p = "))] = {"sctp_pct": share, "tcp_pct": 100 - share}
    assert not failing(rows)
    for p, row in rows.items():
        assert failing({**rows, p: {**row, "sctp_pct": row["sctp_pct"] + 0.5}}) == [f"p = {p:g}"]


def larger(module, name, monkeypatch):
    """The function returns a hundredth more than it should."""
    right = getattr(module, name)
    monkeypatch.setattr(module, name, lambda *at, **named: right(*at, **named) * 1.01)


@pytest.mark.parametrize(
    ("where", "name", "fail"),
    [
        (stochastic, "association", {"Z-F42-1", "Z-F42-2", "Z-F42-3"}),
        (shared, "throughput", {"Z-F42-1", "Z-F42-2", "Z-F42-3"}),
        (stochastic, "throughput_exact", {"Z-EQ-1"}),
        (stochastic, "throughput_printed", {"Z-EQ-1"}),
        (shared, "packets_to_loss", {"Z-EQ-1"}),
        (deterministic, "p_up", {"Z-EQ-1"}),
        (renewal, "bernoulli_constant", {"Z-EQ-1"}),
    ],
)
def test_an_equation_that_is_a_hundredth_off(monkeypatch, where, name, fail):
    judge = module(FIGURE, "judge")
    builder = experiment.claim_builder(
        SimpleNamespace(plan=plan("sf-sctp-2007/fig-4-2"), quick=False, rule=lambda sweep: None)
    )
    assert not [claim.id for claim in judge.claims(builder) if claim.short]
    larger(where, name, monkeypatch)
    assert fail <= {claim.id for claim in judge.claims(builder) if claim.short}
