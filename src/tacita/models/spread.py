"""Numbers inside the bins of a model: which part of a bin is how likely, from released counts of finer parts.

Privacy: post-processing of released counts.   Claim: docs/claims/fine-numbers.md
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.domain import Binned, Date, Domain
from tacita.errors import InvalidInput

__all__ = ["Spread"]

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Shares of the fine parts of a number; within a part, values are equally likely.

    Attributes:
        attribute: Name of the number or date.
        starts: Lower edge of each part on the number line; starts of bins are among them.
        shares: Of each part.
    """

    attribute: str
    starts: tuple[float, ...] = field(repr=False)
    shares: tuple[float, ...] = field(repr=False)

    def __post_init__(self) -> None:
        numbers = (*self.starts, *self.shares)
        good = len(self.starts) == len(self.shares) > 0 and all(map(math.isfinite, numbers)) and min(self.shares) >= 0
        if not good or any(a >= b for a, b in zip(self.starts[:-1], self.starts[1:], strict=True)):
            raise InvalidInput("must be rising starts with a share for each", field=f"numbers.{self.attribute}")

    @classmethod
    def of(cls, attribute: str, edges: Array, shares: Array) -> Spread:
        """Return the spread over parts between these edges; neighbours of equal density become one part."""
        density = shares / np.diff(edges)
        new = np.append(True, np.abs(np.diff(density)) > 1e-9 * density[1:])
        first = np.flatnonzero(new)
        merged = np.add.reduceat(shares, first)
        return cls(attribute=attribute, starts=tuple(edges[first].tolist()), shares=tuple(merged.tolist()))

    def check(self, domain: Domain) -> Spread:
        """Return this spread, if it is one of a number or date of the domain."""
        attribute = domain[self.attribute]
        if not isinstance(attribute, Binned):
            raise InvalidInput("must be a number or a date", field=f"numbers.{self.attribute}")
        low, high = attribute.line_bounds
        if self.starts[0] != low or self.starts[-1] > high:
            raise InvalidInput("must start at the lower bound and end before the upper one", field="numbers")
        return self

    def place(self, attribute: Binned, codes: NDArray[Any], uniforms: Array) -> Array:
        """Turn draws from 0 to 1 into places inside bins, from 0 for the start of a bin to 1 for its end.

        Args:
            attribute: With the bins of the model.
            codes: Bin of each row; buckets keep their draws.
            uniforms: One draw for each row.
        """
        whole = isinstance(attribute, Date) or attribute.integer
        end = attribute.line_bounds[1] + whole
        first = np.asarray(attribute.starts)
        last = np.append(first[1:], end)
        edges, shares = self._cut(first, end)
        upto = np.append(0.0, np.cumsum(shares))
        at = np.searchsorted(edges, np.append(first, end))
        bins = np.minimum(codes, len(first) - 1).astype(np.int64)
        base, mass = upto[at[bins]], upto[at[bins + 1]] - upto[at[bins]]
        part = np.searchsorted(upto, base + uniforms * mass, side="right") - 1
        part = np.clip(part, at[bins], at[bins + 1] - 1)
        inside = (base + uniforms * mass - upto[part]) / np.maximum(shares[part], 1e-300)
        point = edges[part] + np.clip(inside, 0.0, 1.0) * (edges[part + 1] - edges[part])
        places = np.clip((point - first[bins]) / (last[bins] - first[bins]), 0.0, np.nextafter(1.0, 0.0))
        return np.where((codes < len(first)) & (mass > 0), places, uniforms)

    def _cut(self, bins: Array, end: float) -> tuple[Array, Array]:
        """Edges of the parts, cut where bins start, and the share of each."""
        parts = np.append(np.asarray(self.starts), end)
        edges = np.unique(np.concatenate([parts, bins]))
        of = np.searchsorted(parts, edges[:-1], side="right") - 1
        return edges, np.asarray(self.shares)[of] * np.diff(edges) / np.diff(parts)[of]

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"attribute": self.attribute, "starts": list(self.starts), "shares": list(self.shares)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Spread:
        """Read the output of `as_dict`."""
        starts, shares = (tuple(float(each) for each in data[name]) for name in ("starts", "shares"))
        return cls(attribute=str(data["attribute"]), starts=starts, shares=shares)
