"""Two endpoints, packet by packet."""

import pytest

import anabranch


def test_an_address_is_no_profile():
    with pytest.raises(ValueError, match=r"anabranch\.aio\.connect begins associations on sockets"):
        anabranch.connect("127.0.0.1:9000")


def test_the_handshake_is_four_packets():
    net = anabranch.connect(wait="100 ms")
    assert [packet.kinds for packet in net.packets] == [
        ["INIT"],
        ["INIT ACK"],
        ["COOKIE ECHO"],
        ["COOKIE ACK"],
    ]
    assert [packet.source for packet in net.packets] == ["a", "b", "a", "b"]
    assert [packet.time for packet in net.packets] == pytest.approx([0, 0.01, 0.02, 0.03])
    assert (net.a.state, net.b.state) == ("Established", "Established")
    assert "Established" in net.a.events[0].text


def test_nothing_has_happened_yet():
    net = anabranch.connect(wait=0)
    assert [packet.kinds for packet in net.packets] == [["INIT"]]
    assert net.a.state == "CookieWait"
    assert net.b.state is None
    with pytest.raises(RuntimeError, match="let time pass"):
        net.b.send(b"x")


def test_messages_arrive_by_stream_and_in_order():
    net = anabranch.connect()
    for number in range(3):
        net.a.send(b"%d" % number, stream=number % 2, ppid=46)
    net.b.send(b"x" * 5000, unordered=True)
    net.run("1 s")
    assert [(m.data, m.stream, m.ppid) for m in net.b.received()] == [
        (b"0", 0, 46),
        (b"1", 1, 46),
        (b"2", 0, 46),
    ]
    (large,) = net.a.received()
    assert (len(large), large.unordered) == (5000, True)
    assert net.a.receive() is None


def test_a_lost_packet_is_sent_again():
    net = anabranch.connect()
    net.lose = lambda packet: packet.kinds == ["DATA"] and packet.time < 1.5
    net.a.send(b"hello")
    net.run("100 ms")
    assert net.b.receive() is None
    assert net.a.flight == 24  # 16 of header and 5 of text, padded to four (RFC 9260, 7.2)
    net.run("5 s")
    assert net.b.receive().data == b"hello"
    data = [packet for packet in net.packets if "DATA" in packet.kinds]
    assert [packet.lost for packet in data] == [True, False]
    # RFC 9260, 6.3.1 and 15: the RTO is at least a second.
    assert data[1].time - data[0].time >= 1
    assert "(lost)" in net.log()
    assert net.a.statistics["timeouts"] == 1


def test_partial_reliability():
    net = anabranch.connect({"partial_reliability": True})
    net.lose = lambda packet: "DATA" in packet.kinds
    net.a.send(b"old news", lifetime="500 ms")
    net.run("3 s")
    net.lose = None
    net.a.send(b"news")
    net.run("1 s")
    assert [message.data for message in net.b.received()] == [b"news"]
    with pytest.raises(ValueError, match="one policy"):
        net.a.send(b"x", lifetime=1, retransmissions=2)


def test_options_of_each_side():
    net = anabranch.connect({"profile": "rfc9260", "mtu": 1280}, {"profile": "linux-6.1"})
    net.a.send(b"x" * 3000)
    net.run("1 s")
    assert max(packet.size for packet in net.packets) <= 1280
    assert net.b.get("ssthresh_floor") == "4"
    net.a.set("heartbeat_interval", "5 s")
    assert net.a.get("heartbeat_interval") == "5000 ms"
    with pytest.raises(KeyError):
        net.a.get("no_such_option")


def test_rto_max_is_lowered_while_a_timer_runs():
    """The watch of the formal properties asks for timers within RTO.Max: those that were set before are no alarm."""
    silent = False
    net = anabranch.connect({"association_max_retrans": 100}, lose=lambda packet: silent)
    silent = True
    net.a.send(b"late")
    net.run("40 s")
    net.a.set("rto_max", "1 s")
    net.a.send(b"later")
    net.run("1 ms")
    silent = False
    net.run("60 s")
    assert [message.data for message in net.b.received()] == [b"late", b"later"]


def test_the_same_seed_gives_the_same_packets():
    def life(seed):
        net = anabranch.connect(seed=seed, delay=0.02)
        net.a.send(b"x" * 20_000)
        return net.run(2).log()

    assert life(1) == life(1)
    assert life(1) != life(2)


def test_the_end():
    net = anabranch.connect()
    net.a.shutdown()
    net.run("1 s")
    assert [kind for packet in net.packets[4:] for kind in packet.kinds] == [
        "SHUTDOWN",
        "SHUTDOWN ACK",
        "SHUTDOWN COMPLETE",
    ]
    assert "Closed" in net.b.events[-1].text
    other = anabranch.connect()
    other.b.abort(b"enough")
    other.run("1 s")
    assert other.packets[-1].kinds == ["ABORT"]
    told = other.a.events[-1].text
    assert told == 'Closed: the peer aborted the association (error cause 12, User-Initiated Abort): "enough"'


def test_nobody_answers_is_told_in_words():
    net = anabranch.connect({"profile": "rfc9260", "max_init_retransmits": 1}, lose=lambda _: True)
    net.run("60 s")
    assert net.a.events[-1].text == "Closed: the peer did not answer: Max.Init.Retransmits exceeded"
    assert "[" not in str(net.a.events[0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"a": "rfc9999"}, "no profile `rfc9999`; there are"),
        ({"a": {"mtu": "large"}}, "mtu"),
        ({"delay": "10"}, "`10` is not a time"),
        ({"delay": -1}, "a time of 0 s"),
    ],
)
def test_what_is_wrong(arguments, message):
    with pytest.raises(ValueError, match=message):
        anabranch.connect(**arguments)


def test_an_error_in_the_network_is_the_callers():
    def lose(packet):
        raise LookupError(packet.number)

    with pytest.raises(LookupError, match="0"):
        anabranch.connect(lose=lose)
