"""Files and frames on this machine, counted by compiled loops.

Names load on first use: the child process that reads untrusted files (`reader`) needs no compiled loops.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacita.engines.local.engine import CACHE_BYTES, LocalEngine

__all__ = ["CACHE_BYTES", "LocalEngine"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from tacita.engines.local import engine

        return getattr(engine, name)
    raise AttributeError(f"module 'tacita.engines.local' has no attribute {name!r}")
