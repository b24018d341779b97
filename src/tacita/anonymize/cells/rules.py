"""Rules that make a cell sensitive, each with the protection that such a cell needs.

A cell has contributors: persons where the schema names a person's key, otherwise rows. With x_1 >= x_2 >= ... the
contributions to a cell, X its value and f the number of contributors, a cell is sensitive if

    minimum frequency m    f < m
    dominance (n, k)       x_1 + ... + x_n  >  k/100 X
    p% rule                X - x_1 - x_2    <  p/100 x_1

With sample weights a contributor of weight w stands for w contributors of the same size, f counts contributors of the
sample, and X is the weighted value. An attacker's interval [low, high] for the value of a sensitive cell has to satisfy

    X - low >= lower      high - X >= upper      high - low >= width

    minimum frequency      upper (m - f) u, width m u in a table of counts, u = X/f the mean weight;
                           lower = upper = margin % of X in a table of sums
    dominance              lower = upper = 100/k (x_1 + ... + x_n) - X
    p% rule                lower = upper = p/100 x_1 - (X - x_1 - x_2)

The levels of the last two are those at which the second largest contributor, who knows x_2, can no longer estimate x_1
to within the rule [Hundepool et al. 2012, section 4.2.2].   [Fischetti, Salazar 2001]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from tacita import check
from tacita.anonymize.parameters import described
from tacita.errors import InvalidInput

__all__ = ["Contents", "Dominance", "MinimumFrequency", "PPercent", "Protection", "Rule", "requirement"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


class Contents(Protocol):
    """Cells as rules see them."""

    @property
    def values(self) -> Floats:
        """Value of each cell."""

    @property
    def contributors(self) -> Floats:
        """Number of contributors of each cell."""

    @property
    def empty(self) -> Mask:
        """Whether no row is in a cell."""

    @property
    def counts(self) -> bool:
        """Whether values are counts of rows, weighted or not; else sums."""

    @property
    def typical(self) -> float:
        """Mean contribution over the whole table."""

    def largest(self, n: int) -> Floats:
        """Sum of the n largest contributions to each cell."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Protection:
    """Sensitive cells and the protection that each needs.

    Attributes:
        sensitive: Whether a cell is sensitive.
        lower, upper: How far below and above its value an attacker's interval has to reach.
        width: How wide the interval has to be.
    """

    sensitive: Mask
    lower: Floats
    upper: Floats
    width: Floats


class Rule(Protocol):
    """A rule of the registry: a frozen dataclass with described parameters.

    `name` is its key on every surface; `sums_only` says that it needs a table of sums.
    """

    name: ClassVar[str]
    sums_only: ClassVar[bool]

    @property
    def words(self) -> str:
        """The rule, for people."""

    def apply(self, contents: Contents) -> Protection:
        """Find sensitive cells; an empty cell is never sensitive here."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""


@dataclass(frozen=True, kw_only=True)
class MinimumFrequency:
    """A cell needs at least m contributors."""

    name: ClassVar[str] = "minimum"
    sums_only: ClassVar[bool] = False

    minimum: int = field(metadata=described("Least number of contributors of a cell that is published.", ge=1))
    margin: float = field(
        default=10.0,
        metadata=described("For sums: protection of a cell below the minimum, in percent of its value.", gt=0, le=100),
    )

    def __post_init__(self) -> None:
        check.whole(self.minimum, "minimum", least=1)
        _percent(self.margin, "margin")

    @property
    def words(self) -> str:
        """The rule, for people."""
        return f"fewer than {self.minimum} contributors"

    def apply(self, contents: Contents) -> Protection:
        """Find cells with too few contributors."""
        f, values = contents.contributors, contents.values
        sensitive = ~contents.empty & (f < self.minimum)
        return _where(sensitive, *self._levels(f, values, contents))

    def protect_empty(self, contents: Contents) -> Protection:
        """Protect empty cells like others below the minimum, where zeros are sensitive."""
        f = contents.contributors
        return _where(contents.empty, *self._levels(f, contents.values, contents))

    def _levels(self, f: Floats, values: Floats, contents: Contents) -> tuple[Floats, Floats, Floats]:
        if contents.counts:
            unit = np.where(f > 0, values / np.maximum(f, 1), contents.typical)
            return np.zeros_like(f), np.maximum(self.minimum - f, 0) * unit, self.minimum * unit
        reach = self.margin / 100 * np.where(values > 0, values, contents.typical)
        return reach, reach, np.zeros_like(f)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"minimum": self.minimum, "margin": self.margin}


def _pair(text: str) -> tuple[int, float]:
    parts = text.split(",")
    try:
        n, k = int(parts[0]), float(parts[1])
    except (ValueError, IndexError):
        n = k = 0
    if len(parts) != 2 or n < 1:
        raise InvalidInput("must be two numbers n,k", field="dominance", value=text, hint="For instance 1,75")
    return n, k


@dataclass(frozen=True, kw_only=True)
class Dominance:
    """The n largest contributors must not have more than k percent of a cell."""

    name: ClassVar[str] = "dominance"
    sums_only: ClassVar[bool] = True

    dominance: tuple[int, float] = field(
        metadata=described(
            "For sums: the n largest contributors may have at most k percent of a cell.", parse=_pair, form="n,k"
        )
    )

    def __post_init__(self) -> None:
        if len(self.dominance) != 2:
            raise InvalidInput("must be two numbers n,k", field="dominance", value=self.dominance)
        n, k = self.dominance
        check.whole(n, "dominance", least=1)
        check.inside(k, "dominance", 0, 100)

    @property
    def words(self) -> str:
        """The rule, for people."""
        n, k = self.dominance
        return f"{n} largest with more than {k:g} %" if n > 1 else f"largest with more than {k:g} %"

    def apply(self, contents: Contents) -> Protection:
        """Find cells that few contributors dominate."""
        n, k = self.dominance
        missing = 100 / k * contents.largest(n) - contents.values
        sensitive = missing > 1e-12 * contents.values
        return _where(sensitive, missing, missing, np.zeros_like(missing))

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"dominance": list(self.dominance)}


@dataclass(frozen=True, kw_only=True)
class PPercent:
    """The second largest contributor must not be able to estimate the largest to within p percent."""

    name: ClassVar[str] = "p"
    sums_only: ClassVar[bool] = True

    p: float = field(
        metadata=described(
            "For sums: no contributor can estimate another to within p percent from a published cell.", gt=0, le=100
        )
    )

    def __post_init__(self) -> None:
        _percent(self.p, "p")

    @property
    def words(self) -> str:
        """The rule, for people."""
        return f"largest can be estimated to within {self.p:g} %"

    def apply(self, contents: Contents) -> Protection:
        """Find cells whose largest contribution can be estimated."""
        one = contents.largest(1)
        missing = self.p / 100 * one - (contents.values - contents.largest(2))
        sensitive = missing > 1e-12 * contents.values
        return _where(sensitive, missing, missing, np.zeros_like(missing))

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"p": self.p}


def requirement(found: Sequence[Protection], values: Floats, floor: Floats) -> Protection:
    """Return the protection that meets several rules.

    An interval cannot reach below what an attacker knows already, so no lower level asks for that.

    Args:
        found: Result of each rule.
        values: Value of each cell.
        floor: Least value that an attacker holds possible for each cell.
    """
    lower, upper, width = (
        np.max([getattr(each, name) for each in found], axis=0, initial=0.0) for name in ("lower", "upper", "width")
    )
    return Protection(
        sensitive=np.any([each.sensitive for each in found], axis=0),
        lower=np.minimum(lower, np.maximum(values - floor, 0.0)),
        upper=upper,
        width=width,
    )


def _where(sensitive: Mask, lower: Floats, upper: Floats, width: Floats) -> Protection:
    low, high, wide = (np.where(sensitive, np.maximum(each, 0.0), 0.0) for each in (lower, upper, width))
    return Protection(sensitive=sensitive, lower=low, upper=high, width=wide)


def _percent(value: float, name: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 100:
        raise InvalidInput("must be above 0 and at most 100", field=name, value=value)
