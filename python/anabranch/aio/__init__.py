"""SCTP on real sockets, for asyncio.

    import asyncio
    from anabranch import aio

    async def main():
        async with aio.connect("localhost:9000") as association:
            await association.send(b"hello")
            print((await association.receive()).data)

    asyncio.run(main())

and a server for it:

    async def echo(association):
        async for message in association:
            await association.send(message.data, message.stream)

    async def main():
        async with await aio.serve(echo, 9000) as server:
            await server.serve_forever()

9000 is the SCTP port. SCTP travels in UDP (RFC 6951), port 9899 unless told otherwise, as with the commands `anabranch listen` and
`anabranch connect`. Nothing is encrypted or authenticated.

| name | meaning |
|---|---|
| `connect` | an association with a server: to be awaited, or `async with`, which ends it in order, and by force after an exception |
| `serve` | calls a coroutine for each peer that comes: a `Server` |
| `Association` | `send`, which waits while the buffer is full; `receive`, `async for`; `events`; `shutdown`, `abort`; `stream(n)` |
| `Stream` | one stream of an association, sent on and read by itself |
| `Message`, `Event` | a received message, an event of the association |
| `ClosedError` | the association has ended, and not in order |

Everything that waits may be cancelled while it waits: no message is lost, and none is sent twice. No threads are used: the protocol
runs in the event loop, which must have `add_reader` (every loop but the proactor loop of Windows).
"""

from ._association import Association, ClosedError, Event, Message, Stream
from ._calls import UDP_PORT, Connecting, Server, connect, serve

__all__ = [
    "UDP_PORT",
    "Association",
    "ClosedError",
    "Connecting",
    "Event",
    "Message",
    "Server",
    "Stream",
    "connect",
    "serve",
]
