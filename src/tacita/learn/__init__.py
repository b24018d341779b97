"""Models under a privacy budget: what leaves is a model, not data. Names load when they are first used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "Bayes": "bayes",
    "FittedBayes": "bayes",
    "FittedModel": "fitted",
    "FittedNetwork": "fitted_network",
    "FittedTrees": "fitted_trees",
    "NarrowedRegression": "narrowing",
    "Network": "network",
    "Regression": "regression",
    "Trees": "trees",
    "TunedRegression": "tuning",
    "fit_on_release": "on_release",
    "read_model": "models",
    "recipe_of": "models",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(_HOMES)
