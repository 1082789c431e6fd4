"""asyncio against the drivers of other stacks (`make interop-quick` builds those that are crates): those that are there.

With ANABRANCH_PEERS=required, as in CI, all of those that are crates have to be there.
"""

import asyncio
import contextlib
import importlib
import json
import os
import sys
from pathlib import Path

import pytest

from anabranch import aio

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
peers = importlib.import_module("interop.peers")
run = importlib.import_module("interop.run")

HOST = "127.0.0.1"
PORT = 5000
"""SCTP port of all drivers."""
COUNT, SIZE, STREAMS = 60, 3000, 3
DRIVERS = {
    **{
        peer.name: peers.BUILT / peers.PROFILE / f"peer-{peer.name}"
        for peer in peers.ALL
        if peer.crates_only and not peer.by_name
    },
    "pion": peers.BUILT / "go" / "peer-pion",
    "usrsctp": peers.BUILT / "c" / "peer-usrsctp",
}


@pytest.fixture(params=DRIVERS)
def driver(request):
    """The program of each stack."""
    path = DRIVERS[request.param]
    if not path.exists():
        is_crate = request.param not in ("pion", "usrsctp")
        required = os.environ.get("ANABRANCH_PEERS") == "required" and is_crate
        assert not required, f"{path} is not built, and ANABRANCH_PEERS=required"
        command = "make interop-quick" if is_crate else f"make interop FLAGS='--peer {request.param}'"
        pytest.skip(f"the driver of {request.param} is not built: {command}")
    return path


@contextlib.asynccontextmanager
async def playing(driver, role, local, remote, *more):
    """A driver that plays one end, and sends and expects COUNT messages."""
    sizes = ["--send", COUNT, "--size", SIZE, "--streams", STREAMS, "--expect", COUNT, "--deadline", 60]
    addresses = ["--local", f"{HOST}:{local}", "--remote", f"{HOST}:{remote}"]
    words = [str(word) for word in (role, *addresses, *sizes, *more)]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(driver, *words, stdin=pipe, stdout=pipe)
    try:
        assert json.loads(await process.stdout.readline()) == {"ready": True}
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.communicate()


async def report(process):
    """The last report of a driver."""
    return json.loads(await process.stdout.readline())


def message(number):
    """A message as drivers write it (benches/peers/README.md)."""
    return (number.to_bytes(8, "little") + bytes((31 * at + 7) % 256 for at in range(8, SIZE)))[:SIZE]


def judge(told):
    """Fails unless a driver had one association that ended in order, and all messages each way."""
    assert (told["established"], told["graceful"], told["aborted"], told["lost"]) == (1, 1, 0, 0), told
    for way in ("sent", "received"):
        assert (told[way]["messages"], told[way]["bytes"]) == (COUNT, COUNT * SIZE), told
    assert told["sent"]["digest"] == told["received"]["digest"], told


def within_two_minutes(main):
    """Runs a coroutine: nothing is measured, and a busy machine is slow."""

    async def limited():
        async with asyncio.timeout(120):
            await main

    asyncio.run(limited())


def test_an_echo_server_for_another_stack(driver):
    async def main():
        async def echo(association):
            async for each in association:
                await association.send(each.data, each.stream, ppid=each.ppid)

        async with await aio.serve(echo, PORT, host=HOST, udp_port=0) as server:
            (local,) = run.free_ports(1)
            remote = server.addresses[0][1]
            async with playing(driver, "connect", local, remote, "--end", "shutdown") as process:
                judge(await report(process))

    within_two_minutes(main())


def test_a_client_of_another_stack(driver):
    async def main():
        local, remote = run.free_ports(2)
        async with playing(driver, "listen", remote, local, "--end", "wait") as process:
            connecting = aio.connect(
                f"{HOST}:{PORT}", udp_port=remote, local_udp_port=local, local_port=PORT, timeout="60 s"
            )
            async with connecting as association:
                for number in range(COUNT):
                    await association.send(message(number), number % STREAMS, ppid=53)
                came = [await association.receive() for _ in range(COUNT)]
            judge(await report(process))
        of_streams = [[each.data for each in came if each.stream == stream] for stream in range(STREAMS)]
        assert of_streams == [
            [message(number) for number in range(stream, COUNT, STREAMS)] for stream in range(STREAMS)
        ]

    within_two_minutes(main())
