"""delta-presence [Nergiz, Atzori, Clifton 2007]: no one is known to be in the data, nor known not to be.

Of the population with the labels of a class, a share between the two bounds is in the data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from tacita.anonymize.criteria.criterion import EXACT, TOLERANCE, Classes, Criterion, Floats, Sensitive
from tacita.anonymize.parameters import described
from tacita.errors import InvalidInput

__all__ = ["DeltaPresence", "parse_shares"]

Shares = tuple[float, float]


def parse_shares(text: str) -> Shares:
    """Read two shares, 0.05:0.5, or the largest alone."""
    low, between, high = text.partition(":")
    try:
        return (float(low), float(high)) if between else (0.0, float(low))
    except ValueError:
        raise InvalidInput("must be two shares, 0.05:0.5, or the largest", field="presence", value=text) from None


@dataclass(frozen=True, kw_only=True)
class DeltaPresence(Criterion):
    """A share of the population between two bounds."""

    name: ClassVar[str] = "presence"
    title: ClassVar[str] = "delta-presence"
    measured: ClassVar[str] = "share of a class's population that is in the data"
    about: ClassVar[Literal["people", "values", "population"]] = "population"
    is_share: ClassVar[bool] = True
    monotone: ClassVar[bool] = True

    presence: Shares | None = field(
        default=None,
        metadata=described(
            "Delta-presence: least and largest share of a class's population that is in the data.",
            form="0.05:0.5",
            parse=parse_shares,
        ),
    )

    def __post_init__(self) -> None:
        if self.presence is not None and not 0 <= self.presence[0] <= self.presence[1] <= 1:
            raise InvalidInput("must rise between 0 and 1", field="presence", value=self.presence)

    @property
    def ends(self) -> Shares:
        """Both bounds; all shares when nothing is asked."""
        return (0.0, 1.0) if self.presence is None else self.presence

    @property
    def words(self) -> str:
        """Clause on the request, for people who know no statistics."""
        low, high = self.ends
        return f"between {low:.0%} and {high:.0%} of the population of each group are in the data (presence)"

    @property
    def label(self) -> str:
        """Description of the figure, with its name."""
        return f"{self.name}: {self.measured}"

    def at_least_as_strict_as(self, other: Self) -> bool:
        """Whether all classes that meet this one meet the other: its bounds lie within."""
        return other.ends[0] <= self.ends[0] and self.ends[1] <= other.ends[1]

    def measure(self, classes: Classes) -> Floats:
        """The share of each class's population that is in the data."""
        return np.asarray(classes.rows / np.maximum(classes.population, 1), np.float64)

    def worst(self, figures: Floats) -> Shares:
        """The least and the largest share."""
        return float(figures.min()), float(figures.max())

    def holds(self, classes: Classes) -> NDArray[np.bool_]:
        """Whether each class meets it."""
        shares, (low, high) = self.measure(classes), self.ends
        return np.asarray((shares >= low - EXACT) & (shares <= high + EXACT))

    def met(self, found: Any) -> bool:
        """Whether the least and the largest share meet what is asked."""
        (low, high), (least, most) = self.ends, found
        return bool(least >= low - TOLERANCE and most <= high + TOLERANCE)

    def failure(self, found: Any, _attribute: str | None = None) -> str:
        """Sentence on shares that do not meet what is asked."""
        (low, high), (least, most) = self.ends, found
        return f"presence is {least:.4g} to {most:.4g} and should be {low:g} to {high:g}"

    def rules(self, _attributes: Sequence[Sensitive]) -> Mapping[str, Any]:
        """The rule of compiled code."""
        low, high = self.ends
        return {"presence_low": float(low), "presence_high": float(high)}
