"""A mixture of products: P(x) = sum_k w_k prod_i P_k(x_i). Within a component all attributes are independent.

Privacy: none of its own; it is as private as the tables that it was fitted to.
Utility: one distribution, so all of its tables agree, and any table is had without eliminating anything: with enough
components it comes as near to all pairs at once as noise lets it, where a network must leave most pairs out.
Cost: a table of c cells costs c for each component; a row one look-up for each attribute.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.domain import Domain, code_dtype
from tacita.errors import InvalidInput
from tacita.models._draw import draw_codes
from tacita.tables.cells import MAX_DENSE, Cells

__all__ = ["Mixture"]

Array = NDArray[np.float64]

_ROUNDING = 1e-6
_DIGITS = 9


@dataclass(frozen=True, kw_only=True, eq=False)
class Mixture:
    """Weights of components, and for each attribute a distribution in each component.

    Args:
        domain: The attributes, all of them countable.
        weights: Of the components; sum to 1.
        tables: For each attribute an array with one row for each component, which sums to 1.
    """

    domain: Domain = field(repr=False)
    weights: Array = field(repr=False)
    tables: Mapping[str, Array] = field(repr=False)

    def __post_init__(self) -> None:
        names = self.domain.check_countable(self.domain.names)
        if set(self.tables) != set(names):
            raise InvalidInput("must name each attribute of the domain once", field="tables")
        object.__setattr__(self, "weights", _shares("weights", np.array(self.weights, float)[None])[0])
        checked = {name: _shares(name, np.array(self.tables[name], float)) for name in names}
        for name, table in checked.items():
            if table.shape != (self.weights.size, self.domain[name].size):
                raise InvalidInput("must have a row for each component", field=name, value=table.shape)
        object.__setattr__(self, "tables", MappingProxyType(checked))

    @classmethod
    def average(cls, mixtures: Iterable[Mixture], shares: Sequence[float] | None = None) -> Mixture:
        """Mix several over one domain: the components of all of them.

        Args:
            mixtures: At least one.
            shares: Of each; equal ones by default, which average out random differences.
        """
        several = list(mixtures)
        first = several[0]
        if shares is None:
            weights = np.concatenate([each.weights for each in several]) / len(several)
        else:
            weights = np.concatenate([share * each.weights for share, each in zip(shares, several, strict=True)])
        tables = {name: np.concatenate([each.tables[name] for each in several]) for name in first.domain.names}
        return cls(domain=first.domain, weights=weights, tables=tables)

    @property
    def components(self) -> int:
        """Number of products that are mixed."""
        return int(self.weights.size)

    @property
    def parameters(self) -> int:
        """Number of free parameters."""
        return self.components - 1 + self.components * sum(size - 1 for size in self.domain.shape)

    # -- sampling -------------------------------------------------------------------------------------------------

    @cached_property
    def _cumulative(self) -> dict[str, Array]:
        return {name: np.cumsum(table, axis=1) for name, table in self.tables.items()}

    def sample(self, rows: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Draw the codes of synthetic rows: a component for each, then all attributes independently."""
        heights = np.cumsum(self.weights)
        component = np.minimum(np.searchsorted(heights, rng.random(rows), side="right"), heights.size - 1)
        columns = {}
        for name in self.domain.names:
            drawn = np.empty(rows, code_dtype(self.domain[name].size))
            draw_codes(component, self._cumulative[name], rng.random(rows), drawn)
            columns[name] = drawn
        return columns

    # -- Projectable ----------------------------------------------------------------------------------------------

    def supports(self, attributes: Iterable[str]) -> bool:
        """Whether all these attributes are here."""
        return set(attributes) <= set(self.domain.names)

    def project(self, attributes: Iterable[str]) -> Cells:
        """The table of shares over these attributes."""
        over = self.domain.project(attributes)
        if over.size > MAX_DENSE:
            raise InvalidInput(
                f"takes a table of more than {MAX_DENSE} cells",
                field="attributes",
                value=list(over.names),
                hint="Ask for fewer attributes, or sample rows and count",
            )
        values = np.zeros(over.size)
        step = max(1, (1 << 24) // over.size)
        for start in range(0, self.components, step):  # never more than this many products at once
            part = slice(start, start + step)
            product = self.weights[part, None]
            for name in over.names:
                product = (product[:, :, None] * self.tables[name][part, None, :]).reshape(product.shape[0], -1)
            values += product.sum(axis=0)
        return Cells(over, values.reshape(over.shape))

    # -- plain data -----------------------------------------------------------------------------------------------

    def as_dict(self) -> dict[str, Any]:
        """Plain data, rounded to nine digits after the point."""
        return {
            "tacita": "mixture/1",
            "domain": self.domain.as_dict(),
            "weights": self.weights.round(_DIGITS).tolist(),
            "tables": {name: table.round(_DIGITS).tolist() for name, table in self.tables.items()},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Mixture:
        """The mixture that `as_dict` wrote."""
        if data.get("tacita") != "mixture/1":
            raise InvalidInput("must be `mixture/1`", field="tacita", value=data.get("tacita"))
        tables = {name: np.array(table, float) for name, table in data["tables"].items()}
        return cls(domain=Domain.from_dict(data["domain"]), weights=np.array(data["weights"], float), tables=tables)


def _shares(name: str, rows: Array) -> Array:
    """The rows, after checking that each is a distribution; what rounding left is scaled away."""
    if rows.ndim != 2 or not rows.size or not np.isfinite(rows).all() or (rows < 0).any():
        raise InvalidInput("must be non-negative numbers", field=name)
    totals = rows.sum(axis=1, keepdims=True)
    if not np.allclose(totals, 1, atol=_ROUNDING * rows.shape[1], rtol=0):
        raise InvalidInput("must sum to 1", field=name)
    return np.asarray(rows / totals)
