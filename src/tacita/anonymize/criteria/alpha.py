"""(alpha, k)-anonymity [Wong et al. 2006]: no sensitive value has a large share of a class."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from tacita.anonymize.criteria.criterion import Classes, Criterion, Floats, Ints, Sensitive
from tacita.anonymize.parameters import described
from tacita.errors import InvalidInput

__all__ = ["AlphaAnonymity", "alpha_of"]


@dataclass(frozen=True, kw_only=True)
class AlphaAnonymity(Criterion):
    """A share of at most alpha for every sensitive value."""

    name: ClassVar[str] = "alpha"
    title: ClassVar[str] = "(alpha, k)-anonymity"
    measured: ClassVar[str] = "largest share of a value"
    always: ClassVar[bool] = True
    is_share: ClassVar[bool] = True
    monotone: ClassVar[bool] = True

    alpha: float | None = field(
        default=None, metadata=described("Largest share of one sensitive value in a class.", gt=0, le=1)
    )

    def __post_init__(self) -> None:
        if self.alpha is not None and not 0 < self.alpha <= 1:
            raise InvalidInput("must lie above 0 and not above 1", field="alpha", value=self.alpha)

    @property
    def words(self) -> str:
        """Clause on the request, for people who know no statistics."""
        return f"no sensitive value has more than {self.alpha:.0%} of a group (alpha)"

    def measure(self, classes: Classes) -> Floats:
        """The largest share of a value, in each class."""
        return _largest(classes.values)

    def shares(self, attribute: Sensitive) -> tuple[Floats, Floats]:
        """At most alpha of each value."""
        return np.zeros(len(attribute.whole)), np.full(len(attribute.whole), self.alpha, np.float64)


def _largest(counts: Ints) -> Floats:
    return np.asarray(counts.max(axis=1) / np.maximum(counts.sum(axis=1), 1), np.float64)


def alpha_of(counts: Ints) -> float:
    """The largest share of a value in a class."""
    return float(_largest(counts).max()) if len(counts) else 0.0
