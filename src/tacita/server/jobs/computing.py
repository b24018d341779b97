"""A bounded pool of processes for computations: plans, rehearsals, fits.

Pages, intake and health must answer during the most expensive requests of analysts. Threads cannot ensure that: they
share the interpreter, and no thread can be stopped. So each computation that is estimated to take longer than
`QUICK_SECONDS` runs in a child process of low priority, which is killed when its client has gone or its time is up. At
most `processes` run at once and `WAITING` wait; one principal has at most `EACH` of both. Further
requests are answered 429 at once.

A child is kept for the next computation, because importing the libraries takes seconds.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pickle
import struct
import sys
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, BinaryIO, TypeVar

import anyio.to_thread
from starlette.requests import Request

from tacita.errors import InternalError, InvalidInput, TacitaError
from tacita.wire.refusals import ClientGone, TooManyRequests

__all__ = ["EACH", "LIMITS", "QUICK_SECONDS", "WAITING", "ComputePool", "check_cost"]

QUICK_SECONDS = 0.3
"""Estimates up to this are computed in a thread, where starting a child would take longer."""
WAITING = 8
"""Computations that wait for a process."""
EACH = 2
"""Computations of one principal that run or wait."""
LIMITS = {"analyst": 60.0, "reader": 60.0, "holder": 60.0, "steward": 600.0, "admin": 600.0}
"""Estimated seconds that one computation may take, by role."""

_HEAD = struct.Struct("<Q")
_NICE = 10

T = TypeVar("T")


def check_cost(seconds: float, *, role: str, hint: str) -> None:
    """Refuse what is estimated to take longer than a role may.

    Raises:
        InvalidInput: With the estimate, and the caller's way out.
    """
    if seconds > LIMITS[role]:
        rule = f"must take at most {LIMITS[role]:g} s of computing for the role {role}"
        raise InvalidInput(rule, field="plan", value=f"about {seconds:,.0f} s", hint=hint)


class ComputePool:
    """Children that compute for one server process.

    Args:
        processes: Most that run at once.
        seconds: When a computation is stopped, whatever was estimated.
    """

    def __init__(self, *, processes: int, seconds: float) -> None:
        self._seconds = seconds
        self._running = asyncio.Semaphore(processes)
        self._quick = anyio.CapacityLimiter(processes)
        self._most = processes + WAITING
        self._held: Counter[str] = Counter()
        self._idle: list[asyncio.subprocess.Process] = []

    async def run(
        self, compute: Callable[[], T], *, estimate: float, principal: str, request: Request | None = None
    ) -> T:
        """Compute, in a child process where it is not quick.

        Args:
            compute: A module's function, or a `functools.partial` of one: it is pickled.
            estimate: Seconds that it is expected to take.
            principal: Who asks.
            request: The request that it is for; when its client hangs up, the child is killed.

        Raises:
            ClientGone: The client hung up; no one reads this.
            TooManyRequests: The principal has `EACH` computations, or too many wait.
            InvalidInput: It was not done in time.
            TacitaError: What it raised itself.
        """
        if self._held[principal] >= EACH:
            raise _busy(f"at most {EACH} computations at once for each token")
        if self._held.total() >= self._most:
            raise _busy("too many computations wait already")
        self._held[principal] += 1
        try:
            if estimate <= QUICK_SECONDS:
                return await anyio.to_thread.run_sync(compute, limiter=self._quick)
            return await _unless_gone(self._in_child(compute), request)
        finally:
            self._held[principal] -= 1
            self._held += Counter()  # forget those without any

    async def close(self) -> None:
        """End all children."""
        idle, self._idle = self._idle, []
        for child in idle:
            await _kill(child)

    async def _in_child(self, compute: Callable[[], T]) -> T:
        async with self._running:
            child = self._idle.pop() if self._idle else await _start()
            try:
                async with asyncio.timeout(self._seconds):
                    outcome = await _ask(child, compute)
            except TimeoutError:
                rule = f"was stopped after {self._seconds:g} s of computing"
                raise InvalidInput(rule, field="plan", hint="Ask for less at once") from None
            except (asyncio.IncompleteReadError, OSError):
                raise InternalError("a computing process ended unexpectedly") from None
            else:
                self._idle.append(child)
            finally:
                if child not in self._idle:
                    await asyncio.shield(_kill(child))
        if isinstance(outcome, BaseException):
            raise outcome
        found: T = outcome
        return found


def _busy(rule: str) -> TooManyRequests:
    return TooManyRequests(rule, retry_after=10, hint="Try again when one of them is done")


async def _unless_gone(work: Awaitable[T], request: Request | None) -> T:
    """Work until it is done or its client hangs up; then it is cancelled."""
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_wait_gone(request)) if request is not None else None
    try:
        await asyncio.wait([task, *([gone] if gone else [])], return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ClientGone("the client has gone", field="connection")
        return task.result()
    finally:
        for each in (task, gone):
            if each is not None and not each.done():
                each.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await each


async def _wait_gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":  # the body has been read
        pass


async def _start() -> asyncio.subprocess.Process:
    command = (sys.executable, "-m", "tacita.server.jobs.computing", str(os.getpid()))
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, limit=1 << 20)


async def _ask(child: asyncio.subprocess.Process, compute: Callable[[], Any]) -> Any:
    assert child.stdin is not None
    assert child.stdout is not None
    data = pickle.dumps(compute)
    child.stdin.write(_HEAD.pack(len(data)) + data)
    await child.stdin.drain()
    (size,) = _HEAD.unpack(await child.stdout.readexactly(_HEAD.size))
    return pickle.loads(await child.stdout.readexactly(size))  # noqa: S301 -- of our own child


async def _kill(child: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        child.kill()
    await child.wait()


# -- in the child ----------------------------------------------------------------------------------------------------


def _serve(parent: int) -> None:
    """Compute what comes on stdin until it ends."""
    os.nice(_NICE)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints is no answer
    while len(head := incoming.read(_HEAD.size)) == _HEAD.size:
        _answer(outgoing, _computed(incoming.read(_HEAD.unpack(head)[0])))


def _computed(data: bytes) -> Any:
    try:
        return pickle.loads(data)()  # noqa: S301 -- of our own parent
    except TacitaError as error:
        return error
    except Exception as error:  # its message may hold a value: only the type is sent
        return InternalError(f"a computation failed: {type(error).__name__}")


def _answer(outgoing: BinaryIO, outcome: Any) -> None:
    data = pickle.dumps(outcome)
    outgoing.write(_HEAD.pack(len(data)) + data)
    outgoing.flush()


def _end_with(parent: int) -> None:
    """End when the server is gone, also in the middle of a computation."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
