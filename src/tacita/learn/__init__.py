"""Models under a privacy budget: what leaves is a model, not data."""

from tacita.learn.bayes import Bayes, FittedBayes
from tacita.learn.fitted import FittedModel
from tacita.learn.fitted_trees import FittedTrees
from tacita.learn.regression import Regression
from tacita.learn.trees import Trees
from tacita.learn.tuning import TunedRegression

__all__ = ["Bayes", "FittedBayes", "FittedModel", "FittedTrees", "Regression", "Trees", "TunedRegression"]
