"""Tacita: collect, release and audit sensitive data under privacy guarantees that anyone can check.

    import tacita as tc

Names load on first use, so that a respondent's client (`tacita.collect.client`) needs nothing but the standard
library.
"""

from importlib import import_module
from typing import Any

from tacita._version import __version__

_HOMES = {
    "Domain": "tacita.domain",
    "Categorical": "tacita.domain",
    "Ordinal": "tacita.domain",
    "Numeric": "tacita.domain",
    "Date": "tacita.domain",
    "Boolean": "tacita.domain",
    "Identifier": "tacita.domain",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'tacita' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
