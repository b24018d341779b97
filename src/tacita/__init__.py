"""Tacita: collect, release and audit sensitive data under privacy guarantees that anyone can check.

    import tacita as tc

Each verb is a submodule: `tc.collect`, `tc.anonymize`, `tc.query`, `tc.synthesize`, `tc.learn`, `tc.assess`. What they
share is here or in `tc.models`, `tc.errors`. Names load on first use, so that a respondent's client
(`tacita.collect.device.device`) needs nothing but the standard library.
"""

from typing import Any

from tacita._version import __version__
from tacita.common.lazy import load_name

_ROOMS = ("anonymize", "assess", "collect", "errors", "learn", "models", "query", "synthesize")
_HOMES = {
    "Aggregates": "query",
    "Anonymize": "anonymize",
    "Boolean": "domain",
    "Budget": "privacy.budget",
    "Categorical": "domain",
    "Client": "client",
    "Conditions": "anonymize",
    "Database": "store",
    "Date": "domain",
    "Device": "collect",
    "Domain": "domain",
    "Identifier": "domain",
    "Ledger": "privacy.ledger",
    "Neighbours": "privacy.unit",
    "NoisyTables": "plans",
    "Numeric": "domain",
    "Ordinal": "domain",
    "PrivBayes": "synthesize",
    "PrivacyWarning": "errors",
    "RandomizedResponse": "collect",
    "Regression": "learn",
    "Release": "tables.release",
    "Releases": "tables.release",
    "SecureSource": "noise",
    "SeededSource": "noise",
    "Session": "plans.session",
    "Statement": "report.statement",
    "Synthesize": "synthesize",
    "TacitaError": "errors",
    "Trees": "learn",
    "Unit": "privacy.unit",
    "Workload": "tables.workload",
    "connect": "engines.connect",
}

__all__ = ["__version__", *_HOMES, *_ROOMS]


def __getattr__(name: str) -> Any:
    return load_name(__name__, _HOMES, name, _ROOMS)


def load_ipython_extension(shell: Any) -> None:
    """Register `%%tacita`, a cell of SQL; IPython calls this for `%load_ext tacita`."""
    from tacita.client.cell_magic import load_ipython_extension as load

    load(shell)


def __dir__() -> list[str]:
    return sorted(__all__)
