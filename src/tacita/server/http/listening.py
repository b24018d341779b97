"""Listen for HTTP: the one way in which every service of Tacita is started."""

from __future__ import annotations

import os
from collections.abc import Sequence

import uvicorn
from starlette.types import ASGIApp

from tacita.server.http.impatience import impatient

__all__ = ["CLIENT_SECONDS", "listen"]

CLIENT_SECONDS = 30.0
"""How long a client may be silent inside a request, by default."""


def listen(
    app: ASGIApp,
    *,
    host: str,
    port: int,
    client_seconds: float = CLIENT_SECONDS,
    trusted_proxies: Sequence[str] = (),
) -> None:
    """Serve until a signal ends it. What the process writes to disk is readable by its own user alone.

    Args:
        app: What to serve.
        host: Address to listen on.
        port: Port to listen on.
        client_seconds: Clients that are silent inside a request for longer are disconnected.
        trusted_proxies: Whose `X-Forwarded-For` is believed. uvicorn believes loopback by default: any local process
            could then name the address that is limited.
    """
    os.umask(0o077)
    uvicorn.run(
        app,
        host=host,
        port=port,
        http=impatient(client_seconds),
        log_config=None,  # ours: uvicorn's prints raw paths
        access_log=False,
        server_header=False,
        proxy_headers=bool(trusted_proxies),
        forwarded_allow_ips=list(trusted_proxies),
        timeout_graceful_shutdown=10,
    )
