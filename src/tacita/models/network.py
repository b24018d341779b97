"""A discrete Bayesian network: P(x) = prod_i P(x_i | parents of i). One distribution, so all of its tables agree.

Privacy: none of its own; it is as private as the tables that it was fitted to.
Cost: a look-up for each row and attribute to sample; a table costs the largest intermediate one of its elimination.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from heapq import heapify, heappop, heappush
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.domain import Domain, code_dtype
from tacita.errors import InvalidInput, UnknownName
from tacita.models._draw import draw_codes
from tacita.tables.cells import MAX_DENSE, Cells

__all__ = ["BayesianNetwork", "topological_order"]

Array = NDArray[Any]
Parents = Mapping[str, tuple[str, ...]]

_ROUNDING = 1e-9


def topological_order(names: Iterable[str], parents: Parents) -> tuple[str, ...]:
    """The names so that parents come before children, otherwise as given; a cycle is refused."""
    listed = list(names)
    place = {name: index for index, name in enumerate(listed)}
    sorter = TopologicalSorter({name: [above for above in parents[name] if above in place] for name in listed})
    try:
        sorter.prepare()
    except CycleError as error:
        raise InvalidInput("must not form a cycle", field="parents", value=sorted(set(error.args[1]))) from None
    order: list[str] = []
    ready = [place[name] for name in sorter.get_ready()]
    heapify(ready)
    while ready:
        order.append(listed[heappop(ready)])
        sorter.done(order[-1])
        for name in sorter.get_ready():
            heappush(ready, place[name])
    return tuple(order)


@dataclass(frozen=True, kw_only=True, eq=False)
class BayesianNetwork:
    """Parents and a conditional table for each attribute.

    Args:
        domain: The attributes, all of them countable.
        parents: Names of the parents of each attribute; no cycles.
        conditionals: For each attribute a table over its parents, in order, and then itself, that sums to 1 along
            itself.
    """

    domain: Domain = field(repr=False)
    parents: Parents
    conditionals: Mapping[str, Cells] = field(repr=False)

    def __post_init__(self) -> None:
        names = self.domain.check_countable(self.domain.names)
        for what in ("parents", "conditionals"):
            if set(getattr(self, what)) != set(names):
                raise InvalidInput("must name each attribute of the domain once", field=what)
        frozen = {name: self.domain.check_countable(self.parents[name]) for name in names}
        object.__setattr__(self, "parents", MappingProxyType(frozen))
        tables = {name: self._checked(name, self.conditionals[name]) for name in names}
        object.__setattr__(self, "conditionals", MappingProxyType(tables))
        topological_order(names, frozen)

    def _checked(self, name: str, table: Cells) -> Cells:
        family = (*self.parents[name], name)
        if table.domain.attributes != self.domain.project(family).attributes:
            raise InvalidInput("must be over the parents and then the attribute", field=name, value=table.attributes)
        values = table.values
        if (values < 0).any() or not np.allclose(values.sum(axis=-1), 1, atol=_ROUNDING, rtol=0):
            raise InvalidInput("must be non-negative and sum to 1 along the attribute", field=name)
        return table.dense()

    # -- shape ----------------------------------------------------------------------------------------------------

    @cached_property
    def order(self) -> tuple[str, ...]:
        """All attributes, parents before children."""
        return topological_order(self.domain.names, self.parents)

    @property
    def edges(self) -> frozenset[tuple[str, str]]:
        """All pairs (parent, child)."""
        return frozenset((parent, name) for name, above in self.parents.items() for parent in above)

    @property
    def parameters(self) -> int:
        """Number of free probabilities."""
        tables = self.conditionals.values()
        return sum(table.domain.size // table.shape[-1] * (table.shape[-1] - 1) for table in tables)

    # -- sampling -------------------------------------------------------------------------------------------------

    def sample(self, rows: int, rng: np.random.Generator) -> dict[str, Array]:
        """Draw the codes of synthetic rows, attribute by attribute in topological order."""
        columns: dict[str, Array] = {}
        for name in self.order:
            table = self.conditionals[name]
            cumulative = np.cumsum(table.values.reshape(-1, table.shape[-1]), axis=1)
            drawn = np.empty(rows, code_dtype(table.shape[-1]))
            draw_codes(self._rows(name, columns, rows), cumulative, rng.random(rows), drawn)
            columns[name] = drawn
        return {name: columns[name] for name in self.domain.names}

    def _rows(self, name: str, codes: Mapping[str, Array], count: int) -> Array:
        """The cell of the parents, as the row of the conditional table."""
        row = np.zeros(count, np.int64)
        for parent in self.parents[name]:
            row = row * self.domain[parent].size + codes[parent]
        return row

    # -- Projectable ----------------------------------------------------------------------------------------------

    def supports(self, attributes: Iterable[str]) -> bool:
        """Whether all these attributes are here."""
        return set(attributes) <= set(self.domain.names)

    def project(self, attributes: Iterable[str]) -> Cells:
        """The table of shares over these attributes, by eliminating the others one by one.

        Only ancestors matter. The next to go is the one that makes the smallest table.
        """
        wanted = self.domain.check_countable(attributes)
        factors = dict(enumerate(self.conditionals[name] for name in self._with_ancestors(wanted)))
        near: dict[str, set[int]] = {}
        for number, factor in factors.items():
            for name in factor.attributes:
                near.setdefault(name, set()).add(number)
        left = near.keys() - set(wanted)
        sizes = {name: self._merged_size(factors[number] for number in near[name]) for name in left}
        while left:
            name = min(left, key=lambda each: (sizes[each], each))
            left.remove(name)
            touching = near.pop(name)
            merged = self._product([factors.pop(number) for number in sorted(touching)])
            kept = tuple(other for other in merged.attributes if other != name)
            if kept:  # an attribute without relatives sums to 1
                factors[min(touching)] = merged.project(kept)
            for other in kept:
                near[other] = near[other] - touching | {min(touching)}
                if other in left:
                    sizes[other] = self._merged_size(factors[number] for number in near[other])
        return self._product([factors[number] for number in sorted(factors)]).project(wanted)

    def _with_ancestors(self, names: Iterable[str]) -> list[str]:
        found, ahead = set[str](), list(names)
        while ahead:
            name = ahead.pop()
            if name not in found:
                found.add(name)
                ahead += self.parents[name]
        return [name for name in self.order if name in found]

    def _merged_size(self, factors: Iterable[Cells]) -> int:
        touched = {name for factor in factors for name in factor.attributes}
        return math.prod(self.domain[name].size for name in touched)

    def _product(self, factors: list[Cells]) -> Cells:
        size = math.prod(self.domain[name].size for name in {n for factor in factors for n in factor.attributes})
        if size > MAX_DENSE:
            hint = "Ask for fewer attributes, or sample rows and count"
            raise InvalidInput(f"takes a table of more than {MAX_DENSE} cells", field="attributes", hint=hint)
        product = factors[0]
        for factor in factors[1:]:
            product = product * factor
        return product

    # -- scores ---------------------------------------------------------------------------------------------------

    def log_likelihood(self, codes: Mapping[str, Array]) -> float:
        """Sum over rows of ln P(row); minus infinity if a row is impossible.

        Args:
            codes: A code inside the domain for every attribute, one for each row.
        """
        total, count = 0.0, None
        for name in self.domain.names:
            if name not in codes:
                raise UnknownName(name, field="codes", available=codes)
            column = np.asarray(codes[name])
            count = column.size if count is None else count
            if column.shape != (count,) or (column.size and not 0 <= column.min() <= column.max() < self._size(name)):
                raise InvalidInput("must be codes inside the domain, one for each row", field=name)
        for name, table in self.conditionals.items():
            chances = table.values.reshape(-1, table.shape[-1])
            rows = self._rows(name, codes, count or 0)
            with np.errstate(divide="ignore"):
                total += float(np.log(chances[rows, np.asarray(codes[name])]).sum())
        return total

    def _size(self, name: str) -> int:
        return int(self.domain[name].size)

    def bic(self, codes: Mapping[str, Array]) -> float:
        """ln L - (parameters / 2) ln n: higher is better."""
        rows = np.asarray(codes[self.domain.names[0]]).size
        return self.log_likelihood(codes) - self.parameters / 2 * math.log(rows)

    # -- plain data -----------------------------------------------------------------------------------------------

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "tacita": "network/1",
            "domain": self.domain.as_dict(),
            "parents": {name: list(self.parents[name]) for name in self.domain.names},
            "conditionals": {name: self.conditionals[name].values.reshape(-1).tolist() for name in self.domain.names},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> BayesianNetwork:
        """The network that `as_dict` wrote."""
        if data.get("tacita") != "network/1":
            raise InvalidInput("must be `network/1`", field="tacita", value=data.get("tacita"))
        domain = Domain.from_dict(data["domain"])
        parents = {name: tuple(above) for name, above in data["parents"].items()}
        tables = {}
        for name, flat in data["conditionals"].items():
            over = domain.project((*parents.get(name, ()), name))
            values = np.array(flat, dtype=np.float64)
            if values.size != over.size:
                raise InvalidInput(f"must hold {over.size} numbers", field=f"conditionals.{name}", value=values.size)
            tables[name] = Cells(over, values.reshape(over.shape))
        return cls(domain=domain, parents=parents, conditionals=tables)
