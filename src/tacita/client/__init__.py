"""Clients of the REST interface: for people and programs (`Client`), and for the holders of a federated run."""

from typing import Any

from tacita.common.lazy import load_name

_HOMES = {"Client": "client", "HolderClient": "holder"}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    return load_name(__name__, _HOMES, name)
