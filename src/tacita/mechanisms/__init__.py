"""Methods that several verbs share: each a recipe that is calibrated, then run."""

from tacita.mechanisms.additive import CalibratedTables, NoisyTables
from tacita.mechanisms.recipe import Calibrated, Prediction, Recipe

__all__ = ["Calibrated", "CalibratedTables", "NoisyTables", "Prediction", "Recipe"]
