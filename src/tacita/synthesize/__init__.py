"""Synthetic rows that keep the statistics of the data, differentially private: fit models to noisy tables, draw rows.

Every method is a recipe that is calibrated, charged and run. The result is a `Synthesized`: a model, its cost, and any
number of rows.
"""

from typing import Any

from tacita.common.lazy import load_name

_HOMES = {
    "Adaptive": "select",
    "ConditionalGan": "gan.conditional",
    "GraphWalk": "mobility.walk",
    "HeadlineGenerator": "text.released",
    "HeadlineRecipe": "text.recipe",
    "Headlines": "text.corpus",
    "Impute": "imputation",
    "Imputed": "imputation",
    "Independent": "marginals",
    "Pairs": "marginals",
    "PateGan": "gan.pate_gan",
    "PrivBayes": "privbayes",
    "Related": "relational.related",
    "Relational": "relational.relational",
    "Ruled": "ruled",
    "Rules": "rules",
    "SpanningTree": "select",
    "Synthesize": "auto",
    "Synthesized": "result",
    "Synthesizer": "synthesizer",
    "SyntheticMobility": "mobility.result",
    "Targeted": "targeted",
    "Tours": "mobility.tours",
    "Wgan": "gan.wgan",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    return load_name(__name__, _HOMES, name)


def __dir__() -> list[str]:
    return sorted(_HOMES)
