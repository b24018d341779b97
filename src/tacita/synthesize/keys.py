"""New keys for synthetic rows: numbers in order, or draws of 128 bits. Never anything from the data.

Privacy: keys depend on nothing but the number of rows that were asked for.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import pyarrow as pa

from tacita.errors import InvalidInput

__all__ = ["KeyKind", "new_keys", "with_keys"]

KeyKind = Literal["sequence", "random"]


def new_keys(rows: int, kind: KeyKind = "sequence", *, rng: np.random.Generator, first: int = 1) -> pa.Array:
    """As many keys, all distinct.

    Args:
        rows: Number of rows.
        kind: Numbers from `first` on, or 32 hexadecimal digits each.
        rng: For random ones.
        first: The first number; the next batch goes on after the last.
    """
    if kind == "sequence":
        return pa.array(np.arange(first, first + rows, dtype=np.int64))
    if kind == "random":
        # 128 bits: two in 10^12 rows coincide with probability 10^-15
        return pa.array([rng.bytes(16).hex() for _ in range(rows)], pa.string())
    raise InvalidInput("must be sequence or random", field="keys", value=kind)


def with_keys(
    rows: pa.Table, name: str, kind: KeyKind = "sequence", *, rng: np.random.Generator, first: int = 1
) -> pa.Table:
    """The rows with a first column of new keys."""
    if not name or name in rows.column_names:
        raise InvalidInput("must be a name that no column has", field="key", value=name)
    return rows.add_column(0, name, new_keys(rows.num_rows, kind, rng=rng, first=first))
