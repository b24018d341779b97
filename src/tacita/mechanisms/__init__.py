"""Methods that several verbs share: each a recipe that is calibrated, then run."""

from tacita.mechanisms.additive import CalibratedTables, NoisyTables
from tacita.mechanisms.recipe import Answer, Calibrated, Plan, Prediction, Recipe

__all__ = ["Answer", "Calibrated", "CalibratedTables", "NoisyTables", "Plan", "Prediction", "Recipe"]
