"""Slow clients are disconnected, busy ones are not."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest
import uvicorn

from tacita.server.http.impatience import impatient

SECONDS = 0.5
BODY = b"x" * 4096


async def _app(scope, receive, send) -> None:
    """Reads the body; `/late` thinks for a while, `/large` answers a lot."""
    assert scope["type"] == "http"
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        more = message["more_body"]
    if scope["path"] == "/late":
        await asyncio.sleep(4 * SECONDS)
    size = 64 << 20 if scope["path"] == "/large" else 2
    headers = [(b"content-length", str(size).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    for start in range(0, size, 1 << 16):
        await send({"type": "http.response.body", "body": b"x" * min(1 << 16, size - start), "more_body": True})
    await send({"type": "http.response.body", "body": b""})


@contextlib.asynccontextmanager
async def serving() -> AsyncIterator[int]:
    config = uvicorn.Config(_app, port=0, http=impatient(SECONDS), log_config=None, lifespan="off")
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        await task


async def _drip(port: int, start: bytes) -> bytes:
    """Send the start, then a byte now and again, until the server hangs up; what it had answered."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    answer = asyncio.create_task(reader.read())
    with contextlib.suppress(ConnectionError):
        writer.write(start)
        while not answer.done():
            writer.write(b"x" if start else b"")
            await writer.drain()
            await asyncio.sleep(SECONDS / 5)
    writer.close()
    try:
        return await answer
    except ConnectionError:
        return b""


async def _ask(port: int, path: str, times: int = 1) -> list[bytes]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    found = []
    for _ in range(times):
        writer.write(b"POST %b HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (path.encode(), len(BODY)) + BODY)
        head = await reader.readuntil(b"\r\n\r\n")
        found.append(head.split()[1] + await reader.readexactly(2))
        await asyncio.sleep(SECONDS / 2)
    writer.close()
    return found


@pytest.mark.parametrize(
    "start",
    [b"", b"GET / HTTP/1.1\r\nX: ", b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n"],
    ids=["silent", "headers", "body"],
)
def test_who_drips_is_disconnected(start: bytes) -> None:
    async def run() -> None:
        async with serving() as port:
            assert await asyncio.wait_for(_drip(port, start), 120) == b""

    asyncio.run(run())


def test_who_does_not_read_is_disconnected() -> None:
    async def run() -> None:
        async with serving() as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 16)
            writer.write(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
            await asyncio.sleep(6 * SECONDS)
            with contextlib.suppress(ConnectionError):
                assert len(await asyncio.wait_for(reader.read(), 120)) < 64 << 20
            writer.close()

    asyncio.run(run())


def test_who_waits_for_the_server_or_asks_again_and_again_is_not() -> None:
    async def run() -> None:
        async with serving() as port:
            assert await asyncio.wait_for(_ask(port, "/late"), 120) == [b"200xx"]
            assert await asyncio.wait_for(_ask(port, "/", times=8), 120) == [b"200xx"] * 8

    asyncio.run(run())
