"""The step that work is at, for a terminal or a log that shows it.

Work calls `step` before each part that takes time. Without a watcher this does nothing.

Privacy: names of steps and shares are for the person who runs the command. A name says what is done, never a value or
an exact count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["Watcher", "step", "watched_by"]

Watcher = Callable[[str, float | None], None]
"""Called with the name of a step, and the share of it that is done where that is known."""

_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


def step(what: str, share: float | None = None) -> None:
    """State what is done now: a few words such as "counting rows"."""
    watcher = _watcher.get()
    if watcher is not None:
        watcher(what, share)


@contextmanager
def watched_by(watcher: Watcher) -> Iterator[None]:
    """Let a watcher know of all steps in the block."""
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)
