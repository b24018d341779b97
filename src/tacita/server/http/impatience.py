"""Close connections whose client is too slow, so that a few hundred of them cannot hold all the server's sockets.

Every `seconds` a connection is looked at, in one of four states:

    waiting for headers      closed when no request has begun since the last look
    reading a body           closed when less than `MIN_RATE` bytes a second of it have come since the last look
    writing an answer        closed when the client has read nothing since the last look
    computing                left alone: the server is the slow one

A connection is judged only where it was in the same state of the same request at the last look, so a client has at
least `seconds`. uvicorn itself only closes idle connections between two requests.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

__all__ = ["MIN_RATE", "impatient"]

MIN_RATE = 1024
"""Bytes a second of a body that a client must send at least."""


def impatient(seconds: float) -> type[asyncio.Protocol]:
    """The protocol for `uvicorn.run(http=...)` that looks at each connection so often."""

    class Impatient(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
        """One connection."""

        _timer: asyncio.TimerHandle | None = None
        _received = 0
        _before: tuple[str, object, int] = ("", None, 0)

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            """Begin to watch it."""
            super().connection_made(transport)
            self._watch()

        def connection_lost(self, exc: Exception | None) -> None:
            """Stop watching it."""
            if self._timer is not None:
                self._timer.cancel()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            """Count what comes."""
            self._received += len(data)
            super().data_received(data)

        def _watch(self) -> None:
            self._timer = asyncio.get_running_loop().call_later(seconds, self._look)

        def _look(self) -> None:
            if self not in self.connections:  # gone, or a socket of the console by now
                return
            if self._is_slow():
                self.transport.abort()
            else:
                self._watch()

        def _is_slow(self) -> bool:
            received, self._received = self._received, 0
            unread: int = self.transport.get_write_buffer_size()
            before, self._before = self._before, (self._state(), self.cycle, unread)
            if before[:2] != self._before[:2]:
                return False
            match self._before[0]:
                case "waiting":
                    return True
                case "reading":
                    return received < MIN_RATE * seconds
                case "writing":
                    return unread >= before[2]
                case _:
                    return False

        def _state(self) -> str:
            cycle: Any = self.cycle
            if self.flow.write_paused:
                return "writing"
            if cycle is None or cycle.response_complete:
                return "waiting"
            return "reading" if cycle.more_body and not self.flow.read_paused else "computing"

    return Impatient
