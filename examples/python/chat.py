"""A chat: everybody hears what anybody says. Each room is a stream, so a long message in one room holds up no other.

    python examples/python/chat.py serve 9001
    python examples/python/chat.py join localhost:9001 ada

A line `2 hello` is said in room 2; a line without a number in room 0. The end of the input leaves the chat.
"""

import asyncio
import sys
from contextlib import suppress

from anabranch import aio

ROOMS = 16


class Chat:
    """Who is here."""

    def __init__(self) -> None:
        self.here: set[aio.Association] = set()

    async def member(self, association: aio.Association) -> None:
        """Hands what one says to all others, until it leaves."""
        self.here.add(association)
        try:
            async for message in association:
                others = [each.send(message.data, message.stream) for each in self.here - {association}]
                # Who has just left does not hear it.
                await asyncio.gather(*others, return_exceptions=True)
        finally:
            self.here.discard(association)


async def serve(port: int, udp_port: int) -> None:
    """Serves until it is interrupted."""
    async with await aio.serve(Chat().member, port, udp_port=udp_port, streams=ROOMS) as server:
        print(f"SCTP port {server.port} in UDP port {server.addresses[0][1]}", flush=True)
        await server.serve_forever()


async def join(target: str, udp_port: int, name: str) -> None:
    """Says what is typed, and prints what others say."""
    async with aio.connect(target, udp_port=udp_port, streams=ROOMS) as association:
        print(f"{name} is here", flush=True)
        hearing = asyncio.create_task(hear(association))
        while line := await asyncio.to_thread(sys.stdin.readline):
            room, _, text = line.strip().partition(" ")
            stream, said = (int(room), text) if room.isdecimal() and int(room) < ROOMS else (0, line.strip())
            await association.send(f"{name}: {said}", stream)
        hearing.cancel()
        with suppress(asyncio.CancelledError):
            await hearing


async def hear(association: aio.Association) -> None:
    """Prints what others say."""
    async for message in association:
        print(f"[{message.stream}] {message.data.decode()}", flush=True)


def main(arguments: list[str]) -> None:
    """Reads the command line."""
    udp_port = aio.UDP_PORT
    if arguments[:1] == ["--udp-port"]:
        udp_port, arguments = int(arguments[1]), arguments[2:]
    match arguments:
        case ["serve", port]:
            asyncio.run(serve(int(port), udp_port))
        case ["join", target, name]:
            asyncio.run(join(target, udp_port, name))
        case _:
            sys.exit("[--udp-port N] serve PORT, or join HOST:PORT NAME")


if __name__ == "__main__":
    main(sys.argv[1:])
