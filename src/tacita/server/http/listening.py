"""Listen for HTTP: the one way in which every service of Tacita is started, and in which it ends.

SIGTERM   `/readyz` answers 503 at once. For `drain_seconds` everything is still served, and each answer closes its
          connection, so that a proxy sends what follows elsewhere. Then nothing more is accepted, requests in
          flight are finished for at most `shutdown_seconds`, and the process ends with status 0
again     the second SIGTERM ends draining
SIGINT    the same without draining; a second one waits for nothing
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import FrameType

import uvicorn
from starlette.types import ASGIApp
from uvicorn.config import STARTUP_FAILURE

from tacita.server.http import logs
from tacita.server.http.impatience import impatient

__all__ = ["CLIENT_SECONDS", "SHUTDOWN_SECONDS", "DrainingServer", "listen"]

CLIENT_SECONDS = 30.0
"""How long a client may be silent inside a request, by default."""
SHUTDOWN_SECONDS = 60
"""How long requests in flight may take after the last one was accepted, by default."""

_CLOSE = (b"connection", b"close")


class DrainingServer(uvicorn.Server):
    """A server that is taken out of a proxy before it ends.

    Args:
        config: Of uvicorn.
        drain_seconds: How long it goes on after SIGTERM.
        on_drain: Called when it begins to end; it must be quick, since it runs in a signal handler.
    """

    def __init__(self, config: uvicorn.Config, *, drain_seconds: float, on_drain: Callable[[], None]) -> None:
        super().__init__(config)
        self._seconds, self._on_drain = drain_seconds, on_drain
        self._until: float | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to end."""
        self._on_drain()
        if sig != signal.SIGTERM:
            super().handle_exit(sig, frame)
        elif self._until is None and self._seconds and self.started:
            self._until = time.monotonic() + self._seconds
            self.config.encoded_headers.append(_CLOSE)
            self.server_state.default_headers = [*self.server_state.default_headers, _CLOSE]
        else:  # not raised again when all is done, as uvicorn would: what is around the server ends in order
            self.should_exit = True

    async def on_tick(self, counter: int) -> bool:
        """Whether to end now."""
        if self._until is not None and time.monotonic() >= self._until:
            self.should_exit = True
        return await super().on_tick(counter)


def listen(
    app: ASGIApp,
    *,
    host: str,
    port: int,
    client_seconds: float = CLIENT_SECONDS,
    trusted_proxies: Sequence[str] = (),
    drain_seconds: float = 0.0,
    shutdown_seconds: float = SHUTDOWN_SECONDS,
    on_drain: Callable[[], None] = lambda: None,
) -> None:
    """Serve until a signal ends it. What the process writes to disk is readable by its own user alone.

    Args:
        app: What to serve.
        host: Address to listen on.
        port: Port to listen on.
        client_seconds: Clients that are silent inside a request for longer are disconnected.
        trusted_proxies: Whose `X-Forwarded-For` is believed. uvicorn believes loopback by default: any local process
            could then name the address that is limited.
        drain_seconds: How long everything is still served after SIGTERM.
        shutdown_seconds: How long requests in flight may take when nothing more is accepted.
        on_drain: Called at the signal.
    """
    os.umask(0o077)
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        http=impatient(client_seconds),
        log_config=None,  # ours: uvicorn's prints raw paths
        access_log=False,
        server_header=False,
        proxy_headers=bool(trusted_proxies),
        forwarded_allow_ips=list(trusted_proxies),
        timeout_graceful_shutdown=max(1, round(shutdown_seconds)),
    )

    def began() -> None:
        on_drain()
        logs.line("server ends", drain_seconds=drain_seconds)

    server = DrainingServer(config, drain_seconds=drain_seconds, on_drain=began)
    with suppress(KeyboardInterrupt):
        server.run()
    if not server.started:
        sys.exit(STARTUP_FAILURE)
