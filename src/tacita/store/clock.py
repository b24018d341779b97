"""The time of day, as state keeps it: UTC, always with its zone."""

from __future__ import annotations

import datetime as dt

__all__ = ["aware", "now"]


def now() -> dt.datetime:
    """Now, in UTC."""
    return dt.datetime.now(dt.UTC)


def aware(time: dt.datetime) -> dt.datetime:
    """A stored time with its zone: SQLite forgets that it was UTC."""
    return time if time.tzinfo else time.replace(tzinfo=dt.UTC)
