"""Private statistics: plan, charge, answer."""

from typing import Any

from tacita.common.lazy import load_name

_HOMES = {
    "Aggregate": "aggregates",
    "Aggregates": "aggregates",
    "Answer": "answer",
    "Statistic": "statistics",
    "mean": "statistics",
    "quantile": "statistics",
    "share": "statistics",
    "top": "statistics",
    "total": "statistics",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    return load_name(__name__, _HOMES, name)


def __dir__() -> list[str]:
    return sorted(_HOMES)
