"""Methods that several packages share: each a recipe that is calibrated, then run."""

from tacita.plans.additive import CalibratedTables, NoisyTables
from tacita.plans.recipe import Answer, Calibrated, CalibratedPlan, Plan, Prediction, Recipe

__all__ = ["Answer", "Calibrated", "CalibratedPlan", "CalibratedTables", "NoisyTables", "Plan", "Prediction", "Recipe"]
