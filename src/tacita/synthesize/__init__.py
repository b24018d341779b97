"""Made-up rows that tell about all and not about one: models fitted to private tables, and rows drawn from them.

Every method is a recipe that is calibrated, charged and run. What comes out is a `Synthesized`: a model, what it cost,
and as many rows as one likes.
"""

from typing import Any

from tacita.common.lazy import load_name

_HOMES = {
    "Adaptive": "select",
    "ConditionalGan": "gan.conditional",
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
    "Wgan": "gan.wgan",
    "fit_mixture": "estimate",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    return load_name(__name__, _HOMES, name)


def __dir__() -> list[str]:
    return sorted(_HOMES)
