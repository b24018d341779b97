"""Errors of the coefficients of a line: what they are about, and their covariance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacita.errors import InvalidInput
from tacita.learn.feature_map import Array

__all__ = ["CoefficientErrors"]

_LARGEST = 1e100


@dataclass(frozen=True, kw_only=True, eq=False)
class CoefficientErrors:
    """Intercept and coefficients, in this order, before they were stretched, and the covariance of their errors.

    Both are for features and target from -1 to 1.
    """

    centre: Array
    covariance: Array

    def check(self, terms: int) -> None:
        """Refuse what is no covariance of so many terms."""
        matrix = self.covariance
        good = self.centre.shape == (terms,) and matrix.shape == (terms, terms)
        good = good and bool((np.abs(matrix) <= _LARGEST).all() and (np.abs(self.centre) <= _LARGEST).all())
        if not good or not bool((matrix == matrix.T).all() and (np.diag(matrix) >= 0).all()):
            raise InvalidInput("must be a symmetric matrix, a line for each term", field="uncertainty")

    def scaled(self, factor: float) -> CoefficientErrors:
        """The errors of coefficients that are so many times as large."""
        return CoefficientErrors(centre=factor * self.centre, covariance=factor**2 * self.covariance)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"centre": self.centre.tolist(), "covariance": self.covariance.tolist()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> CoefficientErrors:
        """The errors that `as_dict` wrote."""
        return cls(centre=np.array(data["centre"], float), covariance=np.array(data["covariance"], float))
