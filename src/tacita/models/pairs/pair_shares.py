"""All tables of two attributes of a model, as one matrix.

A row and a column for each level of each attribute, in the order of the domain:

    M[(a, u), (b, v)] = P(a = u, b = v)          blocks of one attribute with itself mean nothing

A mixture of products with weights w and tables T has M = T' diag(w) T. In a tree a child follows from its parent alone:
M[child, others] = P(child | parent)' M[parent, others]. Other models are drawn from, which leaves the error of so many
rows.

Privacy: post-processing of a model.
Cost: levels squared in memory; for drawn rows attributes squared for each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from tacita.common.compiled import compiled
from tacita.domain import Domain
from tacita.models.mixture import Mixture
from tacita.models.network import BayesianNetwork

__all__ = ["Drawn", "Paired", "blocks_of", "coded", "count_pairs", "pair_shares", "put_table"]

Array = NDArray[Any]
_DRAWS = 1 << 18


class Drawn(Protocol):
    """A model that draws codes."""

    @property
    def domain(self) -> Domain:
        """The attributes."""

    def sample(self, rows: int, rng: np.random.Generator) -> Mapping[str, Array]:
        """Draw the codes of synthetic rows."""


@runtime_checkable
class Paired(Protocol):
    """A model that knows its tables of two attributes."""

    def pair_shares(self) -> NDArray[np.float64]:
        """All of them, as one matrix."""


def blocks_of(domain: Domain) -> dict[str, slice]:
    """Rows of each attribute in the matrix."""
    ends = np.cumsum(domain.shape)
    sizes = zip(domain.names, ends, domain.shape, strict=True)
    return {name: slice(int(end) - size, int(end)) for name, end, size in sizes}


def pair_shares(model: Drawn) -> NDArray[np.float64]:
    """The matrix of a model: exact for mixtures, trees and what is made of them, else from drawn rows."""
    if isinstance(model, Paired):
        return model.pair_shares()
    if isinstance(model, Mixture):
        tables = np.concatenate([model.tables[name].T for name in model.domain.names])
        return np.asarray((tables * model.weights) @ tables.T)
    if isinstance(model, BayesianNetwork) and all(len(above) <= 1 for above in model.parents.values()):
        return _of_tree(model)
    drawn = coded(model.domain, model.sample(_DRAWS, np.random.default_rng(0)))
    return count_pairs(model.domain, drawn) / _DRAWS


def _of_tree(model: BayesianNetwork) -> NDArray[np.float64]:
    blocks, size = blocks_of(model.domain), sum(model.domain.shape)
    found = np.zeros((size, size))
    alone: dict[str, Array] = {}
    done: list[str] = []
    for name in model.order:
        own, chances = blocks[name], model.conditionals[name].values
        parent = model.parents[name][0] if model.parents[name] else None
        alone[name] = chances if parent is None else alone[parent] @ chances
        for other in done:
            there = blocks[other]
            if parent is None:
                table = np.outer(alone[name], alone[other])
            elif other == parent:
                table = (alone[parent][:, None] * chances).T
            else:
                table = chances.T @ found[blocks[parent], there]
            found[own, there], found[there, own] = table, table.T
        done.append(name)
    return found


def coded(domain: Domain, codes: Mapping[str, Array]) -> NDArray[np.int32]:
    """Codes of rows as one matrix: a row for each, a column for each attribute."""
    return np.stack([np.asarray(codes[name], np.int32) for name in domain.names], axis=1)


def count_pairs(domain: Domain, rows: NDArray[np.int32]) -> NDArray[np.float64]:
    """Number of rows in each cell of each table of two attributes."""
    starts = np.array([block.start for block in blocks_of(domain).values()], np.int64)
    counts = np.zeros((sum(domain.shape),) * 2, np.float32)  # whole numbers up to 2^24 are exact
    _count(rows, starts, counts)
    counts += counts.T
    return counts.astype(np.float64)


@compiled
def _count(rows: Any, starts: Any, counts: Any) -> None:
    for i in range(rows.shape[0]):
        for a in range(rows.shape[1]):
            here = starts[a] + rows[i, a]
            for b in range(a):
                counts[here, starts[b] + rows[i, b]] += 1


def put_table(matrix: NDArray[np.float64], domain: Domain, names: Sequence[str], table: Array) -> None:
    """Set the table of two attributes, in both directions."""
    blocks = blocks_of(domain)
    at = blocks[names[0]], blocks[names[1]]
    matrix[at] = table
    matrix[at[::-1]] = np.asarray(table).T
