"""`tacita serve`: the service."""

from __future__ import annotations

import os
import threading
import time
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import httpx
import typer

from tacita.cli.parts import show
from tacita.common.extras import needs_extra
from tacita.settings import Settings

if TYPE_CHECKING:
    from fastapi import FastAPI

__all__ = ["serve"]

_START_SECONDS = 60


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.")] = None,
    open_: Annotated[
        bool, typer.Option("--open", help="Print a link that signs in to the console once, and open it in a browser.")
    ] = False,
) -> None:
    """Serve the REST interface and the console, with a worker for long jobs. Settings: docs/reference/settings.md."""
    with needs_extra("server", "the service"):
        from tacita.server.run import serve as run_server

    given: dict[str, Any] = {"host": host, "port": port}
    settings = Settings.load(**{name: value for name, value in given.items() if value is not None})
    address = f"http://{_reachable(settings.host)}:{settings.port}"
    show.say(f"Tacita serves at {address}  (description: /openapi.json, stop: Ctrl-C)")

    if settings.console:
        with needs_extra("console", "the console"):
            from tacita.console.mount import mount

    def extend(app: FastAPI) -> None:
        sessions = mount(app)
        if open_:
            link = f"{address}/console/enter#{sessions.code()}"
            show.say("The console, for you alone (the link is good once, for ten minutes):")
            print(link, flush=True)  # in one piece, however narrow the terminal
            threading.Thread(target=_open, args=(address, link, settings.home), daemon=True).start()

    run_server(settings, extend=extend if settings.console else None)


def _reachable(host: str) -> str:
    """Return the address as a browser on this machine writes it."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    return f"[{host}]" if ":" in host else host


def _open(address: str, link: str, home: Path) -> None:
    """Open the page in a browser when the server answers, if there is a display.

    The browser opens a file that redirects to the link: other users of this machine can read command lines.
    """
    until = time.monotonic() + _START_SECONDS
    while time.monotonic() < until:
        try:
            httpx.get(f"{address}/healthz", timeout=1)
        except httpx.HTTPError:
            time.sleep(0.2)
            continue
        page = home / "console.html"
        page.unlink(missing_ok=True)
        with os.fdopen(os.open(page, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(f'<!doctype html><title>Tacita</title><meta http-equiv="refresh" content="0; url={link}">')
        webbrowser.open(page.resolve().as_uri())
        time.sleep(_START_SECONDS)
        page.unlink(missing_ok=True)
        return
