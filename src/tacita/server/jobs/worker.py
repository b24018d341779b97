"""A worker process: takes jobs from the queue, looks after those that a killed one has left."""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import signal
import threading

from tacita.errors import TacitaError
from tacita.server.http import logs
from tacita.server.services import Services
from tacita.settings import Settings

__all__ = ["load_kinds", "run_worker"]

_OWN = (
    "tacita.server.releasing.assessments",
    "tacita.server.releasing.registry",
)


def load_kinds(settings: Settings) -> None:
    """Import what registers kinds of job: the service's own, and those that the settings name."""
    for module in (*_OWN, *settings.job_modules):
        importlib.import_module(module)


def run_worker(settings: Settings, *, parent: int | None = None) -> None:
    """Do jobs until SIGINT (finish what runs, within seconds) or SIGTERM (hand it back).

    Args:
        settings: The server's own.
        parent: Process id of the server that started it; the worker ends when that is gone.
    """
    os.umask(0o077)  # what it writes is for its own user alone
    logs.configure(settings.log_level)
    load_kinds(settings)
    services = Services.open(settings)
    stop = threading.Event()
    watcher = threading.Thread(target=_watch, args=(services, stop, parent), name="watcher", daemon=True)
    watcher.start()
    try:
        work = functools.partial(services.jobs.work, services=services)
        services.jobs.queue.consumer(work, workers=settings.job_workers).run()
    finally:
        stop.set()
        watcher.join()
        with contextlib.suppress(TacitaError):
            services.jobs.hand_back()


def _watch(services: Services, stop: threading.Event, parent: int | None) -> None:
    """Look for jobs that were left behind, now and again; and for a parent that is gone."""
    while True:
        try:
            services.jobs.recover()
        except TacitaError as error:  # the state database is away for a while
            logs.fault(error)
        if stop.wait(min(services.settings.job_stale_seconds / 3, 5.0)):
            return
        if parent is not None and os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGTERM)
            return


if __name__ == "__main__":
    run_worker(Settings.load())
