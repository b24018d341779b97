"""Tacita: collect, release and audit sensitive data under privacy guarantees that anyone can check.

    import tacita as tc

Names load on first use, so that a respondent's client (`tacita.collect.client`) needs nothing but the standard
library.
"""

from importlib import import_module
from typing import Any

from tacita._version import __version__

_HOMES = {
    "Boolean": "tacita.domain",
    "Budget": "tacita.privacy.budget",
    "Categorical": "tacita.domain",
    "Client": "tacita.client",
    "Database": "tacita.store",
    "Date": "tacita.domain",
    "Domain": "tacita.domain",
    "Identifier": "tacita.domain",
    "Ledger": "tacita.privacy.ledger",
    "Neighbours": "tacita.privacy.unit",
    "NoisyTables": "tacita.mechanisms",
    "Numeric": "tacita.domain",
    "Ordinal": "tacita.domain",
    "RandomizedResponse": "tacita.collect",
    "Release": "tacita.release",
    "Releases": "tacita.release",
    "SecureSource": "tacita.noise",
    "SeededSource": "tacita.noise",
    "Session": "tacita.query",
    "Unit": "tacita.privacy.unit",
    "Workload": "tacita.tables",
    "connect": "tacita.engines.connect",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'tacita' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
