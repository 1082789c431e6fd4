"""An echo server, and a client of it, over SCTP in UDP.

    python examples/python/echo.py serve 9000
    python examples/python/echo.py ask localhost:9000 hello world

The client prints each word as it comes back. `anabranch listen 9000 --echo` and `anabranch connect localhost:9000` are good peers, too.
"""

import asyncio
import sys

from anabranch import aio


async def echo(association: aio.Association) -> None:
    """Sends back what comes, on the stream that it came on."""
    async for message in association:
        await association.send(message.data, message.stream, ppid=message.ppid)


async def serve(port: int, udp_port: int) -> None:
    """Serves until it is interrupted."""
    async with await aio.serve(echo, port, udp_port=udp_port) as server:
        print(f"SCTP port {server.port} in UDP port {server.addresses[0][1]}", flush=True)
        await server.serve_forever()


async def ask(target: str, udp_port: int, words: list[str]) -> None:
    """Sends words, and prints what comes back."""
    async with aio.connect(target, udp_port=udp_port) as association:
        for word in words:
            await association.send(word)
            answer = await association.receive()
            if answer is None:
                raise ConnectionError("the server has ended the association")
            print(answer.data.decode())


def main(arguments: list[str]) -> None:
    """Reads the command line."""
    udp_port = aio.UDP_PORT
    if arguments[:1] == ["--udp-port"]:
        udp_port, arguments = int(arguments[1]), arguments[2:]
    match arguments:
        case ["serve", port]:
            asyncio.run(serve(int(port), udp_port))
        case ["ask", target, *words]:
            asyncio.run(ask(target, udp_port, words))
        case _:
            sys.exit("[--udp-port N] serve PORT, or ask HOST:PORT WORD...")


if __name__ == "__main__":
    main(sys.argv[1:])
