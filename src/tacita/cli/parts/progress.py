"""The current step on standard error, once a command has run for two seconds.

In a terminal it is one line that is overwritten and removed at the end, cut to the terminal's width. Elsewhere it is a
line for each step that is reached after two seconds, and one more every half minute. `--quiet` and `--json` show
nothing. A stream that is closed or cannot hold a character ends the display, never the command.
"""

from __future__ import annotations

import os
import threading
import time
from typing import IO

__all__ = ["Display"]

AFTER = 2.0
_TICK = 0.2
_EVERY = 30.0
_BAR = 20
_COLUMNS = 80
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
                self._drawn = False
                self._write(_CLEAR)

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
            self._drawn = True
            self._write(f"{_CLEAR}{text[: self._width() - 1]}")  # a line that wraps could not be removed
        elif self._what != self._said or now - self._printed >= _EVERY:
            self._said, self._printed = self._what, now
            self._write(f"{text}\n")

    def _write(self, text: str) -> None:
        encoding = getattr(self._out, "encoding", None) or "utf-8"
        try:
            self._out.write(text.encode(encoding, "replace").decode(encoding))
            self._out.flush()
        except (OSError, ValueError):  # closed, or the reader of the pipe has gone
            self._silent = True

    def _width(self) -> int:
        try:
            return max(os.get_terminal_size(self._out.fileno()).columns, 2)
        except (OSError, ValueError):
            return _COLUMNS


def _bar(share: float) -> str:
    if share < 0:
        return ""
    full = round(_BAR * share)
    return f" [{'#' * full}{'.' * (_BAR - full)}] {share:.0%}"
