"""`import anabranch`: runs, tables, scenarios built in Python, interrupts, types."""

import inspect
import json
import re
import signal
import subprocess
import sys
import textwrap
import tomllib

import pyarrow as pa
import pytest

import anabranch
from anabranch import scenario as keys
from anabranch import tables
from anabranch_lab.plan import folders

ROOT = folders.root()


def small(**more):
    """A path of 2 Mbit/s with one upload."""
    net = anabranch.Scenario(duration="4 s", seeds="1..2", **more)
    net.link(
        "path", "a", "b", rate="2 Mbit/s", delay="20 ms", both=True, queue={"kind": "droptail", "packets": 20}
    )
    traffic = {"kind": "greedy", "message": "1000 B"}
    return net.flow("up", "a", "b", protocol="sctp", engine="rfc9260", traffic=traffic, subflows=2)


@pytest.fixture(scope="module")
def run():
    return anabranch.run(small(), trace=True)


def test_a_run_has_a_table_for_each_kind_of_thing(run):
    assert run.seeds == (1, 2)
    assert run.flows.column("name").to_pylist() == ["up", "up"]
    assert run.flows.column("seed").to_pylist() == [1, 2]
    assert run.links.column("name").to_pylist() == ["path", "path-back"] * 2
    assert run.subflows.select(["flow", "index"]).to_pylist()[:2] == [
        {"flow": "up", "index": 0},
        {"flow": "up", "index": 1},
    ]
    assert (run.groups.num_rows, run.sources.num_rows, run.objects.num_rows) == (0, 0, 0)
    # A full link of 2 Mbit/s carries nearly that.
    assert all(1.5e6 < rate < 2e6 for rate in run.flows.column("goodput_payload_bps").to_pylist())
    assert set(run.trace.column_names) >= {"time_ns", "kind", "flow", "seq", "seed"}
    assert set(run.trace.column("seed").unique().to_pylist()) == {1, 2}


def test_events_have_the_names_of_the_statistics(run):
    windows = run.events("window")
    assert {"time_ns", "cwnd", "ssthresh", "flight"} <= set(windows.column_names)
    assert not {"a", "b", "c"} & set(windows.column_names)
    trace = run.trace.to_pylist()
    mine = [row["a"] for row in trace if row["kind"] == "window"]
    assert mine
    assert windows.column("cwnd").to_pylist() == mine
    assert run.events("rtt").column("srtt_ns").to_pylist() == [
        row["b"] for row in trace if row["kind"] == "rtt"
    ]
    assert "a" in run.events("sample").column_names
    for kind in tables.VALUES:
        # Each name is that of a statistic, or has the meaning in the table of docs/reference/trace.md.
        assert run.events(kind).num_rows == sum(row["kind"] == kind for row in trace)
    with pytest.raises(ValueError, match="no kind of event 'windows'; those of a trace are ack, dropped"):
        run.events("windows")


def test_the_tables_say_what_the_summaries_say(run):
    for summary, row in zip(run.summaries, run.flows.to_pylist(), strict=True):
        flow = summary["flows"][0]
        assert {key: value for key, value in row.items() if key != "seed"} == {
            key: value for key, value in flow.items() if key != "subflows"
        }


def test_pandas_and_polars_have_the_same_rows(run):
    for frames in (run.pandas, run.polars):
        assert list(frames.flows["packets_sent"]) == run.flows.column("packets_sent").to_pylist()
        assert len(frames.trace) == run.trace.num_rows
    # Any library that knows Arrow's interface takes a table.
    assert hasattr(run.flows, "__arrow_c_stream__")
    assert pa.table(run.polars.links).num_rows == 4


def test_a_file_a_text_a_dict_and_calls_are_the_same(tmp_path):
    net = small()
    path = tmp_path / "small.toml"
    path.write_text(net.toml())
    given = [net, net.toml(), tomllib.loads(net.toml()), path, str(path)]
    runs = [anabranch.run(each, seeds=3) for each in given]
    assert all(each.summaries == runs[0].summaries for each in runs)
    assert runs[0].seeds == (3,)


def test_what_is_set_counts():
    slow = anabranch.run(small(), seeds=1, set={"link.path.rate": "1 Mbit/s", "flow.*.options.mtu": 1280})
    assert slow.flows.column("goodput_wire_bps")[0].as_py() < 1e6
    series = anabranch.run(small(), seeds=1, trace={"sample": "0.5 s"}).trace
    assert set(series.column("kind").to_pylist()) == {"sample"}
    assert anabranch.run(small(), seeds=1, capture=True).captures[0][:4] == b"\x0a\x0d\x0d\x0a"


def test_how_many_run_at_a_time_changes_nothing():
    one, many = (anabranch.run(small(), seeds="1..6", jobs=jobs).summaries for jobs in (1, 4))
    assert one == many
    assert [summary["seed"] for summary in many] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"set": {"link.path.rate": "1 furlong"}}, "furlong"),
        ({"set": {"flow.up.engine": "no-such"}}, "no-such"),
        ({"seeds": "1..x"}, "seeds `1..x`"),
        ({"seeds": [1, 1]}, "none twice"),
        ({"seeds": []}, "at least one"),
        ({"trace": {"sample": "fast"}}, "fast"),
    ],
)
def test_what_is_wrong_is_one_line(change, message):
    with pytest.raises(ValueError, match=re.escape(message)) as error:
        anabranch.run(small(), **change)
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_there():
    with pytest.raises(FileNotFoundError, match=r"nowhere\.toml"):
        anabranch.run("nowhere.toml")
    with pytest.raises(ValueError, match="scenario"):
        anabranch.check("duration = ")


def test_ctrl_c_ends_a_run_within_a_moment():
    """The run would take hours."""
    program = """
    import signal, sys, anabranch
    # A program in the background of a script is started with the signal ignored, and so are its children.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    net = anabranch.Scenario(duration="10000 h")
    net.link("path", "a", "b", rate="1 Gbit/s", delay="1 ms", both=True, queue={"kind": "droptail", "packets": 100})
    net.flow("up", "a", "b", protocol="sctp", engine="rfc9260", traffic={"kind": "greedy", "message": "1000 B"})
    print("running", flush=True)
    try:
        anabranch.run(net, seeds=range(4))
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "running\n"
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(1)
    process.send_signal(signal.SIGINT)
    try:
        rest, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert rest == "interrupted\n"
    assert process.returncode == 0


def test_a_run_that_fails_ends_the_others():
    stuck = small().link("c", "b", "c", rate="infinite", delay="0 s")
    with pytest.raises(ValueError, match="c"):
        anabranch.run(stuck.document() | {"duration": "0 s"}, seeds="1..3")


def rows(page, heading, until):
    """Keys of the first column of a table in the documentation."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    part = text.split(heading, 1)[1].split(until, 1)[0]
    first = [line.split("|")[1] for line in part.splitlines() if line.startswith("| `")]
    return {key for cell in first for key in re.findall(r"`([a-z_]+)`", cell)}


def test_the_names_are_those_of_scenario_files():
    links = rows("reference/scenario.md", "## `[[link]]`", "A node that only one")
    assert set(keys.LinkKeys.__annotations__) == links - {"name", "from", "to"}
    top = rows("reference/scenario.md", "## The run", "## `[[link]]`")
    assert set(keys.RunKeys.__annotations__) == top - {"host", "link", "route", "flow", "record"}
    flows = rows("reference/scenario.md", "## `[[flow]]`", "\n### ")
    assert set(keys.FlowKeys.__annotations__) == flows - {"name", "from", "to"}


def test_profiles_and_options():
    assert "rfc9260" in anabranch.profiles()
    assert anabranch.options("rfc9260")["sack_every"] == "2"
    assert anabranch.options("ns2-2.28")["sack_every"] == "1"
    with pytest.raises(ValueError, match="no profile `no-such`"):
        anabranch.options("no-such")


def test_everything_public_is_documented_and_typed():
    for name in anabranch.__all__:
        thing = getattr(anabranch, name)
        assert name == "__version__" or inspect.getdoc(thing), name
        if inspect.isfunction(thing):
            assert "return" in thing.__annotations__, name
    assert (ROOT / "python" / "anabranch" / "py.typed").is_file()
    done = subprocess.run([sys.executable, "-m", "mypy"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_a_type_checker_sees_a_wrong_call(tmp_path):
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "import anabranch\n"
        "net = anabranch.Scenario(duration='1 s')\n"
        "net.link('x', 'a', 'b', rate='1 Mbit/s', dealy='1 ms')\n"
        "anabranch.run(net, seeds=1.5)\n"
        "anabranch.run(net).flows.column('name')\n"
        "anabranch.connect().a.send('text')\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file", ROOT / "pyproject.toml", wrong],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    lines = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert [int(line.split(":")[1]) for line in lines] == [3, 4, 6], done.stdout


def test_the_page_about_python_runs(monkeypatch):
    monkeypatch.chdir(ROOT)
    text = (ROOT / "docs" / "how-to" / "python.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 3
    names = {}
    for block in blocks:
        exec(compile(block, "docs/how-to/python.md", "exec"), names)
    assert names["run"].seeds == (1, 2, 3)


def test_the_json_of_a_summary_is_kept(run):
    assert json.loads(json.dumps(run.summaries[0]))["seed"] == 1
