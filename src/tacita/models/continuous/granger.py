"""Granger causality between the columns of a series, by F tests in vector autoregressions (VAR).

    VAR(p)         y_t = c + A_1 y_(t-1) + ... + A_p y_(t-p) + e_t, each equation by least squares
    order p        the one with the least AIC  ln |residual covariance| + 2 (coefficients) / rows, on the same rows
    x causes y     F test that all p coefficients of x in the equation of y are 0
                   conditional: in the VAR of all columns.   bivariate: in the VAR of x and y alone
    differencing   each column until an ADF test at a level finds no unit root; off on request

One QR decomposition of the lagged columns gives the residuals of every order; one inverse of the normal equations
gives all F statistics of an order. Both equal statsmodels' (tested), which fits each order and each pair again.

Privacy: none; figures from exact rows are as sensitive as they are.
Cost: O(T (K p)^2) for T times and K columns.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import f as fisher

from tacita import check
from tacita.common.extras import load_module
from tacita.errors import InvalidInput
from tacita.models.continuous.moments import Array

__all__ = ["Granger", "difference", "granger", "is_stationary", "var_order"]

_MOST_DIFFERENCES = 2
_SAME = 1e-12  # relative: below, a column does not vary


@dataclass(frozen=True, kw_only=True, eq=False)
class Granger:
    """Tests of one series.

    Attributes:
        names: The columns.
        p_values: From the row's column to the other; NaN on the diagonal, and where a column does not vary.
        order: Of the VAR; the largest one of all pairs where tests are bivariate.
        differences: How often each column was differenced.
        times: Number of times that the VAR was fitted to.
    """

    names: tuple[str, ...]
    p_values: Array = field(repr=False)
    order: int
    differences: tuple[int, ...]
    times: int

    def links(self, level: float = 0.1) -> Any:
        """Return the matrix of links: whether the row's column causes the other, at a level."""
        check.inside(level, "level", 0, 1)
        with np.errstate(invalid="ignore"):
            return self.p_values < level


def granger(
    names: Sequence[str],
    values: Array,
    *,
    most_lags: int = 5,
    conditional: bool = True,
    stationary: float | None = 0.05,
) -> Granger:
    """Test each ordered pair of columns of a series.

    Args:
        names: Of the columns.
        values: (times, columns), in the order of time.
        most_lags: Largest order of the VAR.
        conditional: Whether to test in the VAR of all columns, or in one of each pair.
        stationary: Level of the ADF tests; None to leave the columns as they are.
    """
    check.whole(most_lags, "most_lags", least=1, most=100)
    series = np.asarray(values, float)
    if series.ndim != 2 or series.shape[1] != len(names) or not np.isfinite(series).all():
        raise InvalidInput("must be finite numbers, a column for each name", field="values")
    times = tuple(0 for _ in names)
    if stationary is not None:
        times = tuple(difference(column, stationary) for column in series.T)
        most = max(times, default=0)
        parts = [np.diff(column, n=each)[most - each :] for column, each in zip(series.T, times, strict=True)]
        series = np.stack(parts, axis=1)
    varies = [at for at, column in enumerate(series.T) if np.std(column) > _SAME * max(1.0, np.abs(column).max())]
    p_values = np.full((len(names), len(names)), math.nan)
    order = 0
    groups = [varies] if conditional else [[a, b] for a in varies for b in varies if a < b]
    for group in groups:
        if len(group) < 2:
            continue
        part = series[:, group] - series[:, group].mean(axis=0)
        part = part / part.std(axis=0)
        lags = max(1, var_order(part, most_lags))
        p_values[np.ix_(group, group)] = _tests(part, lags)
        order = max(order, lags)
    np.fill_diagonal(p_values, math.nan)
    return Granger(names=tuple(names), p_values=p_values, order=order, differences=times, times=len(series))


def difference(column: Array, level: float = 0.05) -> int:
    """Return how often a column must be differenced until an ADF test finds no unit root; at most twice."""
    for times in range(_MOST_DIFFERENCES):
        if is_stationary(np.diff(column, n=times), level):
            return times
    return _MOST_DIFFERENCES


def is_stationary(column: Array, level: float = 0.05) -> bool:
    """Whether the augmented Dickey-Fuller test rejects a unit root; a constant column has none."""
    check.inside(level, "level", 0, 1)
    if np.ptp(column) == 0 or len(column) < 12:
        return True
    module = load_module("statsmodels.tsa.stattools", extra="causal", what="The ADF test")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the form of its result, by version
        found = module.adfuller(column, autolag="AIC")
    return float(found[1]) < level


def _lagged(series: Array, lags: int, start: int) -> Array:
    """A column of ones, then all columns one time before, two times before, and so on."""
    rows = len(series) - start
    return np.column_stack([np.ones(rows), *(series[start - lag : len(series) - lag] for lag in range(1, lags + 1))])


def var_order(series: Array, most: int) -> int:
    """Return the order with the least AIC, from 0 to a largest one that leaves more rows than coefficients."""
    times, columns = series.shape
    most = min(most, (times - columns - 1) // (1 + columns))
    if most < 1:
        raise InvalidInput("must have more times than coefficients", field="series", value=times)
    target = series[most:]
    # the first columns of Q span the regressors of each smaller order
    shares = np.linalg.qr(_lagged(series, most, most))[0].T @ target
    whole = target.T @ target
    best, least = 0, math.inf
    for order in range(most + 1):
        part = shares[: 1 + order * columns]
        sign, logdet = np.linalg.slogdet((whole - part.T @ part) / len(target))
        if sign <= 0:
            break
        aic = float(logdet) + 2 * columns * (1 + order * columns) / len(target)
        if aic < least:
            best, least = order, aic
    return best


def _tests(series: Array, lags: int) -> Array:
    """P-values of all ordered pairs in the VAR of this order."""
    columns = series.shape[1]
    x, y = _lagged(series, lags, lags), series[lags:]
    freedom = len(y) - x.shape[1]
    if freedom < 1:
        raise InvalidInput("must have more times than coefficients", field="series", value=len(series))
    inverse = np.linalg.pinv(x.T @ x, hermitian=True)
    weights = inverse @ (x.T @ y)
    variance = ((y - x @ weights) ** 2).sum(axis=0) / freedom
    found = np.zeros((columns, columns))
    for cause in range(columns):
        at = 1 + cause + columns * np.arange(lags)
        part = weights[at]
        statistic = (part * np.linalg.solve(inverse[np.ix_(at, at)], part)).sum(axis=0) / lags / variance
        found[cause] = fisher.sf(statistic, lags, freedom)
    return found
