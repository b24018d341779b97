"""delta-disclosure privacy [Brickell, Shmatikov 2008]: a class changes no one's belief in a value by much.

    |log(share in a class / share in the table)| <= delta        for every value of the table

So every value of the table occurs in every class.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from tacita.anonymize.criteria.criterion import Classes, Criterion, Floats, Sensitive
from tacita.anonymize.parameters import described
from tacita.errors import InvalidInput

__all__ = ["DeltaDisclosure"]


@dataclass(frozen=True, kw_only=True)
class DeltaDisclosure(Criterion):
    """A log ratio of at most `disclosure` for every sensitive value."""

    name: ClassVar[str] = "disclosure"
    title: ClassVar[str] = "delta-disclosure privacy"
    measured: ClassVar[str] = "largest log ratio of a value"
    monotone: ClassVar[bool] = True

    disclosure: float | None = field(
        default=None,
        metadata=described("Delta-disclosure: largest log ratio of a value's share in a class and in all rows.", gt=0),
    )

    def __post_init__(self) -> None:
        if self.disclosure is not None and not 0 < self.disclosure < math.inf:
            raise InvalidInput("must be positive and finite", field="disclosure", value=self.disclosure)

    @property
    def words(self) -> str:
        """Clause on the request, for people who know no statistics."""
        most = math.exp(self.disclosure or 0.0)
        return f"the share of each sensitive value is at most {most:.3g} times larger or smaller than among all"

    def measure(self, classes: Classes) -> Floats:
        """The largest log ratio of a value, in each class; infinite where a value is absent."""
        known = classes.of.whole > 0
        ratios = classes.shares[:, known] / classes.of.shares[known]
        logs = np.abs(np.log(ratios, out=np.full_like(ratios, -np.inf), where=ratios > 0))
        return np.asarray(logs.max(axis=1, initial=0.0), np.float64)

    def shares(self, attribute: Sensitive) -> tuple[Floats, Floats]:
        """Shares within a factor of exp(delta) of those in the whole table."""
        most = math.exp(self.disclosure or 0.0)
        return attribute.shares / most, attribute.shares * most
