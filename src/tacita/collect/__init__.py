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
    "plan_mixed": "mixed",
    "Tally": "tally",
    "respond": "tally",
    "model": "publish",
    "published": "findings",
    "consistent": "consistency",
    "complete": "consistency",
    "complete_min_norm": "consistency",
    "pair_views": "views",
    "covering_views": "views",
    "packed_views": "views",
    "choose_views": "calm",
    "pool": "pooling",
    "pooled_mle": "pooling",
    "FourierDesign": "fourier",
    "FourierTally": "fourier",
    "wald_test": "independence",
    "monte_carlo_test": "independence",
    "find_rules": "rules",
    "learn_network": "learn_network",
    "learn_structure": "learn_network",
    "StopRule": "stopping",
    "respondents_needed": "stopping",
    "amplified": "shuffle",
    "repeated_loss": "repeated",
    "influence": "poisoning",
    "excess_support": "poisoning",
    "Campaign": "campaigns",
    "Campaigns": "campaigns",
    "Rounds": "campaigns",
    "Terms": "campaigns",
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
    "Ask": "question",
    "buy_token": "blind",
    "Device": "client",
    "Offer": "client",
    "Receipt": "client",
    "SheetOffer": "client",
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
