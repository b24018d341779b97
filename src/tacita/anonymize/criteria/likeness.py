"""Basic beta-likeness [Cao, Karras 2012]: no value is much more frequent in a class than in the whole table.

    (share in a class - share in the table) / share in the table <= beta        for every value

A bound on the relative gain protects rare values, which an absolute distance such as t hardly sees.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from tacita.anonymize.criteria.criterion import Classes, Criterion, Floats, Sensitive
from tacita.anonymize.parameters import described
from tacita.errors import InvalidInput

__all__ = ["BetaLikeness"]


@dataclass(frozen=True, kw_only=True)
class BetaLikeness(Criterion):
    """A relative gain of at most beta for every sensitive value."""

    name: ClassVar[str] = "beta"
    title: ClassVar[str] = "beta-likeness"
    measured: ClassVar[str] = "largest relative gain of a value"
    monotone: ClassVar[bool] = True

    beta: float | None = field(
        default=None,
        metadata=described("Beta-likeness: largest relative gain of a sensitive value's share in a class.", gt=0),
    )

    def __post_init__(self) -> None:
        if self.beta is not None and not 0 < self.beta < math.inf:
            raise InvalidInput("must be positive and finite", field="beta", value=self.beta)

    @property
    def words(self) -> str:
        """Clause on the request, for people who know no statistics."""
        return f"the share of no sensitive value is more than {self.beta:g} times larger than among all (beta)"

    def measure(self, classes: Classes) -> Floats:
        """The largest relative gain of a value, in each class."""
        known = classes.of.whole > 0
        gains = classes.shares[:, known] / classes.of.shares[known] - 1
        return np.asarray(gains.max(axis=1, initial=-1.0), np.float64)

    def shares(self, attribute: Sensitive) -> tuple[Floats, Floats]:
        """At most 1 + beta times the share in the whole table."""
        return np.zeros(len(attribute.whole)), (1 + (self.beta or 0.0)) * attribute.shares
