"""A port that is still free when a killed server comes back to it."""

from __future__ import annotations

import random
import socket

__all__ = ["free_port"]

_FIRST, _LAST = 20_000, 32_000  # below those that the system hands out to whoever connects


def free_port() -> int:
    """A port on loopback that nobody listens on, and that no outgoing connection is given."""
    while True:
        port = random.SystemRandom().randint(_FIRST, _LAST)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
