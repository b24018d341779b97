"""Models under a privacy budget: a model is released, not data. Names load when they are first used."""

from __future__ import annotations

from typing import Any

from tacita.common.lazy import load_name

_HOMES = {
    "Bayes": "bayes",
    "FittedBayes": "bayes",
    "FittedModel": "fitted",
    "FittedNetwork": "neural.fitted_network",
    "FittedTrees": "trees.fitted_trees",
    "NarrowedRegression": "regression.narrowing",
    "NeuralNetwork": "neural.network",
    "Regression": "regression.regression",
    "Trees": "trees.trees",
    "TunedRegression": "regression.tuning",
    "choose_kind": "models",
    "fit_on_release": "on_release",
    "read_model": "models",
    "recipe_of": "models",
    "summarise": "summary",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    return load_name(__name__, _HOMES, name)


def __dir__() -> list[str]:
    return sorted(_HOMES)
