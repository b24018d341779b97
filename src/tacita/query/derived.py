"""Groups computed from public codes: a CASE over levels and bins, the year of a date, a column of a dimension table.

Each cell of some attributes has one code of the new attribute. So a derived group is as public as the schema, every
row is in one group by its own values alone, and the tables of an engine are enough to count it.

Privacy: none of its own; sensitivities are those of any group.   Claim: docs/claims/sql.md
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tacita.domain import Attribute

__all__ = ["Derived"]


@dataclass(frozen=True, kw_only=True)
class Derived:
    """An attribute that is a public function of others.

    Attributes:
        attribute: Its name and levels.
        of, sizes: Attributes that it is computed from, and their numbers of codes.
        codes: Code of the new attribute for each cell of these, in row-major order.
    """

    attribute: Attribute
    of: tuple[str, ...]
    sizes: tuple[int, ...]
    codes: tuple[int, ...]

    @property
    def name(self) -> str:
        """Name of the new attribute."""
        return self.attribute.name

    def encode(self, codes: Mapping[str, npt.NDArray[Any]], rows: int) -> npt.NDArray[np.int64]:
        """Compute the code of each row; a row that is out of domain in one attribute is so here too."""
        cells, inside = np.zeros(rows, np.int64), np.ones(rows, bool)
        for name, size in zip(self.of, self.sizes, strict=True):
            inside &= codes[name] < size
            cells = cells * size + codes[name]
        table = np.append(np.array(self.codes, np.int64), self.attribute.out_of_domain)
        return np.asarray(table[np.where(inside, cells, len(table) - 1)], np.int64)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"levels": list(self.attribute.all_labels), "of": list(self.of), "codes": list(self.codes)}
