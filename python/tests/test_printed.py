"""Judges that hold what a paper prints against what follows from it: with one value or one equation wrong they say so.

Their claims need no runs. Where both sides stand in the judge itself (sizes of tables, mean rates of sources) there is nothing to make up.
"""

import sys
from types import SimpleNamespace

import pytest
from made_up import plan

from anabranch_lab.judge import experiment
from anabranch_lab.models import deterministic, renewal, shared, stochastic

TRACES = "web_objects_2005.traces"
FIGURE = "sf_sctp_2007.fig_4_2"


def module(package, name):
    """A module of an experiment, such as its judge."""
    experiment._module(plan(package.replace("_", "-").replace(".", "/")))
    return sys.modules[f"anabranch_experiments_{package}.{name}"]


class Builder:
    """Of a claim only its parts are asked for."""

    def claim(self, identifier, parts, **_):
        return SimpleNamespace(id=identifier, failing=[part.at for part in parts if not part.holds])


def bent(table):
    """The table with each of its values too large, one after the other: by one, or by a fiftieth and more than it is rounded."""
    for row, values in table.items():
        for place, value in enumerate(values):
            yield {
                **table,
                row: (
                    *values[:place],
                    value + (1 if isinstance(value, int) else 0.02 * value + 0.001),
                    *values[place + 1 :],
                ),
            }


@pytest.mark.parametrize(("table", "judge"), [("TABLE_5_2", "table_5_2"), ("TABLE_5_3", "table_5_3")])
def test_every_value_of_tables_5_2_and_5_3_counts(monkeypatch, table, judge):
    printed, judge = module(TRACES, "printed"), getattr(module(TRACES, "judge"), judge)
    assert not judge(Builder()).failing
    for wrong in bent(getattr(printed, table)):
        monkeypatch.setattr(printed, table, wrong)
        assert judge(Builder()).failing, wrong


def test_shares_of_which_delta_follows_and_a_delta_that_does_not():
    judge, data = module("satellite_2005", "judge"), module("satellite_2005", "data")
    builder = experiment.claim_builder(SimpleNamespace(plan=plan("satellite-2005"), quick=False))

    def failing(rows):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(data, "published", lambda: rows)
            return [part.at for part in judge.delta(builder).parts if not part.holds]

    def row(printed, delta):
        return {**printed, "delta_pct": round(delta, 1)}

    right = {
        p: row(each, 100 * (each["sctp_pct"] - each["tcp_pct"]) / each["tcp_pct"])
        for p, each in data.published().items()
    }
    assert not failing(right)
    for p, each in right.items():
        assert failing({**right, p: row(each, each["delta_pct"] + 1.0)}) == [f"p = {p:g}"]


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
    builder = experiment.claim_builder(SimpleNamespace(plan=plan("sf-sctp-2007/fig-4-2"), quick=False))
    assert not [claim.id for claim in judge.claims(builder) if claim.short]
    larger(where, name, monkeypatch)
    assert fail <= {claim.id for claim in judge.claims(builder) if claim.short}
