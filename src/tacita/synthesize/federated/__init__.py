"""Fit one model to the data of several holders without pooling it: each holder adds its own noise and keeps its own
ledger, and the analyst sees only private answers.

This is differential privacy at each holder, for its own people. It is not local privacy: people trust their holder.
"""

from typing import Any

from tacita.common.lazy import load_name

_HOMES = {
    "Holder": "holder",
    "Limits": "holder",
    "Party": "analyst",
    "Schedule": "schedule",
    "Terms": "terms",
    "federate": "analyst",
    "split": "splitting",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    return load_name(__name__, _HOMES, name)


def __dir__() -> list[str]:
    return sorted(_HOMES)
