"""Number of rows, means and covariance: all that linear regressions, Gaussian scores and Gaussian networks need.

Read rows once; then every regression is a small system of equations, whatever the number of rows:

    y on X    b = S_XX^-1 S_Xy,    residual variance  s^2 = S_yy - S_yX b,    intercept  m_y - b' m_X

Privacy: none; exact moments have no JSON form and their representation shows no number. `noisy_moments` has those that
may be released.
Cost: O(n d^2) once; O(k^3) for each regression on k columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.errors import InvalidInput, UnknownName

__all__ = ["Array", "Line", "Moments"]

Array = NDArray[np.float64]
_SINGULAR = 1e-10  # of a unit variance: below, a column is a linear function of others as far as floats can show


@dataclass(frozen=True, kw_only=True, eq=False)
class Line:
    """Regression of one column on others, by least squares.

    Attributes:
        intercept, coefficients: Of the line; coefficients by column.
        variance: Mean squared residual.
    """

    intercept: float
    coefficients: Mapping[str, float]
    variance: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Moments:
    """Number of rows, means and covariance of some columns. Sensitive where they are exact.

    Args:
        names: The columns.
        count: Number of rows.
        mean: Of each column.
        covariance: Of the columns, divided by the number of rows.
    """

    names: tuple[str, ...]
    count: float = field(repr=False)
    mean: Array = field(repr=False)
    covariance: Array = field(repr=False)

    def __post_init__(self) -> None:
        d = len(self.names)
        if not d or len(set(self.names)) != d:
            raise InvalidInput("must be distinct columns, at least one", field="columns", value=list(self.names))
        if self.mean.shape != (d,) or self.covariance.shape != (d, d):
            raise InvalidInput("must have a mean and a row of the covariance for each column", field="moments")

    @classmethod
    def of(cls, columns: Mapping[str, Any]) -> Moments:
        """Compute the moments of columns of numbers, without missing values.

        >>> Moments.of({"x": [0.0, 2.0], "y": [1.0, 3.0]})
        Moments(names=('x', 'y'))
        """
        values = matrix_of(columns)
        if not len(values):
            raise InvalidInput("must have at least one row", field="rows", value=0)
        mean = values.mean(axis=0)
        centred = values - mean
        covariance = centred.T @ centred / len(values)
        return cls(names=tuple(columns), count=float(len(values)), mean=mean, covariance=covariance)

    @classmethod
    def merge(cls, parts: Iterable[Moments]) -> Moments:
        """Return the moments of the rows of several parts together.  [Chan, Golub, LeVeque 1983]"""
        several = list(parts)
        if not several or any(part.names != several[0].names for part in several):
            raise InvalidInput("must have the same columns, at least one part", field="parts")
        counts = np.array([part.count for part in several])
        means = np.array([part.mean for part in several])
        total = float(counts.sum())
        mean = counts @ means / total
        gaps = means - mean
        within = np.einsum("p,pij->ij", counts, np.array([part.covariance for part in several]))
        between = (gaps * counts[:, None]).T @ gaps
        return cls(names=several[0].names, count=total, mean=mean, covariance=(within + between) / total)

    def without(self, part: Moments) -> Moments:
        """Return the moments of the rows that are not in a part of them."""
        count = self.count - part.count
        if count <= 0:
            raise InvalidInput("must leave at least one row", field="part")
        mean = (self.count * self.mean - part.count * part.mean) / count
        gap = part.mean - mean
        scatter = self.count * self.covariance - part.count * part.covariance
        between = part.count * count / self.count * np.outer(gap, gap)
        return Moments(names=self.names, count=count, mean=mean, covariance=(scatter - between) / count)

    def select(self, names: Sequence[str]) -> Moments:
        """Return the moments of some of the columns."""
        at = self._at(names)
        return Moments(
            names=tuple(names), count=self.count, mean=self.mean[at], covariance=self.covariance[np.ix_(at, at)]
        )

    def check_regular(self) -> None:
        """Refuse columns that do not vary, and columns that are linear functions of others: their scores are infinite.

        For the owner: whether columns are so is a property of the data.
        """
        variances = np.diag(self.covariance)
        scale = np.maximum(np.abs(self.mean), 1e-300) ** 2
        for name, variance, size in zip(self.names, variances, scale, strict=True):
            if not variance > 1e-24 * size:
                hint = "Leave the column out"
                raise InvalidInput("must vary: all its values are equal", field=name, hint=hint)
        sd = np.sqrt(variances)
        values, vectors = np.linalg.eigh(self.covariance / np.outer(sd, sd))
        if values[0] < _SINGULAR:
            parts = [name for name, weight in zip(self.names, vectors[:, 0], strict=True) if abs(weight) > 1e-3]
            hint = "Leave one of them out"
            raise InvalidInput("must not be linear functions of each other", field="columns", value=parts, hint=hint)

    # -- regressions ----------------------------------------------------------------------------------------------

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: at for at, name in enumerate(self.names)}

    def place(self, name: str) -> int:
        """Return the place of a column."""
        found = self._places.get(name)
        if found is None:
            raise UnknownName(name, field="column", available=self.names)
        return found

    def _at(self, names: Sequence[str]) -> list[int]:
        return [self.place(name) for name in names]

    @cached_property
    def correlation(self) -> Array:
        """Correlations of the columns."""
        return np.asarray(self.covariance / np.outer(self._sd, self._sd))

    @cached_property
    def _sd(self) -> Array:
        return np.sqrt(np.diag(self.covariance))

    def residual_variance(self, child: str, parents: Sequence[str]) -> float:
        """Return the mean squared residual of the regression of a column on others."""
        at, above = self.place(child), self._at(parents)
        own = float(self.covariance[at, at])
        if not above:
            return own
        known = self.correlation  # equations of one scale are solved with fewer errors
        weights = np.linalg.solve(known[np.ix_(above, above)], known[above, at])
        return own * max(1.0 - float(weights @ known[above, at]), 1e-15)

    def weights(self, child: str, parents: Sequence[str]) -> Array:
        """Return the coefficients of the regression of a column on others, in their order."""
        at, above = self.place(child), self._at(parents)
        if not above:
            return np.zeros(0)
        known = self.correlation
        weights = np.linalg.solve(known[np.ix_(above, above)], known[above, at])
        return np.asarray(weights * self._sd[at] / self._sd[above])

    def line(self, child: str, parents: Sequence[str]) -> Line:
        """Return the regression of a column on others."""
        weights = self.weights(child, parents)
        intercept = float(self.mean[self.place(child)] - weights @ self.mean[self._at(parents)])
        coefficients = dict(zip(parents, weights.tolist(), strict=True))
        return Line(intercept=intercept, coefficients=coefficients, variance=self.residual_variance(child, parents))

    def partial_correlation(self, one: str, other: str, given: Sequence[str]) -> float:
        """Return the correlation of the residuals of two columns on others."""
        at = self._at((one, other, *given))
        precision = np.linalg.inv(self.correlation[np.ix_(at, at)])
        return float(-precision[0, 1] / np.sqrt(precision[0, 0] * precision[1, 1]))


def matrix_of(columns: Mapping[str, Any]) -> Array:
    """Return columns of finite numbers, of one length, as a matrix."""
    if not columns:
        raise InvalidInput("must be at least one", field="columns")
    parts = [np.asarray(column, np.float64) for column in columns.values()]
    if any(part.shape != parts[0].shape or part.ndim != 1 for part in parts):
        raise InvalidInput("must be of one length", field="columns", value=list(columns))
    values = np.stack(parts, axis=1)
    if not np.isfinite(values).all():
        hint = "Leave out rows with missing values first"
        raise InvalidInput("must be finite numbers", field="columns", hint=hint)
    return values
