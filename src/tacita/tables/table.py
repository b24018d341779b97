"""Exact counts over some attributes: the sensitive thing in the middle of everything.

A `Table` shows no counts when printed and has no form in which it could leave the process: it cannot be pickled,
copied into JSON, or turned into a `Release`. What is computed from a table and something else is a table again.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from tacita.domain import Domain
from tacita.errors import TacitaError
from tacita.tables.cells import Cells

__all__ = ["SensitiveError", "Table"]


class SensitiveError(TacitaError, TypeError):
    """Exact counts were about to leave through a door that is not a mechanism."""

    code = "sensitive"
    title = "Exact counts may not leave"
    status = 500


class Table(Cells):
    """Exact counts. See `Cells` for what can be done with them."""

    __slots__ = ()

    @classmethod
    def zeros(cls, domain: Domain) -> Table:
        """Return a table of zeros."""
        return cls(domain, np.zeros(domain.shape, np.int64))

    @classmethod
    def count(cls, domain: Domain, codes: npt.ArrayLike) -> Table:
        """A sparse table of rows of codes, each counting one. The plain way; engines have the fast one."""
        rows = np.asarray(codes)
        return cls(domain, np.ones(len(rows), np.int64), rows)

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise SensitiveError(
            "a table holds exact counts and cannot be serialised or copied",
            field="table",
            hint="Release it through a mechanism; only a Release has a form that can leave",
        )

    def __deepcopy__(self, memo: Any) -> Table:
        return self  # frozen: the very same table will do
