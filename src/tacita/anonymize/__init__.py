"""Release rows in which nobody stands out, measure what holds for them and what was lost."""

from importlib import import_module
from typing import Any

_HOMES = {
    "Achieved": "criteria",
    "Anonymize": "anonymize",
    "Anonymized": "anonymize",
    "Bayardo": "bayardo",
    "Conditions": "criteria",
    "Datafly": "datafly",
    "Hierarchy": "hierarchy",
    "Incognito": "incognito",
    "Intervals": "hierarchy",
    "KmAnonymity": "transactions",
    "Loss": "loss",
    "MicroBatches": "micro_batches",
    "Mondrian": "mondrian",
    "Ola": "ola",
    "Periods": "hierarchy",
    "Prefixes": "hierarchy",
    "Samarati": "samarati",
    "ZAnonymity": "stream",
    "already_anonymous": "already",
    "as_written": "label_loss",
    "chance_of_k": "stream_chance",
    "least_support": "transactions",
    "loss_of": "loss",
    "measure": "recount",
    "project_rows": "already",
    "read_crowd": "quasi",
    "together": "already",
}

__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"tacita.anonymize.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'tacita.anonymize' has no attribute {name!r}")
