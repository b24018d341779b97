"""What plug-ins and our own tests share: one contract suite for each interface, a real PostgreSQL,
and a server that speaks MongoDB's protocol.

Needs pytest and hypothesis, which come with the extra `dev`. Names load on first use, so that one contract
does not need what another does.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "EngineContract": "tacita.testing.engine",
    "MongoServer": "tacita.testing.mongo",
    "PostgresServer": "tacita.testing.postgres",
}

__all__ = ["EngineContract", "MongoServer", "PostgresServer"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'tacita.testing' has no attribute {name!r}")
