"""Scores and tests of discrete structures, from one table of distinct rows with counts.

    bic     ln L - (k / 2) ln n, with k = (levels of the child - 1) x cells of the parents; higher is better
    bdeu    marginal likelihood; a Dirichlet prior spreads an equivalent sample evenly  [Heckerman et al. 1995]
    test    G^2 = 2 sum O ln(O / E) over the cells of the given attributes, compared with chi-square

Privacy: none of its own; exact counts make results that are as sensitive as they are.
Cost: one pass over the distinct rows for each set of attributes; each set is counted once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln
from scipy.stats import chi2

from tacita import check
from tacita.errors import InvalidInput
from tacita.tables.cells import MAX_DENSE

__all__ = ["DiscreteCounts", "DiscreteScore"]

Key = tuple[str, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class DiscreteCounts:
    """Distinct rows of codes with counts. Exact: sensitive.

    Args:
        sizes: Number of levels of each attribute, in order.
        cells: (distinct rows, attributes) codes. counts: Rows with these codes.
    """

    sizes: Mapping[str, int]
    cells: NDArray[np.int64] = field(repr=False)
    counts: NDArray[np.float64] = field(repr=False)

    @classmethod
    def of(cls, sizes: Mapping[str, int], codes: Mapping[str, NDArray[Any]]) -> DiscreteCounts:
        """Count the distinct rows of some columns of codes."""
        rows = np.stack([np.asarray(codes[name], np.int64) for name in sizes], axis=1)
        cells, counts = np.unique(rows, axis=0, return_counts=True)
        return cls(sizes=sizes, cells=cells.reshape(-1, len(sizes)), counts=counts.astype(np.float64))

    @property
    def total(self) -> float:
        """Number of rows."""
        return float(self.counts.sum())

    def index(self, names: Sequence[str]) -> tuple[NDArray[np.int64], int]:
        """Return the cell of each distinct row in the table over some attributes, and the number of its cells."""
        places = list(self.sizes)
        index, size = np.zeros(len(self.counts), np.int64), 1
        for name in names:
            index = index * self.sizes[name] + self.cells[:, places.index(name)]
            size *= self.sizes[name]
        if size > MAX_DENSE:
            hint = "Allow fewer parents: --degree"
            raise InvalidInput(f"takes a table of more than {MAX_DENSE} cells", field="attributes", hint=hint)
        return index, size

    def table(self, names: Sequence[str]) -> NDArray[np.float64]:
        """Return the counts over some attributes."""
        index, size = self.index(names)
        shape = tuple(self.sizes[name] for name in names)
        return np.asarray(np.bincount(index, weights=self.counts, minlength=size), np.float64).reshape(shape)


@dataclass(frozen=True, kw_only=True, eq=False)
class DiscreteScore:
    """Score of a child with its parents, and test of independence.

    Args:
        counts: Of the rows.
        kind: bic or bdeu.
        sample: Equivalent sample size of bdeu.
    """

    counts: DiscreteCounts
    kind: Literal["bic", "bdeu"] = "bic"
    sample: float = 1.0

    def __post_init__(self) -> None:
        check.one_of(self.kind, "score", ("bic", "bdeu"))
        check.positive(self.sample, "sample")
        if self.counts.total < 1:
            raise InvalidInput("must have at least one row", field="rows", value=0)

    def __call__(self, child: str, parents: Key) -> float:
        """Return the local score; higher is better."""
        table = self.counts.table((*parents, child)).reshape(-1, self.counts.sizes[child])
        if self.kind == "bdeu":
            return self._bdeu(table)
        held = table > 0
        shares = np.divide(table, table.sum(axis=1, keepdims=True), out=np.ones_like(table), where=held)
        likelihood = float((table * np.log(shares)).sum())
        free = table.shape[0] * (table.shape[1] - 1)
        return likelihood - free / 2 * math.log(self.counts.total)

    def _bdeu(self, table: NDArray[np.float64]) -> float:
        each = self.sample / table.size
        whole = self.sample / table.shape[0]
        rows = gammaln(whole) - gammaln(whole + table.sum(axis=1))
        return float(rows.sum() + (gammaln(each + table) - gammaln(each)).sum())

    def test(self, one: str, other: str, given: Key) -> float:
        """Return the p-value of independence of two attributes given others, by G^2; empty margins take no freedom."""
        a, b = self.counts.sizes[one], self.counts.sizes[other]
        table = self.counts.table((*given, one, other)).reshape(-1, a, b)
        rows, columns = table.sum(axis=2), table.sum(axis=1)
        totals = table.sum(axis=(1, 2))
        expected = rows[:, :, None] * columns[:, None, :] / np.maximum(totals, 1)[:, None, None]
        held = table > 0
        statistic = 2 * float((table[held] * np.log(table[held] / expected[held])).sum())
        freedom = (np.maximum((rows > 0).sum(axis=1) - 1, 0) * np.maximum((columns > 0).sum(axis=1) - 1, 0)).sum()
        return float(chi2.sf(statistic, freedom)) if freedom > 0 else 1.0
