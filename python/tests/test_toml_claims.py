"""Claims that need no Python: the measure and the point stand in claims.toml."""

import json

import pytest

from anabranch_lab import cli
from anabranch_lab.judge import claims, experiment, grades, toml_claims
from anabranch_lab.judge.comparison import cannot_fail
from anabranch_lab.plan import folders
from anabranch_lab.plan.catalogue import Expected
from anabranch_lab.plan.plan import PlanError
from anabranch_lab.run import campaign
from anabranch_lab.run.results import Results
from anabranch_lab.run.schedule import Schedule
from anabranch_lab.run.simulation import Outcome
from anabranch_lab.show import plots
from anabranch_lab.stats import Estimate

SCENARIO = """
duration = "5 s"
[[link]]
name = "wire"
from = "a"
to = "b"
both = true
rate = "2 Mbit/s"
delay = "20 ms"
queue = { kind = "droptail", packets = 20 }
[[flow]]
name = "one"
from = "a"
to = "b"
protocol = "sctp"
engine = "rfc9260"
traffic = { kind = "greedy", message = "1000 B" }
[[flow]]
name = "many"
count = 2
from = "a"
to = "b"
protocol = "sctp"
engine = "rfc9260"
traffic = { kind = "greedy", message = "1000 B" }
"""
PLAN = """
engines = ["rfc9260", "linux-6.1"]
seeds = "1..12"
[[sweep]]
name = "rates"
about = "Rates."
axes.rate = { keys = { "link.wire.rate" = "{} Mbit/s" }, values = [2, 4] }
[[sweep]]
name = "delays"
about = "Delays."
engines = ["rfc9260"]
axes.delay = { keys = { "link.wire.delay" = "{} ms" }, values = [10, 20, 40] }
axes.discipline = { keys = ["link.wire.queue.kind"], values = ["droptail"] }
quick = { axes = { delay = [10, 40] } }
"""


def simulate(scenario, seed, *, trace=False):
    """Goodput is the rate of the link, half of it with Linux; the round trip is twice the delay; both a little off, by the seed."""
    import tomllib

    document = tomllib.loads(scenario)
    link, flow = document["link"][0], document["flow"][0]
    off = 1 + 0.002 * (seed - 6.5)
    rate = 1e6 * float(link["rate"].split()[0]) * (0.5 if flow["engine"] == "linux-6.1" else 1)
    delay = 1e-3 * float(link["delay"].split()[0])
    one = {
        "name": "one",
        "goodput_payload_bps": rate * off,
        "srtt_mean_s": 2 * delay * off,
        "timeouts": 0,
        "completion_s": None,
        "cwnd_peak_bytes": 1000,
    }
    group = {"name": "many", "goodput_payload_bps": 2 * rate * off, "jain": 1.0}
    wire = {"name": "wire", "utilisation": 0.9 * off, "queue_mean_packets": 7.0}
    summary = {"seed": seed, "flows": [one], "groups": [group], "links": [wire]}
    return Outcome(summary, None)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "scenario.toml").write_text(SCENARIO)
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path


def claim(folder, parts, head="", **more):
    """Judges one claim with these parts."""
    (folder / "claims.toml").write_text(
        f'[[claim]]\nid = "X-1"\nstatement = "It is so."\n{head}\nparts = [\n  {parts}\n]\n'
    )
    results = Results(folders.load(folder), folder / "out", code="made-up", **more)
    toml_claims.check(results.plan, folders.study_of(results.plan).claims)
    campaign.run([Schedule(results, simulate)], campaign.Threads(1))
    return experiment.analyse(results)


def measured(folder, parts, head="", **more):
    (found,) = claim(folder, parts, head, **more).claims
    return {part.at: (part.measured, part.grade) for part in found.parts}


RATES = 'sweep = "rates"\nmeasure = "goodput of one, Mbit/s"'


def test_a_point_a_ratio_a_difference(folder):
    found = measured(
        folder,
        '{ at = "rate = 2", value = 2, tolerance = 0.1 }, { at = "rate = 4, engine = linux-6.1", less_than = 1 },'
        '{ at = "rate = 4 / rate = 2", value = 2.0, tolerance = "5 %" },'
        '{ at = "rate = 4, engine = rfc9260 - engine = linux-6.1", more_than = 1.5 },',
        RATES,
    )
    # The first engine is the judged one where none is named; the second point has the rest of the first.
    assert found == {
        "rate = 2": (pytest.approx(2.0), "A"),
        "rate = 4, engine = linux-6.1": (pytest.approx(2.0), "D"),
        "rate = 4 / rate = 2": (pytest.approx(2.0), "A"),
        "rate = 4, engine = rfc9260 - engine = linux-6.1": (pytest.approx(2.0), "A"),
    }


def test_a_bound_may_be_far_above_what_is_measured(folder):
    found = measured(folder, '{ at = "rate = 2", less_than = 1000 },', RATES)
    assert found == {"rate = 2": (pytest.approx(2.0), "A")}


def test_a_star_is_every_value(folder):
    found = measured(folder, '{ at = "rate = *, engine = *", more_than = 0.9 },', RATES)
    assert list(found) == [
        f"rate = {rate}, engine = {engine}" for rate in (2, 4) for engine in ("rfc9260", "linux-6.1")
    ]
    assert {grade for _, grade in found.values()} == {"A"}


def test_units_kinds_and_columns(folder):
    found = claim(
        folder,
        '{ at = "delay = 20", measure = "srtt mean of one, ms", value = 40, tolerance = 1 },'
        '{ at = "delay = 10", measure = "goodput of many, kbit/s", value = 4000, tolerance = "1 %" },'
        '{ at = "delay = 40", measure = "utilisation of wire, %", range = [85, 95] },'
        '{ at = "delay = 10, discipline = droptail", measure = "queue mean packets of wire", less_than = 8 },'
        '{ at = "delay = 20 - delay = 10", measure = "timeouts of one", same = 0.5 },'
        '{ at = "delay = 40 - delay = 10", measure = "srtt_mean_s of one, s", sign = "more" },'
        '{ at = "delay = 40, discipline = droptail", measure = "cwnd peak of one, bytes", more_than = 900 },',
        'sweep = "delays"',
    )
    (judged,) = found.claims
    assert [part.grade for part in judged.parts] == ["A"] * 7
    assert judged.grade == grades.A
    assert judged.own
    assert judged.engine == "rfc9260"
    assert found.findings[0].startswith("It is so. Holds (A): delay = 20: 40")
    for figure in found.figures:
        with plots.style():
            plots.plt.close(figure.draw())
    assert found.figures[0].name == "claim-X-1"


def test_a_figure_has_the_curve_and_what_is_expected(folder):
    found = claim(
        folder, '{ at = "rate = 2", value = 2, tolerance = 0.1 }, { at = "rate = 4", more_than = 1 },', RATES
    )
    (axes,) = found.figures[0].draw().axes
    assert axes.get_ylabel() == "Mbit/s"
    curves = axes.containers
    assert [curve.get_label() for curve in curves] == ["RFC 9260", "linux-6.1"]
    assert list(curves[0][0].get_ydata()) == pytest.approx([2, 4])
    (band,) = axes.collections[-1:]
    low, high = band.get_paths()[0].vertices[:, 1].min(), band.get_paths()[0].vertices[:, 1].max()
    assert (low, high) == pytest.approx((1.9, 2.1))


def test_a_sweep_of_one_point_and_one_of_names(folder):
    text = PLAN.replace(
        'axes.delay = { keys = { "link.wire.delay" = "{} ms" }, values = [10, 20, 40] }\n', ""
    )
    (folder / "plan.toml").write_text(text.replace("quick =", "# quick ="))
    found = claim(
        folder,
        '{ at = "discipline = droptail", sweep = "delays", value = 40, tolerance = 1 },'
        '{ at = "rate = 2", sweep = "rates", less_than = 50 },',
        'measure = "srtt mean of one, ms"',
    )
    assert [part.grade for part in found.claims[0].parts] == ["A", "A"]
    curve, point = found.figures[0].draw().axes
    assert curve.get_ylabel() == "ms"
    assert point.get_xlabel() == "srtt mean of one, ms"


def test_what_nothing_is_measured_of_is_open(folder):
    found = measured(
        folder, '{ at = "rate = 2", more_than = 1 },', 'sweep = "rates"\nmeasure = "duration of one, s"'
    )
    assert found == {"rate = 2": ("no figure", "C")}
    found = measured(
        folder,
        '{ at = "rate = 4 / rate = 2", more_than = 1 },',
        'sweep = "rates"\nmeasure = "timeouts of one"',
    )
    assert found == {"rate = 4 / rate = 2": ("no figure", "C")}


def test_few_seeds_and_a_quick_look_judge_nothing(folder):
    parts = '{ at = "delay = *", more_than = 1 }, { at = "delay = 20 / delay = 10", more_than = 1 },'
    head = 'sweep = "delays"\nmeasure = "srtt mean of one, ms"'
    found = measured(folder, parts, head, quick=True)
    # A quick look leaves points out.
    assert list(found) == ["delay = 10", "delay = 40"]
    (judged,) = claim(folder, parts, head, seeds=(1, 2, 3)).claims
    assert judged.grade == grades.NOT_JUDGED


@pytest.mark.parametrize(
    ("parts", "head", "message"),
    [
        (
            '{ at = "rate = 2", more_than = 1 }',
            'measure = "goodput of one, Mbit/s"',
            "`sweep` is missing; there are rates, delays",
        ),
        ('{ at = "engine = rfc9260", more_than = 1 }', RATES, "no value of `rate`; there are 2, 4"),
        ('{ at = "rate = 3", more_than = 1 }', RATES, "rate = 3; there are 2, 4"),
        ('{ at = "rate = * / rate = 2", more_than = 1 }', RATES, "`\\*` cannot be compared"),
        ('{ at = "rate = 2", equals = 2 }', RATES, "`equals` needs an analysis.py"),
        ('{ at = "rate = 2", sign = "more" }', RATES, "`sign` is about the difference"),
        (
            '{ at = "rate = 2", more_than = 1 }',
            'sweep = "rates"\nmeasure = "goodput"',
            "write it as `goodput of upload, Mbit/s`",
        ),
        ('{ at = "rate = 2", more_than = 1, measure = 3 }', RATES, "`measure` is a text, not 3"),
        (
            '{ at = "rate = 2", more_than = 1 }',
            'sweep = "rates"\nmeasure = "a;b of one"',
            "is no column of results",
        ),
        (
            '{ at = "rate = 2", more_than = 1 }',
            'sweep = "rates"\nmeasure = "godput of one, s"',
            "a flow has no godput_s; there are goodput",
        ),
        ('{ at = "rate = 2", more_than = -1 }', RATES, "> -1: nothing can fail; rate = 2 would be so"),
        ('{ at = "rate = 2", value = 2, tolerance = 1e9 }', RATES, "nothing can fail"),
        ('{ at = "rate = 4 - rate = 2", range = [-1e9, 1e9] }', RATES, "nothing can fail"),
    ],
)
def test_what_is_wrong_is_said_with_what_there_is(folder, parts, head, message):
    with pytest.raises(PlanError, match=message) as error:
        claim(folder, parts, head)
    assert str(error.value).startswith(f"{folder / 'claims.toml'}: claim X-1")


def test_a_small_difference_of_large_values_can_fail():
    """A hundredfold of a difference that is nearly none says nothing, a hundredfold of the values that it is made of does."""
    same, small = Expected("x", same=(-0.1, 0.1)), Estimate(1e-4, 1e-5, 12, 1e-5)
    assert cannot_fail(same, "x", small, signed=True)
    assert not cannot_fail(same, "x", small, signed=True, size=2.0)
    assert cannot_fail(same, "x", small, signed=True, size=1e-4)


def test_a_difference_is_as_large_as_its_points(folder, monkeypatch):
    seen = []
    monkeypatch.setattr(toml_claims, "cannot_fail", lambda *_, signed, size: seen.append((signed, size)))
    measured(
        folder, '{ at = "rate = 4 - rate = 2", more_than = 1 }, { at = "rate = 2", more_than = 1 }', RATES
    )
    assert seen == [(True, pytest.approx(4.0)), (False, None)]


def test_beside_an_analysis_of_ones_own(folder, monkeypatch):
    (folder / "analysis.py").write_text(
        '"""Mine."""\n'
        "from anabranch_lab.judge.experiment import Analysis, claim_builder\n"
        "def analyse(results):\n"
        "    return Analysis([claim_builder(results).claim('X-2', {'mine': 3.0})], findings=['mine'])\n"
    )
    (folder / "claims.toml").write_text(
        '[[claim]]\nid = "X-1"\nstatement = "Declared."\n'
        + RATES
        + '\nparts = [{ at = "rate = 2", more_than = 1 }]\n'
        '[[claim]]\nid = "X-2"\nstatement = "Judged."\nparts = [{ at = "mine", more_than = 1 }]\n'
    )
    results = Results(folders.load(folder), folder / "out", code="made-up")
    campaign.run([Schedule(results, simulate)], campaign.Threads(1))
    found = experiment.analyse(results)
    assert {each.id: each.grade for each in found.claims} == {"X-1": "A", "X-2": "A"}
    assert found.findings == ["mine"]
    assert [figure.name for figure in found.figures] == ["claim-X-1"]


def test_an_axis_may_stand_in_its_sweep_or_in_the_plan(folder):
    one = folders.load(folder)
    assert [axis.name for axis in one.sweep("rates").axes] == ["engine", "rate"]
    text = PLAN.replace(
        'axes.rate = { keys = { "link.wire.rate" = "{} Mbit/s" }, values = [2, 4] }', 'axes = ["rate"]'
    )
    shared = '[axes.rate]\nkeys = { "link.wire.rate" = "{} Mbit/s" }\nvalues = [2, 4]\n'
    (folder / "plan.toml").write_text(text.replace("[[sweep]]", shared + "[[sweep]]", 1))
    assert folders.load(folder).sweep("rates") == one.sweep("rates")


def test_claims_of_a_study_may_stand_beside_each_plan_or_together(folder, tmp_path_factory, capsys):
    study = tmp_path_factory.mktemp("study")
    (study / "study.toml").write_text('title = "Mine"\n')
    text = (
        '[[claim]]\nid = "X-1"\nstatement = "It is so."\n'
        + RATES
        + '\nparts = [{ at = "rate = 2", more_than = 1 }]\n'
    )
    for name in ("first", "second"):
        (study / name).mkdir()
        for file in ("scenario.toml", "plan.toml"):
            (study / name / file).write_text((folder / file).read_text())
        (study / name / "claims.toml").write_text(text.replace("X-1", f"X-{name}"))
    (study / "claims.toml").write_text(text.replace("id =", 'experiment = "first"\nid ='))
    assert {entry.id: entry.experiment for entry in folders.study_at(study).claims.values()} == {
        "X-1": "first",
        "X-first": "first",
        "X-second": "second",
    }
    assert cli.main(["run", str(study)]) == 0
    assert cli.main(["claims", str(study)]) == 0
    judged = json.loads((study / "out" / "claims.json").read_text())
    assert [entry["id"] for entry in judged] == ["X-1", "X-first", "X-second"]
    (study / "second" / "claims.toml").write_text(text)
    assert cli.main(["list", str(study)]) == 2
    assert "second/claims.toml: claim X-1: another one of first is called so" in capsys.readouterr().err


def test_what_an_experiment_uses_of_another_is_made_with_it(folder, tmp_path_factory, capsys):
    study = tmp_path_factory.mktemp("study")
    (study / "study.toml").write_text('title = "Mine"\n')
    for name in ("first", "second"):
        (study / name).mkdir()
        for file in ("scenario.toml", "plan.toml"):
            (study / name / file).write_text(
                (folder / file).read_text().replace('"5 s"', '"3 s"' if name == "first" else '"5 s"')
            )
    (study / "second" / "analysis.py").write_text(
        '"""Mine."""\n'
        "from anabranch_lab.judge.experiment import Analysis, results_of\n"
        "def analyse(results):\n"
        "    rows = results_of(results, 'first').rows('delays', 'SELECT count(*) AS n FROM runs')\n"
        "    return Analysis([], findings=[str(rows)])\n"
    )
    plan = study / "second" / "plan.toml"
    plan.write_text('uses = { first = ["delays"] }\n' + plan.read_text())
    # 48 + 36 of its own, 12 of them twice, and 36 of the other's.
    assert cli.main(["run", str(study / "second")]) == 0
    assert "second: 108 runs made" in capsys.readouterr().out
    assert cli.main(["plan", str(study / "second")]) == 0
    assert "108 runs, 108 of them on disk" in capsys.readouterr().out
    assert cli.main(["report", str(study / "second")]) == 0
    # Both together have each run made once.
    assert cli.main(["run", str(study)]) == 0
    assert "2 experiments: 36 runs made, all 144 on disk" in capsys.readouterr().out
    plan.write_text(plan.read_text().replace("delays", "dealys", 1))
    assert cli.main(["run", str(study / "second")]) == 2
    assert "no sweep `dealys`; there are rates, delays" in capsys.readouterr().err


def test_a_published_run_and_too_few_of_ours_can_be_written(folder):
    parts = '{ at = "rate = 2", value = 2, tolerance = 0.1, one_run = true },'
    (judged,) = claim(folder, parts, RATES, seeds=(1, 2)).claims
    assert (judged.grade, judged.parts[0].band) == (grades.NOT_JUDGED, None)
    claims.write([judged], folder / "claims.json")


def test_a_point_that_a_part_names_is_not_the_stars(folder):
    found = measured(
        folder,
        '{ at = "rate = *, engine = rfc9260", more_than = 3 }, { at = "rate = 2, engine = rfc9260", less_than = 3 },',
        RATES,
    )
    assert {at: grade for at, (_, grade) in found.items()} == {
        "rate = 4, engine = rfc9260": "A",
        "rate = 2, engine = rfc9260": "A",
    }
