"""Tacita: collect, release and audit sensitive data under privacy guarantees that anyone can check.

    import tacita as tc

Names load on first use, so that a respondent's client (`tacita.collect.device.device`) needs nothing but the standard
library.
"""

from typing import Any

from tacita._version import __version__
from tacita.common.lazy import load_name

_HOMES = {
    "Boolean": "domain",
    "Budget": "privacy.budget",
    "Categorical": "domain",
    "Client": "client",
    "Database": "store",
    "Date": "domain",
    "Domain": "domain",
    "Identifier": "domain",
    "Ledger": "privacy.ledger",
    "Neighbours": "privacy.unit",
    "NoisyTables": "plans",
    "Numeric": "domain",
    "Ordinal": "domain",
    "RandomizedResponse": "collect",
    "Release": "tables.release",
    "Releases": "tables.release",
    "SecureSource": "noise",
    "SeededSource": "noise",
    "Session": "plans.session",
    "Unit": "privacy.unit",
    "Workload": "tables.workload",
    "connect": "engines.connect",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    return load_name(__name__, _HOMES, name)


def __dir__() -> list[str]:
    return sorted(__all__)
