"""Rows by multiple imputation: fully or partially synthetic, useful, and without any guarantee."""

from tacita.synthesize.imputation.linear import Linear
from tacita.synthesize.imputation.masks import Replace
from tacita.synthesize.imputation.network import NeuralNetwork
from tacita.synthesize.imputation.recipe import ImputationPlan, Impute
from tacita.synthesize.imputation.result import Imputed
from tacita.synthesize.imputation.trees import Cart, Forest
from tacita.tables.combining import Combined, combine_full, combine_partial

__all__ = [
    "Cart",
    "Combined",
    "Forest",
    "ImputationPlan",
    "Impute",
    "Imputed",
    "Linear",
    "NeuralNetwork",
    "Replace",
    "combine_full",
    "combine_partial",
]
