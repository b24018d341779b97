"""`tacita serve`: the server with its worker."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

import uvicorn
from fastapi import FastAPI

from tacita.server import logs
from tacita.server.app import create_app
from tacita.server.settings import Settings
from tacita.server.worker import run_worker

__all__ = ["serve"]


def serve(settings: Settings, *, extend: Callable[[FastAPI], None] | None = None) -> None:
    """Serve until a signal ends it, with a worker process unless the settings say no.

    Args:
        settings: What to serve.
        extend: Adds to the app what stands on higher floors, such as the console.
    """
    logs.configure(settings.log_level)
    app = create_app(settings)
    if extend is not None:
        extend(app)
    with _worker(settings) if settings.worker else nullcontext():
        uvicorn.run(
            app,
            host=settings.host,
            port=settings.port,
            log_config=None,  # ours: uvicorn's prints raw paths
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=10,
        )


@contextmanager
def _worker(settings: Settings) -> Iterator[None]:
    # spawned, not forked: the state's connections and the noise's keystream must not be shared
    context = multiprocessing.get_context("spawn")
    child = context.Process(
        target=run_worker, args=(settings,), kwargs={"parent": os.getpid()}, name="tacita-worker", daemon=True
    )
    child.start()
    try:
        yield
    finally:
        child.terminate()
        child.join(10)
        if child.is_alive():
            child.kill()  # its jobs are resumed by the next one


if __name__ == "__main__":
    serve(Settings.load())
