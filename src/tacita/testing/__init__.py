"""Contract suites that plug-ins and our own tests share, one for each interface.

Needs pytest and hypothesis, which come with the extra `dev`. Names load on first use, so that one contract does not
need what another does.
"""

from typing import Any

from tacita.common.lazy import load_name

_HOMES = {"EngineContract": "engine"}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    return load_name(__name__, _HOMES, name)
