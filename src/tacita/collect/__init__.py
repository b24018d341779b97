"""Collecting from people who trust nobody: channels, the device, what travels between them.

Names load when they are first used: a respondent's device imports `tacita.collect.client` and gets the
standard library only.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "RandomizedResponse": "channel",
    "Device": "client",
    "Offer": "client",
    "Receipt": "client",
    "FrequencyEstimate": "frequencies",
    "Intervals": "frequencies",
    "About": "protocol",
    "Channel": "protocol",
    "EnumerableChannel": "protocol",
    "Question": "question",
    "Refusal": "question",
    "Report": "question",
    "Projected": "simplex",
    "norm_sub": "simplex",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(_HOMES)
