"""`tacita serve`: the server with its worker."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

import uvicorn
from fastapi import FastAPI

from tacita.server import logs
from tacita.server.app import create_app
from tacita.server.settings import Settings
from tacita.server.supervisor import supervised

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
        uvicorn.run(
            app,
            host=settings.host,
            port=settings.port,
            log_config=None,  # ours: uvicorn's prints raw paths
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=10,
        )


if __name__ == "__main__":
    serve(Settings.load())
