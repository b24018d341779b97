"""One statistic of one column, and the error that it will have.

Privacy: none of its own; `aggregates` measures it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from tacita.errors import InvalidInput
from tacita.query.numbers import Bounds

__all__ = ["Aggregate", "Expected"]

_FINEST_Q = 10_000  # 0.9999 is the last quantile that can be distinguished from the end
_KINDS = ("count", "persons", "sum", "mean", "var", "std", "quantile")


@dataclass(frozen=True, kw_only=True)
class Aggregate:
    """One statistic of one column. `kind` may be spelled as NumPy does: nanmean, median and so on.

    `persons` is the number of distinct persons. The column may be one that the recipe computes.

    Quantiles of a column that have intervals are read off the same noisy counts. A quantile without interval is chosen
    with a share of the budget of its own.
    """

    kind: str
    column: str | None = None
    q: float | None = None
    bounds: Bounds | None = None
    name: str = ""
    interval: bool = True

    def __post_init__(self) -> None:
        kind, q = self.kind.lower().removeprefix("nan"), self.q
        if kind == "median":
            kind, q = "quantile", 0.5
        if kind not in _KINDS:
            raise InvalidInput("must be one of " + ", ".join((*_KINDS, "median")), field="statistic", value=self.kind)
        if (self.column is None) != (kind == "persons") and kind != "count":
            rule = "counts persons, and needs no column" if kind == "persons" else "needs a column"
            raise InvalidInput(rule, field="statistic", value=kind)
        if (q is None) == (kind == "quantile"):
            raise InvalidInput("a quantile needs q, and nothing else has one", field="q", value=self.q)
        if q is not None and not 0 < q < 1:
            raise InvalidInput("must lie strictly between 0 and 1", field="q", value=q)
        if self.bounds is not None:
            object.__setattr__(self, "bounds", (float(self.bounds[0]), float(self.bounds[1])))
        shown = f"{kind}({self.column or '*'}{f', {q:g}' if q is not None else ''})"
        for slot, value in (("kind", kind), ("q", q), ("name", self.name or shown)):
            object.__setattr__(self, slot, value)

    @property
    def ratio(self) -> Fraction:
        """The quantile as a ratio."""
        return Fraction(str(self.q)).limit_denominator(_FINEST_Q)

    def as_dict(self) -> dict[str, Any]:
        """Plain data, with what is not given left out."""
        bounds = None if self.bounds is None else list(self.bounds)
        parts = {"kind": self.kind, "column": self.column, "q": self.q, "bounds": bounds, "name": self.name}
        given = {name: part for name, part in parts.items() if part is not None}
        return given if self.interval else given | {"interval": False}


@dataclass(frozen=True, kw_only=True)
class Expected:
    """The error that a statistic will have, known before any data is read.

    `per` says what `std` still has to be divided by: nothing for counts and sums, the number of rows of the group for
    means and variances (where `std` is the largest that any data can have). For a quantile it is in ranks; one that
    has an interval has this error over few bins, and up to four times as much with very many rows. A standard
    deviation has no such number: its error grows without bound where there is no spread.
    """

    name: str
    std: float | None
    per: Literal["answer", "rows", "rank"]

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"name": self.name, "std": self.std, "per": self.per}
