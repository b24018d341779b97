"""`tacita serve`: the service."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tacita.cli import show
from tacita.server.settings import Settings

__all__ = ["serve"]


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.")] = None,
) -> None:
    """Serve the REST interface, with a worker for long jobs. Settings: docs/reference/settings.md."""
    from tacita.server.run import serve as run_server

    given: dict[str, Any] = {"host": host, "port": port}
    settings = Settings.load(**{name: value for name, value in given.items() if value is not None})
    show.say(f"Tacita serves at http://{settings.host}:{settings.port}  (description: /openapi.json, stop: Ctrl-C)")
    run_server(settings)
