"""Questions to a released model: shares of cells, and more rows, given conditions.

Privacy:  post-processing of the model, which costs nothing.
Utility:  shares come from the model's own tables, without the error of drawing rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from tacita.domain.conditions import Condition
from tacita.errors import InvalidInput
from tacita.synthesize.result import Synthesized
from tacita.synthesize.ruled import RAREST, Ruled
from tacita.synthesize.rules import Always, Rules

__all__ = ["check_drawable", "restrict", "shares"]


def restrict(made: Synthesized, where: Sequence[str] = ()) -> Synthesized:
    """Return the model given that conditions such as `age >= 30` hold for every row."""
    if not where:
        return made
    return made.with_rules(Rules(rules=(Always(conditions=tuple(map(Condition.parse, where))),)))


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
    """Return the model's share of each cell of some attributes, among the rows that meet all conditions."""
    names = made.domain.check_countable(attributes)
    if not names:
        raise InvalidInput("must name at least one attribute", field="attributes")
    table = restrict(made, where).project(names)
    codes = np.indices(table.shape).reshape(len(names), -1)
    labels = {
        name: pa.array(made.domain[name].all_labels).take(pa.array(part))
        for name, part in zip(names, codes, strict=True)
    }
    return pa.table(labels | {"share": np.asarray(table.values, float).reshape(-1)})
