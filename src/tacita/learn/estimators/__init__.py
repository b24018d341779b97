"""Models with the conventions of scikit-learn: fit, predict, get_params, set_params."""

from tacita.learn.estimators.base import PrivateBase
from tacita.learn.estimators.classifiers import PrivateClassifier, PrivateLogisticRegression, PrivateTreeClassifier
from tacita.learn.estimators.regressors import PrivateLinearRegression, PrivateRegressor

__all__ = [
    "PrivateBase",
    "PrivateClassifier",
    "PrivateLinearRegression",
    "PrivateLogisticRegression",
    "PrivateRegressor",
    "PrivateTreeClassifier",
]
