"""Rate limits: a token bucket for each party, in the memory of one process."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

from tacita.wire.refusals import TooManyRequests

__all__ = ["RateLimiter"]

# Parties remembered at once. The one that is forgotten is the one that was seen longest ago: after a minute its bucket
# is full, so nothing is lost unless more parties than this come within a minute.
_MOST = 20_000


class RateLimiter:
    """Limit of requests a minute for each party, in bursts of at most a minute's worth.

    Args:
        clock: Seconds that only rise; tests pass their own.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._buckets: dict[str, tuple[float, float]] = {}  # party: what is left, and when

    def take(self, party: str, per_minute: int, count: int = 1) -> None:
        """Count a request, or as many as it stands for, or refuse it; 0 a minute means no limit."""
        if per_minute == 0:
            return
        rate = per_minute / 60
        with self._lock:
            now = self._clock()
            left, then = self._buckets.pop(party, (float(per_minute), now))
            left = min(float(per_minute), left + (now - then) * rate)
            allowed = left >= count
            self._buckets[party] = (left - count if allowed else left, now)  # last in order: most recently seen
            if len(self._buckets) > _MOST:
                del self._buckets[next(iter(self._buckets))]
        if not allowed:
            wait = max(1, math.ceil((min(count, per_minute) - left) / rate))
            raise TooManyRequests(
                f"at most {per_minute} requests a minute", retry_after=wait, hint=f"Try again in {wait} s"
            )
