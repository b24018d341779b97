"""A linear Gaussian Bayesian network: each number is linear in its parents, plus independent Gaussian noise.

    x_i = b_i0 + sum_j b_ij x_j + e_i,   e_i ~ N(0, s_i^2)      so x ~ N(m, (I - B)^-1 diag(s^2) (I - B)^-T)

Privacy: none of its own; it is as private as the moments that it was fitted to.
Cost: O(d) for each drawn row and parent; one inverse for joint moments and total effects.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from tacita.errors import InvalidInput, UnknownName
from tacita.models.continuous.moments import Array, Line, Moments
from tacita.models.network import topological_order

__all__ = ["GaussianNetwork"]

_MARK = "gaussian-network/1"


@dataclass(frozen=True, kw_only=True, eq=False)
class GaussianNetwork:
    """The regression of each attribute on its parents.

    Args:
        lines: By attribute; the columns of the coefficients are the parents. No cycles; positive variances.
    """

    lines: Mapping[str, Line] = field(repr=False)

    def __post_init__(self) -> None:
        if not self.lines:
            raise InvalidInput("must have at least one attribute", field="lines")
        object.__setattr__(self, "lines", MappingProxyType(dict(self.lines)))
        for name, line in self.lines.items():
            for above in line.coefficients:
                if above not in self.lines:
                    raise UnknownName(above, field=f"coefficients.{name}", available=self.lines)
            numbers = (line.intercept, line.variance, *line.coefficients.values())
            if not all(math.isfinite(each) for each in numbers) or not line.variance > 0:
                raise InvalidInput("must be finite, with a positive variance", field=name)
        topological_order(self.names, self.parents)

    @classmethod
    def fit(cls, moments: Moments, parents: Mapping[str, Iterable[str]]) -> GaussianNetwork:
        """Fit a network with given parents by least squares, which is maximum likelihood."""
        if set(parents) != set(moments.names):
            raise InvalidInput("must name each column once", field="parents", value=sorted(parents))
        return cls(lines={name: moments.line(name, tuple(parents[name])) for name in moments.names})

    # -- shape ----------------------------------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes."""
        return tuple(self.lines)

    @cached_property
    def parents(self) -> Mapping[str, tuple[str, ...]]:
        """Parents of each attribute."""
        return MappingProxyType({name: tuple(line.coefficients) for name, line in self.lines.items()})

    @property
    def edges(self) -> frozenset[tuple[str, str]]:
        """All pairs (parent, child)."""
        return frozenset((above, name) for name, each in self.parents.items() for above in each)

    @cached_property
    def order(self) -> tuple[str, ...]:
        """All attributes, parents before children."""
        return topological_order(self.names, self.parents)

    @cached_property
    def _effects(self) -> Array:
        """(I - B)^-1: column j is what a unit of attribute j adds to each."""
        d, place = len(self.names), {name: at for at, name in enumerate(self.names)}
        b = np.zeros((d, d))
        for name, line in self.lines.items():
            for above, weight in line.coefficients.items():
                b[place[name], place[above]] = weight
        return np.asarray(np.linalg.inv(np.eye(d) - b), np.float64)

    def total_effect(self, cause: str, outcome: str) -> float:
        """Return the change of the mean of an outcome when a cause is set one unit higher: the sum over all paths."""
        for name in (cause, outcome):
            if name not in self.lines:
                raise UnknownName(name, field="attribute", available=self.names)
        return float(self._effects[self.names.index(outcome), self.names.index(cause)])

    # -- distribution ---------------------------------------------------------------------------------------------

    @cached_property
    def mean(self) -> Array:
        """Mean of each attribute."""
        return np.asarray(self._effects @ [line.intercept for line in self.lines.values()])

    @cached_property
    def covariance(self) -> Array:
        """Covariance of the attributes."""
        return np.asarray((self._effects * [line.variance for line in self.lines.values()]) @ self._effects.T)

    def given(self, known: Mapping[str, float]) -> tuple[dict[str, float], Array]:
        """Return the mean of each other attribute given the values of some, and the covariance of the others."""
        for name, value in known.items():
            if name not in self.lines:
                raise UnknownName(name, field="given", available=self.names)
            if not math.isfinite(value):
                raise InvalidInput("must be a finite number", field=name, value=value)
        have = [self.names.index(name) for name in known]
        left = [at for at in range(len(self.names)) if at not in have]
        s = self.covariance
        pull = np.linalg.solve(s[np.ix_(have, have)], s[np.ix_(have, left)]).T if have else np.zeros((len(left), 0))
        mean = self.mean[left] + pull @ (np.array(list(known.values()), float) - self.mean[have])
        covariance = s[np.ix_(left, left)] - pull @ s[np.ix_(have, left)]
        return {self.names[at]: float(value) for at, value in zip(left, mean, strict=True)}, np.asarray(covariance)

    def sample(self, rows: int, rng: np.random.Generator) -> dict[str, Array]:
        """Draw synthetic rows, attribute by attribute in topological order."""
        if type(rows) is not int or rows < 0:
            raise InvalidInput("must be a whole number of 0 or more", field="rows", value=rows)
        columns: dict[str, Array] = {}
        for name in self.order:
            line = self.lines[name]
            values = rng.normal(line.intercept, math.sqrt(line.variance), rows)
            for above, weight in line.coefficients.items():
                values += weight * columns[above]
            columns[name] = values
        return {name: columns[name] for name in self.names}

    def log_likelihood(self, columns: Mapping[str, Any]) -> float:
        """Sum over rows of ln density(row)."""
        total = 0.0
        for name, line in self.lines.items():
            for needed in (name, *line.coefficients):
                if needed not in columns:
                    raise UnknownName(needed, field="columns", available=columns)
            fitted = line.intercept + sum(
                (weight * np.asarray(columns[above], float) for above, weight in line.coefficients.items()),
                start=np.zeros(1),
            )
            squared = float(((np.asarray(columns[name], float) - fitted) ** 2).sum())
            rows = np.asarray(columns[name]).size
            total -= rows / 2 * math.log(2 * math.pi * line.variance) + squared / (2 * line.variance)
        return total

    # -- plain data -----------------------------------------------------------------------------------------------

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        lines = {
            name: {
                "intercept": line.intercept,
                "coefficients": dict(line.coefficients),
                "variance": line.variance,
            }
            for name, line in self.lines.items()
        }
        return {"tacita": _MARK, "lines": lines}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> GaussianNetwork:
        """Read what `as_dict` returns."""
        if data.get("tacita") != _MARK:
            raise InvalidInput(f"must be `{_MARK}`", field="tacita", value=data.get("tacita"))
        lines = {
            str(name): Line(
                intercept=float(each["intercept"]),
                coefficients={str(above): float(weight) for above, weight in each["coefficients"].items()},
                variance=float(each["variance"]),
            )
            for name, each in data["lines"].items()
        }
        return cls(lines=lines)
