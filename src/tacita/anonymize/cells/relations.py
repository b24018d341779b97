"""Linear relations between the cells of tables that are published together.

A cell is a combination of levels of some attributes; attributes that it leaves out are summed over. So tables that
share attributes share the cells of their margins, and one system of relations describes all of them:

    cell(s) = sum over levels l of a of cell(s, a = l)      for each part s of a table's attributes and each other a

Written A x = 0, with a row for each relation and a column for each cell.

Privacy: holds shapes only, no data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacita.errors import InvalidInput

__all__ = ["Relations", "relations_of"]

MOST_CELLS = 200_000
"""Most cells of all tables together."""
_MOST_ATTRIBUTES = 4


@dataclass(frozen=True, kw_only=True, eq=False)
class Relations:
    """Cells, and the sums that hold between them.

    Attributes:
        names: All attributes, in order.
        codes: For each cell the code of each attribute, -1 where it is summed over.
        matrix: One row for each relation: +1 at its parts, -1 at their total.
        tables: Tables, by their attributes.
        starts: First cell of each margin, by the attributes that it does not sum over, in the order of `codes`.
        sizes: Number of levels of each attribute.
    """

    names: tuple[str, ...]
    codes: NDArray[np.int64]
    matrix: sparse.csr_array
    tables: tuple[tuple[str, ...], ...]
    starts: Mapping[tuple[str, ...], int]
    sizes: Mapping[str, int]

    @classmethod
    def of_matrix(cls, matrix: sparse.csr_array) -> Relations:
        """Return relations of any kind between cells that have no attributes, for tables with another structure."""
        size = matrix.shape[1]
        return cls(
            names=("cell",),
            codes=np.arange(size, dtype=np.int64)[:, None],
            matrix=sparse.csr_array(matrix),
            tables=(("cell",),),
            starts={("cell",): 0},
            sizes={"cell": size},
        )

    def __len__(self) -> int:
        return len(self.codes)

    @cached_property
    def columns(self) -> sparse.csc_array:
        """The matrix by columns."""
        return sparse.csc_array(self.matrix)

    @property
    def unimodular(self) -> bool:
        """Whether every interval of an attacker ends at whole numbers if all values are whole.

        Holds for one table of at most two attributes: the matrix is that of a network, so totally unimodular.
        """
        return () in self.starts and len(self.tables) == 1 and len(self.tables[0]) <= 2

    def check(self, values: NDArray[np.float64]) -> None:
        """Refuse values that do not add up."""
        if values.shape != (len(self),):
            raise InvalidInput("must be one number for each cell", field="values", value=values.shape)
        if np.abs(self.matrix @ values).max(initial=0.0) > 1e-9 * max(1.0, np.abs(values).max(initial=0.0)):
            raise InvalidInput("must add up to their margins", field="values")


def relations_of(tables: Sequence[Sequence[str]], sizes: Mapping[str, int]) -> Relations:
    """Return the cells and relations of tables with all their margins.

    Args:
        tables: Attributes of each table.
        sizes: Number of levels of each attribute.
    """
    _check(tables, sizes)
    names = tuple(dict.fromkeys(name for table in tables for name in table))
    parts = sorted(
        {
            part
            for table in tables
            for size in range(len(table) + 1)
            for part in combinations(_sorted(table, names), size)
        },
        key=lambda part: (len(part), [names.index(name) for name in part]),
    )
    starts, codes, start = {}, [], 0
    for part in parts:
        shape = [sizes[name] for name in part]
        grid = np.full((int(np.prod(shape, dtype=np.int64)), len(names)), -1, np.int64)
        if part:
            grid[:, [names.index(name) for name in part]] = np.indices(shape).reshape(len(part), -1).T
        starts[part], start = start, start + len(grid)
        codes.append(grid)
    rows, columns, signs, row = [], [], [], 0
    for part in parts:
        for name in part:
            rest = tuple(each for each in part if each != name)
            shape = [sizes[each] for each in part]
            cells = starts[part] + np.arange(int(np.prod(shape))).reshape(shape)
            lines = np.moveaxis(cells, part.index(name), -1).reshape(-1, sizes[name])
            totals = starts[rest] + np.arange(len(lines))
            numbers = row + np.arange(len(lines))
            rows += [np.repeat(numbers, sizes[name]), numbers]
            columns += [lines.reshape(-1), totals]
            signs += [np.ones(lines.size), -np.ones(len(lines))]
            row += len(lines)
    matrix = sparse.csr_array((np.concatenate(signs), (np.concatenate(rows), np.concatenate(columns))), (row, start))
    ordered = tuple(dict.fromkeys(_sorted(table, names) for table in tables))
    return Relations(
        names=names,
        codes=np.concatenate(codes),
        matrix=matrix,
        tables=ordered,
        starts=starts,
        sizes={name: sizes[name] for name in names},
    )


def _sorted(table: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    return tuple(sorted(table, key=names.index))


def _check(tables: Sequence[Sequence[str]], sizes: Mapping[str, int]) -> None:
    if not tables:
        raise InvalidInput("must name at least one table", field="by", hint="Name attributes: region,industry")
    for table in tables:
        if not 1 <= len(table) <= _MOST_ATTRIBUTES or len(set(table)) < len(table):
            raise InvalidInput(
                f"must be 1 to {_MOST_ATTRIBUTES} different attributes", field="by", value=",".join(table)
            )
    cells = sum(int(np.prod([sizes[name] + 1 for name in table], dtype=np.float64)) for table in tables)
    if cells > MOST_CELLS:
        hint = "Use fewer attributes or levels"
        raise InvalidInput(f"must have at most {MOST_CELLS:,} cells", field="by", value=f"{cells:,}", hint=hint)
