"""Associations on real sockets, from asyncio."""

import asyncio
import contextlib
import socket

import pytest

from anabranch import aio
from anabranch.aio import _association, _socket

HOST = "127.0.0.1"
PORT = 9000


def run(main):
    """Run a coroutine, for two minutes at most: no matter of speed."""

    async def within():
        async with asyncio.timeout(120):
            return await main

    return asyncio.run(within(), debug=True)


async def echo(association):
    async for message in association:
        await association.send(message.data, message.stream, ppid=message.ppid, unordered=message.unordered)


@contextlib.asynccontextmanager
async def serving(handler, **options):
    """A server on the loopback, and how to reach it."""
    async with await aio.serve(handler, PORT, host=HOST, udp_port=0, **options) as server:
        yield server, server.addresses[0][1]


@contextlib.asynccontextmanager
async def pair(handler=echo, **options):
    """A client of a server."""
    async with (
        serving(handler) as (_server, udp_port),
        aio.connect(f"{HOST}:{PORT}", udp_port=udp_port, **options) as association,
    ):
        yield association


def test_a_message_comes_back_as_it_was():
    async def main():
        async with pair() as association:
            assert association.state == "Established"
            assert association.remote[0] == HOST
            await association.send(b"hello", 3, ppid=51)
            assert await association.receive() == aio.Message(b"hello", 3, 51, False)
            await association.send("grüße", unordered=True)
            assert await association.receive() == aio.Message("grüße".encode(), 0, 0, True)
        assert association.state == "Closed"
        assert association.statistics["messages_accepted"] == 2

    run(main())


def test_streams_are_read_apart():
    async def main():
        async with pair() as association:
            for number in range(4):
                await association.send(b"%d" % number, number % 2)
            one = association.stream(1)
            assert [(await one.receive()).data for _ in range(2)] == [b"1", b"3"]
            assert [(await association.receive()).data for _ in range(2)] == [b"0", b"2"]
            await one.send(b"again", ppid=7)
            assert await one.receive() == aio.Message(b"again", 1, 7, False)

    run(main())


def test_send_waits_while_the_buffer_is_full():
    async def main():
        read = asyncio.Event()
        got = []

        async def slow(association):
            await read.wait()
            got.extend([len(message) async for message in association])

        options = {"send_buffer": "100000 B", "max_send_buffer": "0 B"}
        async with pair(slow, options=options) as association:
            sent = 0

            async def fill():
                nonlocal sent
                for _ in range(3000):
                    await association.send(bytes(10_000))
                    sent += 1

            filling = asyncio.create_task(fill())
            # The peer's window and our buffer take so much and no more.
            last = -1
            while sent != last or sent == 0:
                last = sent
                await asyncio.sleep(0.3)
            assert 0 < sent < 3000
            assert not filling.done()
            assert association.buffered() >= 90_000
            read.set()
            await filling
        assert got == [10_000] * 3000

    run(main())


def test_what_is_cancelled_while_it_waits_sends_nothing_and_loses_nothing():
    async def main():
        stop = asyncio.Event()
        heard = []

        async def slow(association):
            await stop.wait()
            heard.extend([message.data async for message in association])

        async def fill(association):
            for number in range(100_000):
                await association.send(number.to_bytes(4, "big") * 10_000)

        options = {"send_buffer": "20000 B", "max_send_buffer": "0 B"}
        async with pair(slow, options=options) as association:
            # More than the peer's window takes while nothing is read.
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(fill(association), 2)
            taken = association.statistics["messages_accepted"]
            stop.set()
            await association.send(b"the end")
        numbers = [int.from_bytes(data[:4], "big") for data in heard[:-1]]
        assert numbers == list(range(taken))
        assert heard[-1] == b"the end"

        async with pair() as association:
            for _ in range(20):
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.001):
                        await association.receive()
            for number in range(50):
                await association.send(b"%d" % number)
            back = []
            while len(back) < 50:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(0.0005):
                        back.append((await association.receive()).data)
            assert back == [b"%d" % number for number in range(50)]

    run(main())


def test_tasks_that_wait_send_in_their_order():
    async def main():
        got = []

        async def read(association):
            await asyncio.sleep(0.2)
            got.extend([message.data[0] async for message in association])

        options = {"send_buffer": "10000 B", "max_send_buffer": "0 B"}
        async with pair(read, options=options) as association:
            await asyncio.gather(*(association.send(bytes([number]) * 8000) for number in range(100)))
        assert got == list(range(100))

    run(main())


def test_an_exception_aborts_and_the_end_of_the_block_does_not():
    async def main():
        ends = []

        async def watch(association):
            ends.append(await association.wait_closed())

        async with serving(watch) as (_server, udp_port):
            with pytest.raises(ZeroDivisionError):
                async with aio.connect(f"{HOST}:{PORT}", udp_port=udp_port):
                    raise ZeroDivisionError
            async with aio.connect(f"{HOST}:{PORT}", udp_port=udp_port):
                pass
            while len(ends) < 2:
                await asyncio.sleep(0.01)
        assert "the peer aborted" in ends[0]
        assert ends[1] == "both sides have shut it down"

    run(main())


def test_the_reason_of_an_abort_is_told():
    async def main():
        async def refuse(association):
            association.abort("not today")

        async with pair(refuse) as association:
            with pytest.raises(aio.ClosedError, match="not today"):
                await association.receive()
            with pytest.raises(aio.ClosedError, match="not today"):
                await association.send(b"hello")
            with pytest.raises(aio.ClosedError, match="not today"):
                await association.shutdown()

    run(main())


@pytest.mark.parametrize(
    ("causes", "said", "told"),
    [
        (None, None, "as the stack says it"),
        ([], None, "nobody listens at that SCTP port"),
        ([4], None, "no room for another association: try again later"),
        ([12], "not you", "the peer refuses: not you; ask who runs it"),
        ([1], None, "as the stack says it"),
    ],
)
def test_each_reason_for_no_association_has_a_sentence(causes, said, told):
    assert told in _association._refusal("as the stack says it", causes, said)


def test_what_is_no_message_and_no_stream_is_refused():
    async def main():
        async with pair(echo) as association:
            with pytest.raises(TypeError, match="a message is bytes, bytearray, memoryview or str, not int"):
                await association.send(5)
            with pytest.raises(ValueError, match="stream 99999: a stream is 0 to 65535"):
                await association.send(b"x", 99_999)

    run(main())


def test_a_handler_that_fails_is_reported_and_its_peer_told():
    async def main():
        reported = []
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: reported.append(context))

        async def fails(association):
            await association.receive()
            raise ValueError("of the handler")

        async with pair(fails) as association:
            await association.send(b"hello")
            with pytest.raises(aio.ClosedError, match="the peer aborted"):
                await association.receive()
        assert [str(context["exception"]) for context in reported] == ["of the handler"]

    run(main())


def test_closing_a_server_waits_for_its_handlers():
    async def main():
        done = []

        async def slow(association):
            await association.receive()
            await asyncio.sleep(0.3)
            await association.send(b"done")
            done.append(True)

        async with serving(slow) as (server, udp_port):
            association = await aio.connect(f"{HOST}:{PORT}", udp_port=udp_port)
            await association.send(b"go")
            while association.buffered():
                await asyncio.sleep(0.01)
            closing = asyncio.create_task(server.close())
            assert (await association.receive()).data == b"done"
            assert await association.receive() is None
            await association.shutdown()
            await closing
            async with association:
                pass
        assert done == [True]

    run(main())


def test_nobody_listens():
    async def main():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
            silent.bind((HOST, 0))
            udp_port = silent.getsockname()[1]
            with pytest.raises(TimeoutError, match=r"no answer within 0\.3 s"):
                await aio.connect(f"{HOST}:{PORT}", udp_port=udp_port, timeout="300 ms")
        if _socket.LINUX:
            with pytest.raises(ConnectionRefusedError, match="no process listens at the UDP port"):
                await aio.connect(f"{HOST}:{PORT}", udp_port=udp_port)
        async with serving(echo) as (_server, udp_port):
            with pytest.raises(
                ConnectionRefusedError, match="nobody listens at that SCTP port: check the port"
            ):
                await aio.connect(f"{HOST}:{PORT + 1}", udp_port=udp_port)

    run(main())


def test_a_silent_address_leaves_time_for_the_next(monkeypatch):
    async def main():
        loop = asyncio.get_running_loop()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
            async with serving(echo) as (_server, udp_port):
                silent.bind(("127.0.0.2", udp_port))

                async def both(_host, port, **_options):
                    kind = (socket.AF_INET, socket.SOCK_DGRAM, 17, "")
                    return [(*kind, ("127.0.0.2", port)), (*kind, (HOST, port))]

                monkeypatch.setattr(loop, "getaddrinfo", both)
                async with aio.connect(
                    f"two.example:{PORT}", udp_port=udp_port, timeout="8 s"
                ) as association:
                    assert association.remote == (HOST, udp_port)

    run(main())


def test_a_connect_that_is_cancelled_leaves_nothing_behind():
    async def main():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
            silent.bind((HOST, 0))
            silent.setblocking(False)
            udp_port = silent.getsockname()[1]
            connecting = asyncio.ensure_future(_await(aio.connect(f"{HOST}:{PORT}", udp_port=udp_port)))
            _init, at = await asyncio.get_running_loop().sock_recvfrom(silent, 2000)
            connecting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await connecting
            # Its port is free again.
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as another:
                another.bind(("0.0.0.0", at[1]))

    async def _await(connecting):
        return await connecting

    run(main())


def test_wrong_words():
    async def main():
        for target in ("localhost", ":9000", "localhost:http", "localhost:0", "localhost:70000"):
            with pytest.raises(ValueError, match="write HOST:PORT"):
                aio.connect(target)
        with pytest.raises(ValueError, match="no profile `nobody`"):
            await aio.connect(f"{HOST}:{PORT}", profile="nobody")
        with pytest.raises(ValueError, match="rto_mun"):
            await aio.serve(echo, PORT, host=HOST, udp_port=0, options={"rto_mun": "1 s"})
        with pytest.raises(ValueError, match="SCTP port is 1 to 65535"):
            await aio.serve(echo, 0)
        async with pair() as association:
            with pytest.raises(ValueError, match="one policy"):
                await association.send(b"x", lifetime="1 s", priority=3)
            with pytest.raises(ValueError, match="at least one byte"):
                await association.send(b"")
            with pytest.raises(ValueError, match="does not exist"):
                await association.send(b"x", 65535)
            with pytest.raises(KeyError):
                association.get("nothing")

    run(main())


def test_without_a_block_what_has_arrived_can_be_read_and_the_port_is_free():
    async def main():
        async def say(association):
            await association.send(b"good bye")

        async with serving(say) as (_server, udp_port):
            association = await aio.connect(f"{HOST}:{PORT}", udp_port=udp_port)
            await association.wait_closed()
            await asyncio.sleep(0)
            assert association._driver.closed
            assert (await association.receive()).data == b"good bye"
            assert await association.receive() is None
            with pytest.raises(aio.ClosedError, match="both sides have shut it down"):
                await association.send(b"x")

    run(main())


def test_events_and_the_fate_of_messages():
    async def main():
        async with pair() as association:
            association.tell_fates()
            events = association.events()
            first = asyncio.ensure_future(anext(events))
            await asyncio.sleep(0)
            number = await association.send(b"hello")
            event = await first
            assert (event.kind, event.values) == ("Delivered", {"message": number})
            await association.wait_delivered()
            assert association.buffered() == 0
            association.set("heartbeat_interval", "5 s")
            assert association.get("heartbeat_interval") == "5000 ms"
        assert [event.kind async for event in events][-1] == "Closed"

    run(main())


def test_streams_begin_anew():
    async def main():
        options = {"reconfiguration": True}
        async with serving(echo, options=options) as (_server, udp_port):
            few = options | {"outbound_streams": 4}
            connecting = aio.connect(f"{HOST}:{PORT}", udp_port=udp_port, options=few)
            async with connecting as association:
                events = association.events()
                told = asyncio.ensure_future(anext(events))
                await asyncio.sleep(0)
                association.reset_streams([2])
                event = await told
                assert (event.kind, event.values["streams"]) == ("StreamsReset", [2])
                association.add_streams(outgoing=4)
                while event.kind != "StreamsAdded":
                    event = await anext(events)
                assert event.values["outbound_streams"] == 8
                await association.send(b"on a new one", 7)
                assert (await association.receive()).stream == 7

    run(main())


def test_a_message_without_end_is_not_kept_for_ever():
    async def main():
        ends = []

        async def read(association):
            try:
                async for _ in association:
                    pass
            except aio.ClosedError as closed:
                ends.append(str(closed))
                raise

        small = {"receive_window": "65536 B", "max_receive_window": "0 B"}
        async with serving(read, options=small, largest=300_000) as (_server, udp_port):
            connecting = aio.connect(f"{HOST}:{PORT}", udp_port=udp_port)
            async with connecting as association:
                await association.send(bytes(200_000))
                await association.wait_delivered()
                await association.send(bytes(2_000_000))
                assert "longer than the limit" in await association.wait_closed()
        assert "longer than the limit of 300000 bytes" in ends[0]

    run(main())


def test_many_at_once():
    async def main():
        async with serving(echo) as (server, udp_port):

            async def client(number):
                # Ports of its own: of 30 that are drawn by chance two are the same now and then.
                ports = {"udp_port": udp_port, "local_port": 20_000 + number}
                async with aio.connect(f"{HOST}:{PORT}", **ports) as association:
                    for turn in range(20):
                        await association.send(f"{number} {turn}")
                        assert (await association.receive()).data.decode() == f"{number} {turn}"

            await asyncio.gather(*(client(number) for number in range(30)))
            while server.associations:
                await asyncio.sleep(0.01)
            # A listener of an ended association is not kept.
            assert not server._driver.listeners
            assert server._driver.core.associations() == 0

    run(main())


def test_over_ipv6():
    async def main():
        try:
            server = await aio.serve(echo, PORT, host="::1", udp_port=0)
        except OSError as error:
            pytest.skip(f"no IPv6 here: {error}")
        async with server:
            udp_port = server.addresses[0][1]
            async with aio.connect(f"[::1]:{PORT}", udp_port=udp_port) as association:
                await association.send(b"six")
                assert (await association.receive()).data == b"six"

    run(main())


@pytest.mark.skipif(not _socket.LINUX, reason="other systems do not show it")
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_code_point_and_addresses_of_packets(host):
    try:
        sockets = [_socket.UdpSocket((host, 0, 0)) for _ in range(2)]
    except OSError as error:
        pytest.skip(f"no such address here: {error}")
    here, there = sockets
    for octet in (46 << 2 | 2, 0):
        assert here.send(b"hello", there.address, here.address, octet, dont_fragment=True)
        (got,) = there.received(10)
        assert (got.data, got.octet) == (b"hello", octet)
        assert got.source == here.address
        assert got.destination == there.address
    there.close()
    here.send(b"hello", there.address, None, 0, dont_fragment=False)
    lost = [each for _ in range(100) for each in here.undeliverable()]
    assert lost == [_socket.Undeliverable("port", 0, there.address, b"hello")]
    here.close()
