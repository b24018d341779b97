"""The worker process beside a server: started, watched, started again when it dies, ended with the server.

What a dead one has run is taken up by the next: see `jobs`. One that dies quickly again and again is given up, which
the log and `/readyz` say.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tacita.server.http import logs
from tacita.server.jobs.worker import run_worker
from tacita.settings import Settings

__all__ = ["Supervisor", "supervised"]

_LOOK, _PAUSE, _QUICK, _MOST_QUICK = 0.5, 1.0, 20.0, 5


class Supervisor:
    """Keeps one process alive.

    Args:
        start: Starts it: a `multiprocessing.Process` that runs.
        pause: Seconds between a death and the next start.
        quick: A life of fewer seconds is a quick death.
        most: So many quick deaths one after the other, and it is given up.
    """

    def __init__(
        self, start: Callable[[], Any], *, pause: float = _PAUSE, quick: float = _QUICK, most: int = _MOST_QUICK
    ) -> None:
        self._start, self._pause, self._quick, self._most = start, pause, quick, most
        self._stop = threading.Event()
        self._child: Any = None
        self.lost = False

    def run(self) -> None:
        """Until `stop`, or until it is given up."""
        deaths = 0
        while not self._stop.is_set():
            began = time.monotonic()
            self._child = self._start()
            logs.line("worker started", pid=self._child.pid)
            while self._child.is_alive() and not self._stop.is_set():
                self._child.join(_LOOK)
            if self._stop.is_set():
                break
            deaths = deaths + 1 if time.monotonic() - began < self._quick else 0
            logs.line("worker died", level=logging.ERROR, code=self._child.exitcode, quick_deaths=deaths)
            if deaths >= self._most:
                self.lost = True
                logs.line("worker given up: jobs wait until the server is started again", level=logging.ERROR)
                return
            self._stop.wait(self._pause)
        if self._child is not None:
            self._end()

    def stop(self) -> None:
        """End it; `run` returns when it has ended."""
        self._stop.set()

    def _end(self) -> None:
        self._child.terminate()
        self._child.join(10)
        if self._child.is_alive():
            self._child.kill()  # its jobs are resumed by the next one
            self._child.join()


@contextmanager
def supervised(settings: Settings) -> Iterator[Supervisor]:
    """A worker while the block runs."""
    # spawned, not forked: the state's connections and the noise's keystream must not be shared
    context = multiprocessing.get_context("spawn")

    def start() -> Any:
        child = context.Process(
            target=run_worker, args=(settings,), kwargs={"parent": os.getpid()}, name="tacita-worker", daemon=True
        )
        child.start()
        return child

    supervisor = Supervisor(start)
    thread = threading.Thread(target=supervisor.run, name="supervisor", daemon=True)
    thread.start()
    try:
        yield supervisor
    finally:
        supervisor.stop()
        thread.join()
