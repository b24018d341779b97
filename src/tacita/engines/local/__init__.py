"""Files and frames on this machine, counted by compiled loops."""

from tacita.engines.local.engine import CACHE_BYTES, LocalEngine

__all__ = ["CACHE_BYTES", "LocalEngine"]
