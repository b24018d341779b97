"""Contents of cells: values, contributors and largest contributions, from rows.

A row counts if all attributes of all tables are in their domain, so that tables that share margins agree on them. With
a person's key in the schema a person is one contributor to a cell, however many rows they have in it; rows without a
key count in values and as no contributor. Contributions and weights may not be negative.

Privacy: exact values; for the owner. `suppress` decides which of them may be released.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.anonymize.cells.relations import Relations
from tacita.anonymize.quasi import NO_ONE, joined
from tacita.domain import Domain
from tacita.domain.attributes import Numeric
from tacita.domain.encode import encode
from tacita.domain.line import points_of
from tacita.engines.base import Engine
from tacita.engines.local.bound import key_texts
from tacita.errors import DataError

__all__ = ["CellContents", "contents_of", "read_contents"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class CellContents:
    """Contents of all cells.

    Attributes:
        values: Value of each cell: number of rows, or sum; weighted where there are weights.
        rows: Number of rows of each cell.
        contributors: Number of contributors of each cell.
        counts: Whether values are counts.
        weighted: Whether rows have weights.
        left_out: Share of the rows that count nowhere, because a value is missing or undeclared.
        cell, share, weight: Each contribution: its cell, its value for one unit, and its weight; sorted by cell and
            falling value.
    """

    values: Floats
    rows: Floats
    contributors: Floats
    counts: bool
    weighted: bool
    left_out: float
    cell: Ints
    share: Floats
    weight: Floats

    @property
    def empty(self) -> NDArray[np.bool_]:
        """Whether no row is in a cell."""
        return np.asarray(self.rows == 0)

    @property
    def typical(self) -> float:
        """Mean contribution over the whole table."""
        whole = self.contributors.max(initial=0.0)
        return float(self.values.max(initial=0.0) / whole) if whole else 1.0

    @cached_property
    def _before(self) -> Floats:
        """Weight of the larger contributions to the same cell."""
        before = np.cumsum(self.weight) - self.weight
        first = np.concatenate([[True], self.cell[1:] != self.cell[:-1]]) if len(self.cell) else np.zeros(0, bool)
        at = np.maximum.accumulate(np.where(first, np.arange(len(first)), 0))
        return np.asarray(before - before[at], np.float64)

    def largest(self, n: int) -> Floats:
        """Sum of the n largest contributions to each cell; a contribution of weight w counts as w of them."""
        taken = np.clip(n - self._before, 0.0, self.weight)
        return np.asarray(np.bincount(self.cell, taken * self.share, minlength=len(self.values)), np.float64)


def contents_of(
    relations: Relations,
    codes: Sequence[Ints],
    *,
    amounts: Floats | None = None,
    weights: Floats | None = None,
    persons: Ints | None = None,
    left_out: float = 0.0,
) -> CellContents:
    """Return the contents of cells from codes.

    Args:
        relations: Cells.
        codes: For each attribute of the relations, the code of each row.
        amounts: Contribution of each row; 1 by default, and then the table is one of counts.
        weights: Weight of each row; 1 by default.
        persons: Number of the person of each row, -1 for none; every row a contributor by default.
        left_out: Share of rows that were dropped before.
    """
    size, many = len(relations), len(codes[0])
    amount = np.ones(many) if amounts is None else amounts
    weight = np.ones(many) if weights is None else weights
    with np.errstate(over="ignore"):
        product = amount * weight
    values, rows, contributors = np.zeros(size), np.zeros(size), np.zeros(size)
    kept = []
    for part, start in relations.starts.items():
        shape = [relations.sizes[name] for name in part]
        place = np.zeros(many, np.int64)
        for name, width in zip(part, shape, strict=True):
            place = place * width + codes[relations.names.index(name)]
        place += start
        rows += np.bincount(place, minlength=size)
        values += _sums(place, product, size)
        cell, share, own = _contributions(place, amount, weight, persons)
        contributors += np.bincount(cell, minlength=size)
        kept.append((cell, share, own))
    cell, share, own = (np.concatenate(each) for each in zip(*kept, strict=True))
    order = np.lexsort((-share, cell))
    return CellContents(
        values=values,
        rows=rows,
        contributors=contributors,
        counts=amounts is None,
        weighted=weights is not None,
        left_out=left_out,
        cell=cell[order],
        share=share[order],
        weight=own[order],
    )


def _sums(place: Ints, amount: Floats, size: int) -> Floats:
    """Return the sum of each cell, rounded once.

    Digits that rounding leaves in a sum of floats depend on the order of rows and on each partial sum, also on rows
    of suppressed cells that a published margin contains. A sum that is rounded once depends on its exact value alone.
    """
    with np.errstate(over="ignore"):
        whole = float(amount.sum())
    if not np.isfinite(whole):
        raise DataError("has values whose sum is not a finite number", field="sum", hint="Narrow the bounds")
    if whole < 2.0**53 and np.array_equal(amount, np.round(amount)):
        return np.asarray(np.bincount(place, amount, minlength=size), np.float64)
    order = np.argsort(place, kind="stable")
    cells, starts = np.unique(place[order], return_index=True)
    sums = np.zeros(size)
    for cell, part in zip(cells.tolist(), np.split(amount[order], starts[1:]), strict=True):
        sums[cell] = math.fsum(part.tolist())
    return sums


def _contributions(place: Ints, amount: Floats, weight: Floats, persons: Ints | None) -> tuple[Ints, Floats, Floats]:
    """Return cell, value for one unit and weight of each contributor; rows of one person are one contributor."""
    if persons is None:
        return place, amount, weight
    known = persons != NO_ONE
    place, amount, weight, person = place[known], amount[known], weight[known], persons[known]
    span = int(person.max(initial=0)) + 1
    pairs, which = np.unique(place * span + person, return_inverse=True)
    which = which.reshape(-1)
    one = np.asarray(np.bincount(which, amount, minlength=len(pairs)), np.float64)
    weighted = np.bincount(which, amount * weight, minlength=len(pairs))
    mean = np.bincount(which, weight, minlength=len(pairs)) / np.maximum(np.bincount(which, minlength=len(pairs)), 1)
    return pairs // span, one, np.where(one > 0, weighted / np.where(one > 0, one, 1.0), mean)


def read_contents(
    engine: Engine, domain: Domain, relations: Relations, *, total: str | None = None, weight: str | None = None
) -> CellContents:
    """Read rows into cells.

    Args:
        engine: The data.
        domain: Its schema.
        relations: Cells, over attributes of the schema.
        total: Attribute to sum; counts of rows without it.
        weight: Attribute with sample weights.
    """
    more = [name for name in (total, weight, domain.person) if name is not None]
    columns = tuple(dict.fromkeys([*relations.names, *more]))
    table = joined(engine.rows(columns), columns)
    codes = [encode(domain[name], table.column(name), domain.nulls).astype(np.int64) for name in relations.names]
    good = np.ones(table.num_rows, bool)
    for name, code in zip(relations.names, codes, strict=True):
        good &= code < domain[name].size
    numbers = {name: _numbers(domain, table, name) for name in (total, weight) if name is not None}
    for each in numbers.values():
        good &= ~np.isnan(each)
    for name, each in numbers.items():
        if (each[good] < 0).any():
            hint = "Leave such rows out, or choose another attribute"
            raise DataError("has negative values, for which the rules are not defined", field=name, hint=hint)
    persons = None
    if domain.person is not None:
        keys = key_texts(table.column(domain.person), domain.nulls, domain.person)
        persons = np.asarray(keys.indices.fill_null(NO_ONE).to_numpy(zero_copy_only=False), np.int64)[good]
    return contents_of(
        relations,
        [code[good] for code in codes],
        amounts=None if total is None else numbers[total][good],
        weights=None if weight is None else numbers[weight][good],
        persons=persons,
        left_out=float((~good).mean()) if len(good) else 0.0,
    )


def _numbers(domain: Domain, table: pa.Table, name: str) -> Floats:
    attribute = domain[name]
    assert isinstance(attribute, Numeric)
    return points_of(attribute, table.column(name), domain.nulls)
