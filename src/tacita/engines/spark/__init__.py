"""Files, tables and frames that a Spark cluster reads, counted by its executors.

Names load on first use: reading an address (`address`) needs no compiled loops.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacita.engines.spark.engine import SparkEngine

__all__ = ["SparkEngine"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from tacita.engines.spark import engine

        return getattr(engine, name)
    raise AttributeError(f"module 'tacita.engines.spark' has no attribute {name!r}")
