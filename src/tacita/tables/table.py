"""Exact counts over some attributes; sensitive.

A `Table` shows no counts when printed and has no form in which it could leave the process: it cannot be pickled,
copied into JSON, or turned into a `Release`. Any result computed from a table and other cells is a table again.
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
    """Exact counts were about to be released without a mechanism."""

    code = "sensitive"
    title = "Exact counts may not be released"
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
        """Count rows of codes in a sparse table. The plain way; engines have a faster one."""
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
