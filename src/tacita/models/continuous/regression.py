"""Linear regression of each attribute on its parents: held-out error, collinearity, and independence over time.

    cross_validate   root mean squared error of held-out rows, by folds; coefficients of a fold come from the moments of
                     all rows less those of the fold, and its error from its own moments, so rows are read once
    vif              variance inflation: 1 / (1 - R^2) of each column on the others; never below 1
    ljung_box        whether the first autocorrelations of a series are 0 together

Privacy: none; figures from exact rows are as sensitive as they are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacita import check
from tacita.common.extras import load_module
from tacita.errors import InvalidInput
from tacita.models.continuous.moments import Array, Line, Moments, matrix_of

__all__ = ["HeldOut", "cross_validate", "fold_moments", "ljung_box", "residuals", "vif"]


@dataclass(frozen=True, kw_only=True)
class HeldOut:
    """Error of the regression of a column on its parents.

    Attributes:
        rmse: Root of the mean squared error over all held-out rows.
        std: Standard deviation of the errors of the folds.
        within: The same error on the rows that the line was fitted to.
        deviation: Standard deviation of the column, which is the error without parents.
    """

    child: str
    parents: tuple[str, ...]
    rmse: float
    std: float
    within: float
    deviation: float

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "child": self.child,
            "parents": list(self.parents),
            "rmse": self.rmse,
            "std": self.std,
            "within": self.within,
            "deviation": self.deviation,
        }


def fold_moments(columns: Mapping[str, Any], folds: int, rng: np.random.Generator) -> list[Moments]:
    """Return the moments of each of some random parts of the rows, of equal size up to one row."""
    check.whole(folds, "folds", least=2)
    values = matrix_of(columns)
    if len(values) < folds:
        raise InvalidInput("must have a row for each fold", field="folds", value=folds)
    owner = rng.permutation(len(values)) % folds
    names = list(columns)
    return [Moments.of(dict(zip(names, values[owner == fold].T, strict=True))) for fold in range(folds)]


def cross_validate(folds: Sequence[Moments], child: str, parents: Sequence[str]) -> HeldOut:
    """Return the held-out error of the regression of a column on others, from the moments of the folds."""
    whole = Moments.merge(folds)
    errors = np.array([_squared(part, child, whole.without(part).line(child, parents)) for part in folds])
    sizes = np.array([part.count for part in folds])
    return HeldOut(
        child=child,
        parents=tuple(parents),
        rmse=math.sqrt(float(errors @ sizes / sizes.sum())),
        std=float(np.sqrt(errors).std(ddof=1)),
        within=math.sqrt(whole.residual_variance(child, parents)),
        deviation=math.sqrt(whole.residual_variance(child, ())),
    )


def _squared(part: Moments, child: str, line: Line) -> float:
    """Mean squared error of a line on the rows of some moments."""
    weights = np.zeros(len(part.names))
    weights[part.place(child)] = 1.0
    for name, each in line.coefficients.items():
        weights[part.place(name)] = -each
    return float(weights @ part.covariance @ weights + (weights @ part.mean - line.intercept) ** 2)


def vif(moments: Moments, columns: Sequence[str]) -> dict[str, float]:
    """Return the variance inflation factor of each column among some.

    >>> rng = np.random.default_rng(0)
    >>> found = vif(Moments.of({"a": rng.normal(size=9), "b": rng.normal(size=9)}), ["a", "b"])
    >>> min(found.values()) >= 1
    True
    """
    inverse = np.linalg.inv(moments.select(columns).correlation)
    return {name: float(max(value, 1.0)) for name, value in zip(columns, np.diag(inverse), strict=True)}


def residuals(columns: Mapping[str, Any], child: str, line: Line) -> Array:
    """Return the residuals of a line, row by row."""
    fitted = np.full(len(np.asarray(columns[child])), line.intercept)
    for name, weight in line.coefficients.items():
        fitted += weight * np.asarray(columns[name], float)
    return np.asarray(np.asarray(columns[child], float) - fitted)


def ljung_box(values: Any, lags: int = 20) -> tuple[float, float]:
    """Return the statistic and the p-value of the Ljung-Box test; the p-value of a constant series is 0.

    A constant series has no autocorrelation, so the test says nothing; it is counted as dependent.
    """
    check.whole(lags, "lags", least=1)
    series = np.asarray(values, float)
    if len(series) <= lags:
        raise InvalidInput(f"must have more than {lags} values", field="series", value=len(series))
    if np.ptp(series) == 0:
        return math.inf, 0.0
    module = load_module("statsmodels.stats.diagnostic", extra="causal", what="The Ljung-Box test")
    found = module.acorr_ljungbox(series, lags=[lags])
    return float(found["lb_stat"].iloc[0]), float(found["lb_pvalue"].iloc[0])
