"""Measured tables: unbiased estimates of shares over some attributes, with their variance.

Privacy: none of its own; a measurement is as private as the release or the reports that it was made from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.tables.consistency import weighted_mean
from tacita.tables.simplex import to_distribution

__all__ = ["Measurement", "singles_of"]

Array = NDArray[np.float64]

_LEAST = 1e-4  # share of all levels together that no noise takes away


@dataclass(frozen=True, kw_only=True, eq=False)
class Measurement:
    """Measured shares over some attributes.

    Attributes:
        attributes: Of the table.
        values: The unbiased estimate; cells may be negative.
        variance: Of each cell, or one number for all of them.
        variance_at: The variance that the estimate would have if some other table were the truth, where noise depends
            on it: with it a fit is weighted by the variance of what it found, not by that of the noise.
    """

    attributes: tuple[str, ...]
    values: Array
    variance: Array | float
    variance_at: Callable[[Array], Array] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.values.ndim != len(self.attributes):
            raise InvalidInput("must have an axis for each attribute", field="values", value=self.values.shape)
        if np.shape(self.variance) not in ((), self.values.shape) or not (np.asarray(self.variance) > 0).all():
            raise InvalidInput("must be positive, one for each cell or one for all", field="variance")

    def margin(self, name: str) -> tuple[Array, float]:
        """The measured shares of one attribute, and the mean variance of one of them."""
        axis = self.attributes.index(name)
        others = tuple(other for other in range(self.values.ndim) if other != axis)
        summed = self.values.size // self.values.shape[axis]
        return self.values.sum(axis=others), summed * float(np.mean(self.variance))

    def reweighted(self, table: Array) -> Measurement:
        """The same estimate with the variance that it has if this table is the truth, where that is known."""
        return self if self.variance_at is None else replace(self, variance=self.variance_at(table))


def singles_of(domain: Domain, measurements: Sequence[Measurement]) -> dict[str, Array]:
    """Each attribute's own table: averaged over all tables that hold it, weighted by precision, and projected.

    Every level keeps a small share, so that a level that noise pushed to 0 can come back.
    """
    found = {}
    for name in domain.names:
        size = domain[name].size
        margins = [each.margin(name) for each in measurements if name in each.attributes]
        mean = weighted_mean(*zip(*margins, strict=True))[0] if margins else np.ones(size)
        shares = np.maximum(to_distribution(mean), _LEAST / size)
        found[name] = shares / shares.sum()
    return found
