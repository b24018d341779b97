"""The current step on standard error, once a command has run for two seconds.

In a terminal it is one line that is overwritten and removed at the end. Elsewhere it is a line for each step that is
reached after two seconds, and one more every half minute. `--quiet` and `--json` show nothing.
"""

from __future__ import annotations

import threading
import time
from typing import IO

__all__ = ["Display"]

AFTER = 2.0
_TICK = 0.2
_EVERY = 30.0
_BAR = 20
_CLEAR = "\r\x1b[2K"


class Display:
    """Shows steps; a context in which a command runs.

    Args:
        out: The stream, standard error.
        terminal: Whether it is a terminal, whose line can be overwritten.
        after: Seconds before anything is shown.
    """

    def __init__(self, out: IO[str], *, terminal: bool, after: float = AFTER) -> None:
        self._out, self._terminal, self._after = out, terminal, after
        self._lock, self._ended = threading.Lock(), threading.Event()
        self._what, self._share = "", 0.0
        self._began = self._printed = time.monotonic()
        self._said, self._drawn, self._silent = "", False, False
        self._thread = threading.Thread(target=self._tick, name="progress", daemon=True)

    def __enter__(self) -> Display:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self.clear()

    def step(self, what: str, share: float | None = None) -> None:
        """Note the step that was reached; it is shown by the next tick."""
        with self._lock:
            self._what, self._share = what, -1.0 if share is None else min(max(share, 0.0), 1.0)

    def silence(self) -> None:
        """Show nothing from now on: `--quiet`, `--json`, a service."""
        self.clear()
        with self._lock:
            self._silent = True

    def clear(self) -> None:
        """Remove the line from a terminal, before something else is printed."""
        with self._lock:
            if self._drawn:
                self._out.write(_CLEAR)
                self._out.flush()
                self._drawn = False

    def _tick(self) -> None:
        while not self._ended.wait(_TICK):
            with self._lock:
                self._show(time.monotonic())

    def _show(self, now: float) -> None:
        spent = now - self._began
        if self._silent or not self._what or spent < self._after:
            return
        text = f"{self._what}{_bar(self._share)} ({spent:.0f} s)"
        if self._terminal:
            self._out.write(f"{_CLEAR}{text}")
            self._drawn = True
        elif self._what != self._said or now - self._printed >= _EVERY:
            self._out.write(f"{text}\n")
            self._said, self._printed = self._what, now
        else:
            return
        self._out.flush()


def _bar(share: float) -> str:
    if share < 0:
        return ""
    full = round(_BAR * share)
    return f" [{'#' * full}{'.' * (_BAR - full)}] {share:.0%}"
