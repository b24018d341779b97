"""`tacita serve`: the server with its worker."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial

from fastapi import FastAPI

from tacita.server.app import create_app
from tacita.server.http import logs
from tacita.server.http.listening import listen
from tacita.server.jobs.supervisor import supervised
from tacita.settings import Settings

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
    with supervised(settings) if settings.worker else nullcontext() as worker:
        app.state.worker = worker  # `/readyz` asks it
        listen(
            app,
            host=settings.host,
            port=settings.port,
            client_seconds=settings.client_seconds,
            trusted_proxies=settings.trusted_proxies,
            drain_seconds=settings.drain_seconds,
            shutdown_seconds=settings.shutdown_seconds,
            on_drain=partial(setattr, app.state, "draining", True),  # `/readyz` asks it
        )


if __name__ == "__main__":
    serve(Settings.load())
