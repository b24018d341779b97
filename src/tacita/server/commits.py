"""Group commit: batches that arrive while the disk is busy are written together.

A commit waits for the disk, which takes as long for a thousand reports as for one. So there is one writer in each
process: reports that arrive while it writes are gathered for the next commit. No batch waits for others to arrive, and
an answer is sent when its own batch is on disk.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import anyio
import anyio.to_thread

from tacita.collect.campaigns import Accepted, Batch
from tacita.errors import TacitaError

__all__ = ["GroupCommit"]

MOST_REPORTS = 20_000
"""Reports in one commit, unless a single batch has more: a transaction must stay short."""

Outcome = Accepted | TacitaError
Waiting = tuple[Batch, asyncio.Future[Outcome]]


class GroupCommit:
    """The one writer of reports in a process.

    Args:
        count: Counts batches in one transaction and says what became of each; runs in a thread.
    """

    def __init__(self, count: Callable[[Sequence[Batch]], Sequence[Outcome]]) -> None:
        self._count = count
        self._waiting: list[Waiting] = []
        self._writer: asyncio.Task[None] | None = None

    async def submit(self, batch: Batch) -> Accepted:
        """Count a batch; returns when it is on disk.

        Raises:
            TacitaError: What became of it instead.
        """
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._waiting.append((batch, future))
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write())
        outcome = await future
        if isinstance(outcome, TacitaError):
            raise outcome
        return outcome

    async def _write(self) -> None:
        thread = anyio.CapacityLimiter(1)  # of its own: no other work keeps it waiting
        while self._waiting:
            group = self._take()
            try:
                await self._commit(group, thread)
            except Exception:  # nothing of the group was written: one bad batch must not take the others with it
                for one in group:
                    await self._alone(one, thread)

    async def _commit(self, group: list[Waiting], thread: anyio.CapacityLimiter) -> None:
        outcomes = await anyio.to_thread.run_sync(self._count, [batch for batch, _ in group], limiter=thread)
        for (_, future), outcome in zip(group, outcomes, strict=True):
            if not future.done():  # its sender may have hung up; the batch has counted all the same
                future.set_result(outcome)

    async def _alone(self, one: Waiting, thread: anyio.CapacityLimiter) -> None:
        try:
            await self._commit([one], thread)
        except Exception as error:
            if not one[1].done():
                one[1].set_exception(error)

    def _take(self) -> list[Waiting]:
        taken, size = 0, 0
        for batch, _ in self._waiting:
            size += len(batch.ids)
            if taken and size > MOST_REPORTS:
                break
            taken += 1
        group, self._waiting = self._waiting[:taken], self._waiting[taken:]
        return group
