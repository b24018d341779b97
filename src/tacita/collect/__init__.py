"""Collecting from people who trust nobody: channels, the device, what travels between them.

Names load when they are first used: a respondent's device imports `tacita.collect.client` and gets the
standard library only.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "Design": "design",
    "plan_collection": "plan",
    "Tally": "tally",
    "respond": "tally",
    "model": "publish",
    "consistent": "consistency",
    "complete": "consistency",
    "pair_views": "views",
    "covering_views": "views",
    "wald_test": "independence",
    "monte_carlo_test": "independence",
    "Campaigns": "campaign",
    "RandomizedResponse": "channel",
    "HadamardResponse": "hadamard",
    "LocalHashing": "hashing",
    "SubsetSelection": "subset",
    "SquareWave": "square_wave",
    "MatrixChannel": "matrix",
    "OptimalChannel": "geometric",
    "geometric_channel": "geometric",
    "hybrid_channel": "geometric",
    "optimal_channel": "geometric",
    "Fitted": "_em",
    "DuchiMean": "numeric",
    "HybridMean": "numeric",
    "MeanChannel": "numeric",
    "MeanEstimate": "numeric",
    "PiecewiseMean": "numeric",
    "UnaryEncoding": "unary",
    "Candidate": "oracles",
    "OracleChoice": "oracles",
    "best_oracle": "oracles",
    "choose_oracle": "oracles",
    "oracle_candidates": "oracles",
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
