"""Masks of the cells to replace: a column, or those of its cells whose rows meet conditions.

Each attribute has a mask of its own. A mask reads the original values, so that it does not depend on what was drawn
before.

Privacy: the choice of cells can reveal something about them: if incomes above 70,000 are replaced, all others are true.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.domain import Domain
from tacita.domain.conditions import Condition
from tacita.synthesize.imputation.columns import Columns, rows_of

__all__ = ["Replace"]


@dataclass(frozen=True, kw_only=True)
class Replace:
    """An attribute whose cells are drawn anew where all conditions hold; everywhere if there are none."""

    attribute: str
    where: tuple[Condition, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Replace:
        """`income`, or `income: income > 70000 and age < 26`.

        >>> str(Replace.parse("income: income>70000 and age<26"))
        'income: income > 70000 and age < 26'
        """
        name, _, rule = text.partition(":")
        parts = re.split(r"\s+and\s+", rule.strip()) if rule.strip() else []
        return cls(attribute=name.strip(), where=tuple(Condition.parse(part) for part in parts))

    def check(self, domain: Domain) -> Replace:
        """This mask, if the domain has what it is about."""
        domain.check_countable([self.attribute])
        for condition in self.where:
            condition.check(domain)
        return self

    def cells(self, columns: Columns) -> NDArray[np.bool_]:
        """Whether each row's cell is replaced."""
        found = np.ones(rows_of(columns), bool)
        for condition in self.where:
            column = columns[condition.attribute]
            found &= condition.holds(column.attribute, column.values)
        return found

    def __str__(self) -> str:
        return self.attribute + (": " + " and ".join(map(str, self.where)) if self.where else "")

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"attribute": self.attribute, "where": [str(condition) for condition in self.where]}
