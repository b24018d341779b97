"""Refused tokens in the audit log: few lines, however many tokens are tried.

    refused = RefusedTokens(events)
    refused.note("api", "is not known", route="/v1/datasets")

Attempts with the same door, reason and principal share one line a minute in each process; the line has their number.
The first attempt is written at once. Later ones are counted, and the count is written with the first attempt after a
minute, when the log is read, or when the server ends. A process that is killed loses a count, never a line.

Privacy: neither what was sent nor its origin is written. The principal is written only if the secret of the token was
right, which means that the token had ended.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from tacita.server.events import Events

__all__ = ["Door", "RefusedTokens"]

Door = Literal["api", "console", "holder"]
_UNKNOWN = "unknown"
_SECONDS = 60.0


@dataclass
class _Tries:
    """Attempts with one key: the time of the last line, and those counted since."""

    written: float | None = None
    waiting: int = 0
    route: str | None = None


class RefusedTokens:
    """Counter of refused tokens that writes them to the audit log.

    Args:
        events: Where lines go.
        clock: Seconds that only rise; tests pass their own.
    """

    def __init__(self, events: Events, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._events, self._clock, self._lock = events, clock, threading.Lock()
        self._tries: dict[tuple[Door, str, str], _Tries] = {}

    def note(self, door: Door, reason: str, *, whose: str | None = None, route: str | None = None) -> None:
        """Count one refused token. Never raises: an attempt is refused, whether or not it can be written.

        Args:
            door: Where it was shown.
            reason: Why it was refused; one of a few texts of ours, because each has lines of its own.
            whose: The principal of a token that has ended.
            route: The template of the path, never the path.
        """
        key = (door, reason, whose or _UNKNOWN)
        with self._lock:
            tries = self._tries.setdefault(key, _Tries())
            tries.waiting += 1
            tries.route = route
        self._write(key, waited=_SECONDS)

    def flush(self) -> None:
        """Write what has waited for a minute."""
        for key in list(self._tries):
            self._write(key, waited=_SECONDS)

    def close(self) -> None:
        """Write what is waiting."""
        for key in list(self._tries):
            self._write(key, waited=0.0)

    def _write(self, key: tuple[Door, str, str], *, waited: float) -> None:
        door, reason, principal = key
        tries = self._tries[key]
        with self._lock:
            now = self._clock()
            if not tries.waiting or (tries.written is not None and now - tries.written < waited):
                return
            count, tries.waiting, tries.written, route = tries.waiting, 0, now, tries.route
        try:
            self._events.record("token-refused", "", principal, door=door, reason=reason, route=route, tries=count)
        except Exception:  # any fault of the database: the count is written when it is back
            with self._lock:
                tries.waiting += count
