"""tools/interop: the packets that it reads from a capture, and how it judges."""

import importlib
import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
bench = importlib.import_module("interop.bench")
cases = importlib.import_module("interop.cases")
excuses = importlib.import_module("interop.excuses")
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


def outcome(connecting=None, listening=None, packets=(), relay=None, ours="connect"):
    seen = {"dropped": 1, "corrupted": 1, "held_back": 1} if relay is None else relay
    return cases.Outcome(connecting or report(), listening or report(), seen, list(packets), ours)


def numbered(packets):
    """Packets with numbers and times in their order."""
    return [replace(p, number=at, time=p.time or at / 10) for at, p in enumerate(packets, 1)]


def data(*tsns, **more):
    """A packet with DATA chunks, each a message of its own."""
    ones = (1,) * len(tsns)
    base = {
        "tsns": tsns,
        "begins": ones,
        "ends": ones,
        "unordered": (0,) * len(tsns),
        "ssns": (9,) * len(tsns),
    }
    return packet(0, (wire.DATA,) * len(tsns), **{**base, **more})


def sack(tsn, connecting=False, **more):
    return packet(0, (wire.SACK,), connecting, acks=(tsn,), **more)


def case(name):
    return cases.named([name])[0]


def test_packets_are_read_from_what_tshark_prints():
    lines = [
        "1\t0.0\t10.0.0.1\t60\t1\t0x12345678\t\t\t0x8000,49152\t\t\t\t\t\t\t\t\t\t0x40,130\t\n",
        "2\t0.5\t10.0.0.2\t1236\t3,0,0\t0x00000000\t4096\t7,0\t\t8,9\t1,True\t0,1\tFalse,0\t3\t5\t6\t7\t\t\tdropped\n",
        "3\t0.6\t10.0.0.2\t8\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\n",
        "4\t0.7\t10.0.0.2\t24\t14\t0x1\t\t\t\t\t\t\t\t\t\t\t\tTrue\t\t\n",
    ]
    first, second, last = wire.parse(lines)
    assert (first.connecting, first.length, first.chunks) == (True, 52, (wire.INIT,))
    assert first.parameters == (0x8000, 49152)
    assert first.arrived
    assert (second.connecting, second.checksum, second.windows, second.ssns) == (False, 0, (4096,), (7, 0))
    assert not second.arrived
    assert first.supported == (wire.I_DATA, wire.RE_CONFIG)
    assert (second.tsns, second.begins, second.ends, second.unordered) == ((8, 9), (1, 1), (0, 1), (0, 0))
    assert (second.acks, second.skips) == ((5, 7), (6,))
    assert last.tagless
    assert not second.tagless
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
    # Not the other side, not both, and not where a later one came; a stack may fail to know the T bit, ours may not.
    back = packet(1, (wire.SHUTDOWN_COMPLETE,), connecting=False, fate="dropped")
    assert case("loss").check(outcome(**ends, packets=[back])) != []
    neither = {"connecting": report(graceful=0), "listening": report(graceful=0)}
    assert case("loss").check(outcome(**neither, packets=[lost])) != []
    came = packet(2, (wire.SHUTDOWN_COMPLETE,))
    assert case("loss").check(outcome(**ends, packets=[lost, came])) != []
    assert case("loss").check(outcome(**ends, packets=[lost, replace(came, tagless=True)])) == []
    assert (
        case("loss").check(outcome(**ends, packets=[lost, replace(came, tagless=True)], ours="listen")) != []
    )


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
    before, asked = data(1, ssns=(0,)), packet(2, (wire.RE_CONFIG,))
    assert case("reset").check(outcome(packets=numbered([before, asked, data(2, ssns=(0,))]))) == []
    assert case("reset").check(outcome(packets=numbered([before, asked, data(2, ssns=(9,))]))) != []
    assert case("reset").check(outcome(packets=numbered([before, asked, before]))) != [], "sent again"
    assert case("reset").check(outcome(packets=[before])) != []


def test_given_up_messages_need_a_forward_tsn():
    fewer = {"connecting": report(10), "listening": report(8)}
    assert case("pr-sctp").check(outcome(**fewer)) != []
    assert case("pr-sctp").check(outcome(**fewer, packets=[packet(1, (wire.FORWARD_TSN,))])) == []
    back = packet(1, (wire.FORWARD_TSN,), connecting=False)
    assert case("pr-sctp").check(outcome(**fewer, packets=[back])) != [], "of the other side"
    assert case("pr-sctp").check(outcome()) == ["nothing was given up: the case has shown nothing"]


@pytest.mark.parametrize("name", ["loss", "unordered", "corruption", "reordering", "blackhole"])
def test_a_relay_that_did_nothing_has_shown_nothing(name):
    packets = numbered([data(1, unordered=(1,))])
    assert case(name).check(outcome(packets=packets)) == []
    assert "the case has shown nothing" in case(name).check(outcome(packets=packets, relay={}))[0]


def test_every_case_about_the_wire_looks_at_the_capture():
    """An outcome whose drivers are content, without a packet, must not pass."""
    about_the_wire = {one.name for one in cases.CASES if one.wire} - {"loss", "corruption", "blackhole"}
    expected = {
        "unordered", "fragments", "shutdown", "abort", "closed-window", "i-data", "reset", "pr-sctp", "long-path",
        "restart", "udp-port", "small-path", "path-cut", "path-cut-old", "zero-checksum", "subflows",
    }  # fmt: skip
    assert about_the_wire == expected
    for name in sorted(expected):
        content = outcome(connecting=report(), listening=report(aborted=1))
        assert case(name).check(content) != [], name


@pytest.mark.parametrize("case", cases.CASES, ids=lambda case: case.name)
def test_who_begins_the_end_has_everything_by_then(case):
    """Some stacks lose queued data when the other side shuts down: on a slow machine that fails any such case."""

    def told(options, word):
        return options[options.index(word) + 1] if word in options else "0"

    if "--end" in case.connect:
        assert told(case.connect, "--expect") == told(case.listen, "--send")


def test_unordered_fragmented_and_queued_are_seen():
    both = [data(1, unordered=(1,)), data(2)]
    assert case("unordered").check(outcome(packets=both)) == ["1 of 2 DATA chunks are ordered"]
    parts = [(1, 0), (0, 0), (0, 1)]
    one = [data(n, begins=(b,), ends=(e,)) for n, (b, e) in enumerate(parts)]
    other = [replace(p, connecting=False) for p in one]
    assert case("fragments").check(outcome(packets=one + other)) == []
    assert case("fragments").check(outcome(packets=one + other[:1])) == [
        "the listening side sent no fragments"
    ]
    shutdown = packet(0, (wire.SHUTDOWN,))
    assert case("shutdown").check(outcome(packets=numbered([data(1), data(2), shutdown, data(2)]))) == []
    late = numbered([data(1), data(2), shutdown, data(3)])
    assert case("shutdown").check(outcome(packets=late)) == ["new DATA behind SHUTDOWN"]
    assert case("shutdown").check(outcome(packets=numbered([data(1), shutdown]))) != []


def test_a_restart_is_an_init_into_an_association():
    init, up = packet(0, (wire.INIT,)), packet(0, (wire.COOKIE_ACK,), connecting=False)
    assert case("restart").check(outcome(packets=numbered([init, up, init, up]))) == []
    assert case("restart").check(outcome(packets=numbered([init, up]))) != []
    assert case("restart").check(outcome(packets=numbered([init, up, init]))) != []


def test_who_listens_follows_to_the_new_port():
    sent = numbered([data(1), sack(1), data(2), sack(2)])
    assert case("udp-port").check(outcome(packets=sent, relay={"rebound": 3})) == []
    assert case("udp-port").check(outcome(packets=sent[:3], relay={"rebound": 3})) != []
    assert case("udp-port").check(outcome(packets=sent, relay={"rebound": 0})) != []
    silent = numbered([data(1), sack(1), data(2), data(2), data(2)])
    assert excuses.FIXED_PORT.shows(outcome(packets=silent, relay={"rebound": 2}))
    assert not excuses.FIXED_PORT.shows(outcome(packets=sent, relay={"rebound": 3}))


def test_a_closed_window_holds_data_up():
    shut = sack(1, windows=(0,))
    check = case("closed-window").check
    late = replace(data(2), time=9.0)
    assert check(outcome(packets=[data(1, time=0.1), shut, late])) == []
    assert check(outcome(packets=[data(1, time=0.1), replace(shut, windows=(9000,)), late])) != []
    assert check(outcome(packets=[data(1, time=0.1), shut, replace(late, tsns=(1,))])) != []


def test_a_long_path_is_long():
    init, echo = packet(1, (wire.INIT,)), packet(2, (wire.COOKIE_ECHO,))
    assert case("long-path").check(outcome(packets=[init, replace(echo, time=0.8)])) == []
    assert case("long-path").check(outcome(packets=[init, replace(echo, time=0.4)])) != []


def test_a_narrow_path_is_found_and_used():
    check = case("small-path").check
    probe, answer = packet(0, (4, 132), length=1472), packet(0, (wire.HEARTBEAT_ACK,), connecting=False)
    lost = replace(probe, fate="dropped: too long")
    assert check(outcome(packets=numbered([lost, data(1, length=1100)]))) == []
    assert check(outcome(packets=numbered([lost, data(1, length=1472)]))) != []
    assert check(outcome(packets=[data(1)])) == ["nothing was probed: the case has shown nothing"]
    assert check(outcome(packets=numbered([probe, answer, data(1, length=1100)]))) != []
    assert check(outcome(packets=numbered([probe, answer, data(1, length=1240)]))) == []


def test_a_path_that_shrinks_is_found():
    check = case("path-cut").check
    lost, fits = data(1, length=1472, fate="dropped: too long"), data(1, length=1200)
    assert check(outcome(packets=numbered([lost, fits]))) == []
    assert check(outcome(packets=numbered([fits]))) != []
    assert check(outcome(packets=numbered([lost, replace(lost, time=30.0), replace(fits, time=31.0)]))) != []
    assert check(outcome(packets=numbered([fits]), ours="listen")) != []
    old = case("path-cut-old").check
    again = replace(lost, fate="fragmented")
    assert old(outcome(packets=numbered([lost, again, fits]))) == []
    assert old(outcome(packets=numbered([lost, fits]))) == [
        "nothing was fragmented: the case has shown nothing"
    ]
    assert len(old(outcome(packets=numbered([lost, again, replace(again, tsns=(7,)), fits])))) == 1


def test_subflows_are_offered_and_refused():
    init = packet(0, (wire.INIT,), parameters=(wire.SUBFLOWS,))
    answer = packet(0, (wire.INIT_ACK,), connecting=False)
    check = case("subflows").check
    assert check(outcome(packets=[init, answer, data(1)])) == []
    assert check(outcome(packets=[packet(0, (wire.INIT,)), answer])) != []
    assert check(outcome(packets=[init, replace(answer, parameters=(wire.SUBFLOWS,))])) != []
    assert check(outcome(packets=[init, answer, packet(0, (0x5F,))])) != []


def test_an_excuse_counts_only_when_the_capture_shows_it(monkeypatch, tmp_path):
    shutdown = packet(0, (wire.SHUTDOWN,), connecting=False)
    sent = {"sent": {"messages": 3, "bytes": 3, "digest": "x", "sum": "x"}}
    got = {"received": {"messages": 2, "bytes": 2, "digest": "y", "sum": "y"}}
    reports = {"connect": {**report(), **sent}, "listen": {**report(), **got}, "relay": {}}
    theirs = [replace(p, connecting=True) for p in (data(1), data(2), shutdown)]

    def judged(packets):
        monkeypatch.setattr(wire, "read", lambda _: numbered(packets))
        cell = run.Cell("shutdown", "x", "connect", "fail")
        run.judge(cell, case("shutdown"), reports, tmp_path / "x", excuses.QUEUE_LOST)
        return cell

    assert (judged(theirs).state, judged(theirs).why) == ("cannot", [excuses.QUEUE_LOST.reason])
    whole = judged([*theirs[:2], replace(theirs[1], tsns=(3,)), theirs[2]])
    assert whole.state == "fail"
    assert "does not show" in whole.why[-1]
    assert judged([*theirs, packet(0, (wire.ABORT,), connecting=False)]).state == "fail", "ours has aborted"


def test_what_each_excuse_asks_of_a_capture():
    def shows(excuse, packets, ours="connect", **more):
        return excuse.shows(outcome(packets=numbered(packets), ours=ours, **more))

    theirs = {"connecting": False}
    shut = packet(0, (wire.SHUTDOWN,), acks=(5,))
    again = [data(5, time=t, **theirs) for t in (2.0, 3.0)]
    assert shows(excuses.DEAF_TO_SHUTDOWN, [data(5, **theirs), shut, *again])
    assert not shows(excuses.DEAF_TO_SHUTDOWN, [data(5, **theirs), shut, again[0]])
    assert not shows(excuses.DEAF_TO_SHUTDOWN, [data(5, **theirs), replace(shut, fate="dropped"), *again])
    skip = packet(0, (wire.FORWARD_TSN,), skips=(7,))
    assert shows(excuses.DEAF_TO_FORWARD_TSN, [sack(5), skip, skip, skip, sack(5)])
    assert not shows(excuses.DEAF_TO_FORWARD_TSN, [sack(5), skip, skip, skip, sack(7)])
    few = {"listening": report(messages=3)}
    reset = packet(0, (wire.RE_CONFIG,), connecting=False)
    assert shows(excuses.UNREAD_LOST, [data(1), data(2), sack(2), reset], **few)
    assert not shows(excuses.UNREAD_LOST, [data(1), data(2), sack(1), reset], **few)
    gave_up = [data(1), data(3), packet(0, (wire.FORWARD_TSN,), skips=(3,)), sack(3)]
    init = packet(0, (wire.INIT_ACK,), connecting=False, supported=(wire.RE_CONFIG,))
    begun, up = packet(0, (wire.INIT,)), packet(0, (wire.COOKIE_ACK,), connecting=False)
    assert shows(excuses.NO_RESTART, [begun, up, begun, begun, begun])
    assert not shows(excuses.NO_RESTART, [begun, up, begun, begun])
    assert not shows(excuses.NO_RESTART, [begun, up, begun, begun, init, begun])
    error = packet(0, (wire.ERROR,), connecting=False)
    assert shows(excuses.NO_STALE_COOKIE, [begun, error], ours="listen")
    assert not shows(excuses.NO_STALE_COOKIE, [begun, error, begun], ours="listen")
    assert not shows(excuses.NO_STALE_COOKIE, [begun, replace(error, fate="dropped")], ours="listen")
    low = packet(0, (wire.I_DATA,), parts=(0, 1))
    assert shows(excuses.FSN_SENT, [low], ours="listen")
    assert not shows(excuses.FSN_SENT, [replace(low, parts=(1, 2))], ours="listen")
    cut = [replace(p, chunks=(wire.I_DATA,)) for p in (data(1, ends=(0,)), data(2, begins=(0,)))]
    assert shows(excuses.FSN_WANTED, [*cut, sack(2)], listening=report(messages=0))
    assert not shows(excuses.FSN_WANTED, [*cut, sack(1)], listening=report(messages=0))
    assert not shows(excuses.FSN_WANTED, [*cut, sack(2)], listening=report(messages=1))
    assert shows(excuses.NO_END, gave_up, ours="listen")
    assert not shows(excuses.NO_END, [*gave_up, packet(0, (wire.SHUTDOWN,))], ours="listen")
    assert not shows(excuses.NO_END, gave_up[:3], ours="listen")
    long = data(1, length=1472, fate="dropped: too long")
    assert shows(excuses.NO_PMTUD, [long] * 3, ours="listen")
    assert not shows(excuses.NO_PMTUD, [long] * 2, ours="listen")
    assert not shows(excuses.NO_PMTUD, [long, long, long, data(1)], ours="listen")
    assert shows(excuses.NO_BUNDLES, [data(1), data(2)], ours="listen")
    assert not shows(excuses.NO_BUNDLES, [data(1), data(2, 3)], ours="listen")
    assert not shows(excuses.NO_BUNDLES, [], ours="listen")
    probe, answer = packet(0, (4, 132)), packet(0, (wire.HEARTBEAT_ACK,), connecting=False)
    assert shows(excuses.NO_PAD, [probe, data(1)])
    assert not shows(excuses.NO_PAD, [probe, answer, data(1)])
    assert not shows(excuses.NO_PAD, [replace(probe, fate="dropped: too long"), data(1)])
    assert shows(excuses.NO_IDATA, [init, data(1, **theirs)])
    assert not shows(excuses.NO_IDATA, [replace(init, supported=(wire.I_DATA,)), data(1, **theirs)])
    assert shows(excuses.NO_ZERO, [init])
    assert not shows(excuses.NO_ZERO, [replace(init, parameters=(wire.ZERO_CHECKSUM,))])
    assert not shows(excuses.NO_ZERO, [])


def test_goodput_is_compared_with_that_of_two_of_a_kind(monkeypatch, tmp_path):
    rates = {"-alike": 900.0, "": 400.0}

    def play(one, peer, role, commands, out, seed=1, mark="", other="anabranch"):
        cell = run.Cell(one.name, peer.name, role, "pass", mbits=rates[mark])
        cell.reports = {"listen": report()}
        return cell

    monkeypatch.setattr(run, "play", play)
    pion, alike = peers.named(["pion"])[0], {}
    commands = {"anabranch": [], "pion": []}
    cell = run.measure(case("goodput"), pion, "listen", commands, tmp_path, 1, alike)
    assert (cell.state, cell.mbits, cell.alike) == ("pass", 400.0, {"anabranch": 900.0, "pion": 900.0})
    rates[""] = 200.0
    slow = run.measure(case("goodput"), pion, "listen", commands, tmp_path, 1, alike)
    assert slow.state == "fail"
    alike["pion"] = 500.0
    assert run.measure(case("goodput"), pion, "listen", commands, tmp_path, 1, alike).state == "pass"
    linux = peers.named(["linux"])[0]
    assert run.measure(case("goodput"), linux, "listen", commands, tmp_path, 1, alike).state == "pass", (
        "no yardstick"
    )
    commands["usrsctp"] = []
    slow = run.measure(case("goodput"), linux, "listen", commands, tmp_path, 1, alike)
    assert (slow.state, list(slow.alike)) == ("fail", ["anabranch", "linux, which listens, with usrsctp"])
    assert cases.rate(outcome(listening={**report(), "elapsed_ns": 8000})) == 1000.0
    assert "| goodput | ok 400 /  |" in matrix.as_markdown(cases.named(["goodput"]), [cell])
    assert "ok 400/" in matrix.as_text(cases.named(["goodput"]), [cell])
    assert "two of a kind: anabranch 900, pion 900" in matrix.as_html(
        cases.named(["goodput"]), [cell], {}, ""
    )


def test_a_stack_that_never_shuts_down_leaves_it_to_the_other_side():
    connect, listen = run.turned(case("shutdown"))
    assert "shutdown" not in connect
    assert listen[-4:] == ("--expect", "300", "--end", "shutdown")
    assert run.turned(case("abort")) == (case("abort").connect, case("abort").listen)
    assert run.aborted(case("goodput"))[1] == ("--expect", "5000", "--end", "abort")


def test_what_a_driver_cannot_play_is_no_failure():
    cell = run.Cell("abort", "x", "connect", "fail")
    run.judge(cell, case("abort"), {"connect": {"cannot": "no call"}, "listen": None}, None)
    assert (cell.state, cell.why) == ("cannot", ["no call"])
    cell = run.Cell("abort", "x", "connect", "fail")
    run.judge(cell, case("abort"), {"connect": report(), "listen": None}, None)
    assert cell.state == "fail"
    cell = run.Cell("path-cut-old", "x", "connect", "fail")
    reports = {"connect": report(), "listen": report(), "relay": {"cannot": "needs root"}}
    run.judge(cell, case("path-cut-old"), reports, None)
    assert cell.why == ["needs root"]


def test_one_failure_of_many_counts_more_than_what_a_peer_cannot_do():
    def worst(*states):
        return run._worst(
            case("lossy-handshake"), [run.Cell("x", "x", "listen", state, ["w"]) for state in states]
        )

    assert worst("pass", "pass").state == "pass"
    assert worst("pass", "cannot", "pass").state == "cannot"
    failed = worst("pass", "cannot", "fail", "pass")
    assert (failed.state, len(failed.why)) == ("fail", 2)
    assert failed.why[0].startswith("49 of 50")


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


@pytest.mark.parametrize(
    ("said", "tries"), [("Error: AddrInUse, Address already in use", 5), ("Error: no such option", 1)]
)
def test_a_case_whose_port_a_stranger_took_is_played_again_with_other_ports(tmp_path, said, tries):
    seen = tmp_path / "seen"
    program = (
        f"import sys\nwith open({str(seen)!r}, 'a') as to: print(*sys.argv, file=to)\nsys.exit({said!r})"
    )
    commands = {"relay": [sys.executable, "-c", program]}
    case, peer = cases.CASES[0], replace(peers.ALL[0], name="stranger")
    cell = run.play(case, peer, "listen", commands, tmp_path)
    assert cell.state == "fail"
    assert said in cell.why[0]
    lines = seen.read_text().splitlines()
    assert len(lines) == tries == len(set(lines))
