"""One look at the state for all who ask in the same moment.

A look at the database costs far more than handing out what it found. So who asks while a look is under way waits for
the next one, together with everybody else who does. Nobody is told what was true before they asked: a shared look
begins after each of them has come.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

import anyio
import anyio.to_thread

__all__ = ["SharedLooks"]

Found = TypeVar("Found")


class SharedLooks(Generic[Found]):
    """Looks by id, at most one at a time for each id in a process.

    Args:
        look: What to find out about an id; runs in a thread.
        threads: Those that it may use; the common ones by default.
    """

    def __init__(self, look: Callable[[str], Found], *, threads: anyio.CapacityLimiter | None = None) -> None:
        self._look, self._threads = look, threads
        self._next: dict[str, asyncio.Future[Found]] = {}
        self._looking: dict[str, asyncio.Task[None]] = {}

    async def at(self, id: str) -> Found:
        """What a look finds that begins now or later."""
        future = self._next.get(id)
        if future is None:
            future = self._next[id] = asyncio.get_running_loop().create_future()
            if id not in self._looking:
                self._looking[id] = asyncio.create_task(self._work(id))
        return await asyncio.shield(future)  # one who hangs up must not take the others along

    async def _work(self, id: str) -> None:
        try:
            while (future := self._next.pop(id, None)) is not None:
                try:
                    future.set_result(await anyio.to_thread.run_sync(self._look, id, limiter=self._threads))
                except Exception as error:
                    future.set_exception(error)
                    future.exception()  # all who wait may have hung up: then nobody reads it, and that is no fault
        finally:
            del self._looking[id]
