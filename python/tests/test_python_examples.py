"""The programs of examples/python, against themselves, the command line and other stacks."""

import asyncio
import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from anabranch import aio

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "python"
HOST = "127.0.0.1"


def built(*places):
    """A program that was built before, or the test is skipped."""
    for place in places:
        if (ROOT / place).exists():
            return str(ROOT / place)
    pytest.skip(f"{places[0]} is not built")


def free_port():
    """A UDP port that nothing has at the moment."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.bind(("", 0))
        return asking.getsockname()[1]


def start(*command, stdin=None):
    """A program whose output is read."""
    command = [str(each) for each in command]
    return subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, text=True)


def example(name, *arguments, **options):
    return start(sys.executable, EXAMPLES / name, *arguments, **options)


def cli():
    return built("target/debug/anabranch", "target/release/anabranch")


def ended(*programs):
    for program in programs:
        program.kill()
        program.wait()
        for pipe in (program.stdin, program.stdout):
            if pipe is not None:
                pipe.close()


def listening(udp_port):
    """Whether a UDP port of this host is taken."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            asking.bind((HOST, udp_port))
        except OSError:
            return True
        return False


def asks(udp_port):
    """The client of the echo example gets its words back."""
    client = example("echo.py", "--udp-port", udp_port, "ask", f"{HOST}:9000", "hello", "world")
    assert client.communicate(timeout=30)[0] == "hello\nworld\n"
    assert client.returncode == 0


async def until(condition):
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.02)


def test_echo_with_itself():
    port = free_port()
    server = example("echo.py", "--udp-port", port, "serve", 9000)
    try:
        assert server.stdout.readline() == f"SCTP port 9000 in UDP port {port}\n"
        asks(port)
    finally:
        ended(server)


def test_echo_of_the_command_line():
    port = free_port()
    server = start(cli(), "listen", 9000, "--echo", "--udp-port", port, "--bind", HOST)
    try:
        asyncio.run(until(lambda: listening(port)))
        asks(port)
    finally:
        ended(server)


def test_the_command_line_as_client():
    sent = "".join(f"line {number}\n" for number in range(2000))
    port = free_port()

    async def main():
        got = []
        over = asyncio.Event()

        async def read(association):
            got.extend([message.data async for message in association])
            over.set()

        async with await aio.serve(read, 9000, host=HOST, udp_port=port):
            command = [cli(), "connect", f"{HOST}:9000", "--peer-udp-port", str(port)]
            client = await asyncio.create_subprocess_exec(*command, stdin=subprocess.PIPE)
            await asyncio.wait_for(client.communicate(sent.encode()), 30)
            await asyncio.wait_for(over.wait(), 30)
            assert client.returncode == 0
        return b"".join(got).decode()

    assert asyncio.run(main()) == sent


def test_chat():
    port = free_port()
    server = example("chat.py", "--udp-port", port, "serve", 9001)
    people = []
    try:
        assert server.stdout.readline() == f"SCTP port 9001 in UDP port {port}\n"
        for name in ("ada", "bob"):
            one = example("chat.py", "--udp-port", port, "join", f"{HOST}:9001", name, stdin=subprocess.PIPE)
            people.append(one)
            assert one.stdout.readline() == f"{name} is here\n"
        ada, bob = people
        ada.stdin.write("2 hello\n")
        ada.stdin.flush()
        assert bob.stdout.readline() == "[2] ada: hello\n"
        bob.stdin.write("good morning\n")
        bob.stdin.flush()
        assert ada.stdout.readline() == "[0] bob: good morning\n"
        for one in people:
            one.stdin.close()
            assert one.wait(timeout=30) == 0
    finally:
        ended(server, *people)


PEERS = {
    "pion": "target/peers/go/peer-pion",
    "usrsctp": "target/peers/c/peer-usrsctp",
    "dcsctp": "target/peers/interop/peer-dcsctp",
}
"""Drivers of other stacks, as tools/interop builds them (`make interop-quick`): each sends ten messages, and gets as many."""


@pytest.mark.parametrize("name", PEERS)
def test_another_stack(name):
    program = built(PEERS[name])
    here, there = free_port(), free_port()

    def payload(number):
        body = bytearray((31 * at + 7) % 256 for at in range(1000))
        body[:8] = number.to_bytes(8, "little")
        return bytes(body)

    async def main():
        common = [
            "--local",
            f"{HOST}:{there}",
            "--remote",
            f"{HOST}:{here}",
            "--send",
            "10",
            "--size",
            "1000",
        ]
        peer = start(program, "listen", *common, "--expect", "10")
        try:
            assert json.loads(peer.stdout.readline()) == {"ready": True}
            connecting = aio.connect(
                f"{HOST}:5000",
                udp_port=there,
                local=HOST,
                local_udp_port=here,
                local_port=5000,
                timeout="20 s",
            )
            async with connecting as association:
                for number in range(10):
                    await association.send(payload(number))
                got = [(await association.receive()).data for _ in range(10)]
            assert got == [payload(number) for number in range(10)]
            report = json.loads((await asyncio.to_thread(peer.communicate))[0].splitlines()[-1])
            assert (report["received"]["messages"], report["graceful"]) == (10, 1)
        finally:
            ended(peer)

    asyncio.run(main())
