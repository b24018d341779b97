"""Tokens that were refused, as lines of the audit log: few, however many are tried.

    refused = RefusedTokens(events)
    refused.note("api", "is not known", route="/v1/datasets")

What is alike (the door, why, whose token) has one line a minute in each process; a line says for how many tries it
stands. The first try is written at once, what comes after it is counted, and the count is written with the next try
that is a minute later, when somebody reads the log, or when the server ends. A process that is killed loses a count,
never a line.

Privacy: nothing of what was sent is written, nor where it came from. Whose token it was stands there only if its
secret was right: it had ended.
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
    """Of one key: when it was written last, and what came since."""

    written: float | None = None
    waiting: int = 0
    route: str | None = None


class RefusedTokens:
    """Counts what is refused and writes it down.

    Args:
        events: Where lines go.
        clock: Seconds that only rise; tests pass their own.
    """

    def __init__(self, events: Events, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._events, self._clock, self._lock = events, clock, threading.Lock()
        self._tries: dict[tuple[Door, str, str], _Tries] = {}

    def note(self, door: Door, reason: str, *, whose: str | None = None, route: str | None = None) -> None:
        """Count one refused token. Never raises: a try is refused, whether or not it can be written down.

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
        except Exception:  # whatever is wrong with the database: they are told of when it is back
            with self._lock:
                tries.waiting += count
