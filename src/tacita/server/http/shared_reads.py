"""One read of the database for all requests that arrive at the same time.

A read of the database costs far more than sending its result. So requests that arrive during a read wait for the next
read and share it. No request gets a state from before it arrived: a shared read begins after the last of its requests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

import anyio
import anyio.to_thread

__all__ = ["SharedReads"]

Found = TypeVar("Found")


class SharedReads(Generic[Found]):
    """Shared reads by id, at most one at a time for each id in a process.

    Args:
        read: Function that reads the state of an id; runs in a thread.
        threads: Threads that it may use; the common ones by default.
    """

    def __init__(self, read: Callable[[str], Found], *, threads: anyio.CapacityLimiter | None = None) -> None:
        self._read, self._threads = read, threads
        self._next: dict[str, asyncio.Future[Found]] = {}
        self._reading: dict[str, asyncio.Task[None]] = {}

    async def at(self, id: str) -> Found:
        """Return the result of a read that begins now or later."""
        future = self._next.get(id)
        if future is None:
            future = self._next[id] = asyncio.get_running_loop().create_future()
            if id not in self._reading:
                self._reading[id] = asyncio.create_task(self._work(id))
        return await asyncio.shield(future)  # a client that hangs up must not cancel the read of the others

    async def _work(self, id: str) -> None:
        try:
            while (future := self._next.pop(id, None)) is not None:
                try:
                    future.set_result(await anyio.to_thread.run_sync(self._read, id, limiter=self._threads))
                except Exception as error:
                    future.set_exception(error)
                    future.exception()  # if all clients have hung up, no one reads it, and that is no fault
        finally:
            del self._reading[id]
