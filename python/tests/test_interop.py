"""tools/interop: what it reads from a capture, and how it judges."""

import importlib
import json
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
bench = importlib.import_module("interop.bench")
cases = importlib.import_module("interop.cases")
matrix = importlib.import_module("interop.matrix")
peers = importlib.import_module("interop.peers")
run = importlib.import_module("interop.run")
wire = importlib.import_module("interop.wire")


def report(messages=10, digest="a", graceful=1, **more):
    count = {"messages": messages, "bytes": messages * 100, "digest": digest, "sum": digest}
    base = {"established": 1, "graceful": graceful, "aborted": 0, "lost": 0, "restarts": 0, "deadline": False}
    return {**base, "sent": count, "received": count, "notes": [], **more}


def packet(number, chunks, connecting=True, **more):
    base = {
        "time": 0.0,
        "length": 100,
        "checksum": 1,
        "windows": (),
        "ssns": (),
        "parameters": (),
        "fate": "",
    }
    return wire.Packet(number=number, connecting=connecting, chunks=chunks, **{**base, **more})


def outcome(connecting=None, listening=None, packets=(), relay=None):
    return cases.Outcome(connecting or report(), listening or report(), relay or {}, list(packets), "connect")


def case(name):
    return cases.named([name])[0]


def test_packets_are_read_from_what_tshark_prints():
    lines = [
        "1\t0.0\t10.0.0.1\t60\t1\t0x12345678\t\t\t0x8000,49152\t\n",
        "2\t0.5\t10.0.0.2\t1236\t3,0,0\t0x00000000\t4096\t7,0\t\tdropped\n",
        "3\t0.6\t10.0.0.2\t8\t\t\t\t\t\t\n",
    ]
    first, second = wire.parse(lines)
    assert (first.connecting, first.length, first.chunks) == (True, 52, (wire.INIT,))
    assert first.parameters == (0x8000, 49152)
    assert first.arrived
    assert (second.connecting, second.checksum, second.windows, second.ssns) == (False, 0, (4096,), (7, 0))
    assert not second.arrived
    assert wire.count([first, second], wire.DATA) == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, None),
        ({"listening": report(messages=9)}, "9, 900 B received"),
        ({"listening": report(digest="b")}, "another order"),
        ({"listening": report(graceful=0, lost=1)}, "in place of 1 graceful"),
        ({"connecting": report(deadline=True)}, "the connecting side gave up"),
    ],
)
def test_a_transfer_is_whole_in_order_and_ends_gracefully(change, said):
    problems = case("transfer").check(outcome(**change))
    assert bool(problems) == (said is not None)
    assert said is None or any(said in problem for problem in problems), problems


def test_a_lost_shutdown_complete_excuses_the_side_that_waits_for_it():
    ends = {"connecting": report(), "listening": report(graceful=0, deadline=True)}
    lost = packet(1, (wire.SHUTDOWN_COMPLETE,), fate="dropped")
    assert case("loss").check(outcome(**ends)) != []
    assert case("loss").check(outcome(**ends, packets=[lost])) == []
    neither = {"connecting": report(graceful=0), "listening": report(graceful=0)}
    assert case("loss").check(outcome(**neither, packets=[lost])) == ["neither side ended gracefully"]


def test_what_never_shows_on_the_wire_fails():
    data = [packet(1, (wire.DATA,))]
    assert case("i-data").check(outcome(packets=data)) == [
        "no I-DATA chunk in the capture",
        "a DATA chunk in the capture",
    ]
    assert case("i-data").check(outcome(packets=[packet(1, (wire.I_DATA,))])) == []
    assert case("zero-checksum").check(outcome(packets=data)) != []
    both = [packet(1, (0,), checksum=0), packet(2, (0,), connecting=False, checksum=0)]
    assert case("zero-checksum").check(outcome(packets=both)) == []


def test_a_reset_means_that_numbers_begin_anew_behind_it():
    before, asked = packet(1, (wire.DATA,), ssns=(0,)), packet(2, (wire.RE_CONFIG,))
    assert case("reset").check(outcome(packets=[before, asked, packet(3, (wire.DATA,), ssns=(0,))])) == []
    assert case("reset").check(outcome(packets=[before, asked, packet(3, (wire.DATA,), ssns=(9,))])) != []
    assert case("reset").check(outcome(packets=[before])) != []


def test_given_up_messages_need_a_forward_tsn():
    fewer = {"connecting": report(10), "listening": report(8)}
    assert case("pr-sctp").check(outcome(**fewer)) != []
    assert case("pr-sctp").check(outcome(**fewer, packets=[packet(1, (wire.FORWARD_TSN,))])) == []
    assert case("pr-sctp").check(outcome()) == ["nothing was given up: the case has shown nothing"]


def test_a_case_that_changed_nothing_has_shown_nothing():
    assert case("corruption").check(outcome(relay={"corrupted": 0})) != []
    assert case("corruption").check(outcome(relay={"corrupted": 3})) == []
    assert case("small-path").check(outcome(packets=[packet(1, (0,), length=1472)])) != []
    assert (
        case("small-path").check(outcome(packets=[packet(1, (4, 132), length=1472), packet(2, (0,))])) == []
    )


def test_a_stack_that_never_shuts_down_leaves_it_to_the_other_side():
    connect, listen = run.turned(case("shutdown"))
    assert "shutdown" not in connect
    assert listen[-4:] == ("--expect", "300", "--end", "shutdown")
    assert run.turned(case("abort")) == (case("abort").connect, case("abort").listen)


def test_what_a_driver_cannot_play_is_no_failure():
    cell = run.Cell("abort", "x", "connect", "fail")
    run.judge(cell, case("abort"), {"connect": {"cannot": "no call"}, "listen": None}, None)
    assert (cell.state, cell.why) == ("cannot", ["no call"])
    cell = run.Cell("abort", "x", "connect", "fail")
    run.judge(cell, case("abort"), {"connect": report(), "listen": None}, None)
    assert cell.state == "fail"


def test_the_matrix_shows_every_cell(tmp_path):
    cells = [
        run.Cell("handshake", "pion", "listen", "pass"),
        run.Cell("handshake", "pion", "connect", "cannot", ["<none>"]),
        run.Cell("abort", "pion", "listen", "fail", ["lost"]),
    ]
    chosen = cases.named(["handshake", "abort"])
    text = matrix.as_text(chosen, cells).splitlines()
    assert text[1].split() == ["handshake", "ok/-"]
    assert text[2].split() == ["abort", "FAIL/"]
    assert "| handshake | ok / - |" in matrix.as_markdown(chosen, cells)
    assert "| <none> | pion, handshake (connects) |" in matrix.as_markdown(chosen, cells)
    matrix.save(tmp_path, chosen, cells, {"pion": "Go"}, "now")
    page = (tmp_path / "matrix.html").read_text()
    assert "&lt;none&gt;" in page
    assert page.count('class="fail"') == 1
    assert len(json.loads((tmp_path / "matrix.json").read_text())["cells"]) == 3


def test_a_later_run_replaces_its_own_cells_only(tmp_path):
    first = [run.Cell("handshake", "pion", "listen", "fail"), run.Cell("abort", "pion", "listen", "pass")]
    matrix.save(tmp_path, cases.CASES, first, {}, "first")
    again = matrix.merged(tmp_path, [run.Cell("handshake", "pion", "listen", "pass")])
    assert {(cell.case, cell.state) for cell in again} == {("handshake", "pass"), ("abort", "pass")}


def test_reasons_name_cases_that_exist():
    names = {one.name for one in cases.CASES}
    assert len(names) == len(cases.CASES)
    for peer in peers.ALL:
        assert {*peer.cannot, *peer.cannot_listen, *peer.cannot_connect} <= names, peer.name


def test_every_option_of_the_drivers_is_in_the_readme():
    plan = (ROOT / "benches/peers/common/src/plan.rs").read_text()
    fields = re.findall(r"#\[arg\(.*long.*\)\]\n\s+pub (\w+):", plan)
    readme = (ROOT / "benches/peers/README.md").read_text()
    assert len(fields) > 15
    assert [name for name in fields if f"--{name.replace('_', '-')}" not in readme] == []


def test_the_table_of_the_benchmark_has_a_row_for_each_stack():
    figures = {"ns_per_byte": 2.5, "bits_per_second": 3e9, "rss_mib": 20.0}
    found = {
        "conditions": "a machine",
        "load_at_the_end": 1.5,
        "rounds": 5,
        "transfer": {"pion": {"64/1228": figures}},
        "floor": {"1228/40": 0.5, "1228/1": 4.0},
        "handshakes": {"pion": {"per_second": 1000.0, "cpu_us": 700.0}},
    }
    arguments = bench.argparse.Namespace(size=[64, 1024], packet=[1228])
    text = bench.table(found, arguments)
    assert "| pion | 2.50 (3.00) | none |" in text
    assert "| pion | 1000 | 700 |" in text
