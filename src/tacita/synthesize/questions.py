"""Questions to a released model: shares of cells, and more rows, given conditions.

Privacy:  post-processing of the model, which costs nothing.
Utility:  shares come from the model's own tables, without the error of drawing rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from tacita.errors import InvalidInput
from tacita.synthesize.result import Synthesized
from tacita.synthesize.ruled import RAREST, Ruled
from tacita.tables.tabular import finite

__all__ = ["check_drawable", "restrict", "shares"]


def restrict(made: Synthesized, where: Sequence[str] = ()) -> Synthesized:
    """Return the model given that conditions such as `age >= 30` hold for every row."""
    return made.given(where)


def check_drawable(made: Synthesized) -> None:
    """Refuse a model under rules or conditions that fewer than one row in `RAREST` keeps, before rows are drawn."""
    if isinstance(made.model, Ruled) and made.model.refused > 1 - 1 / RAREST:
        raise InvalidInput(
            f"fewer than one synthetic row in {RAREST} meets all conditions",
            field="where",
            value=f"a share of {1 - made.model.refused:.2g}",
            hint="Ask for shares instead",
        )


def shares(made: Synthesized, attributes: Iterable[str], where: Sequence[str] = ()) -> pa.Table:
    """Return the model's share of each cell of some attributes, among the rows that meet all conditions.

    `low` and `high` are the ends of its interval, see `Synthesized.intervals`; empty where the model has none.
    """
    return finite(made.intervals(attributes, where=where, required=False).to_arrow())
