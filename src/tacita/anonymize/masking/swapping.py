"""Rank swapping [Moore 1996]: values of an attribute are exchanged between rows whose ranks are at most p % apart.

Rows are sorted by the attribute. From the lowest on, each row that has not been swapped exchanges its value with a row
drawn uniformly among those above it, within the window, that have not been swapped; the last may find none.

Privacy: none. A row's value is another row's value, whose rank is at most p % of the rows away.
Utility: the table of the attribute alone is kept exactly; correlations with other attributes shrink with p.
Cost: O(n log n), whatever the window: a binary indexed tree counts and finds the rows that have not been swapped.
Claim page: docs/claims/masking.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacita import check
from tacita.anonymize.masking.columns import Columns
from tacita.anonymize.masking.method import Effect, MaskingMethod
from tacita.anonymize.parameters import described
from tacita.common.compiled import compiled
from tacita.noise.source import Source

__all__ = ["SwapRanks"]


@dataclass(frozen=True, kw_only=True)
class SwapRanks(MaskingMethod):
    """Exchange values between rows of nearby ranks."""

    step: ClassVar[str] = "swap"
    summary: ClassVar[str] = "Exchange values between rows whose ranks are at most so many percent apart."
    main: ClassVar[str] = "percent"
    form: ClassVar[str] = "income=5"
    kinds: ClassVar[tuple[str, ...]] = ("numeric", "ordinal", "date")

    percent: float = field(metadata=described("Most distance of ranks, in percent of the rows.", gt=0, le=100))

    def check(self) -> None:
        """Check the percentage."""
        check.inside(self.percent, "percent", 0, 100 + 1e-9)

    def apply(self, columns: Columns, source: Source) -> Effect:
        """Swap each attribute on its own; missing cells stay where they are."""
        changed, figures = [], {}
        rng = np.random.default_rng(source.words(4))
        for name in self.attributes:
            column = columns[name]
            rows = np.flatnonzero(~column.missing)
            # rows of equal values come in random order, so that the order of the source does not matter
            order = rows[np.lexsort((rng.random(len(rows)), column.values[rows]))]
            window = int(len(rows) * self.percent / 100)
            partner = _partners(len(rows), window, rng.random(len(rows)))
            values = column.values.copy()
            values[order] = column.values[order[partner]]
            changed.append(column.with_values(values))
            figures[name] = {"window": window, "swapped": int((partner != np.arange(len(rows))).sum())}
        found: dict[str, Any] = {"swaps": figures}
        return Effect(columns=columns.replaced(changed), figures=found)


@compiled
def _take(free: NDArray[np.int64], rank: int) -> None:
    """Take a rank out of the tree of free ranks."""
    at = rank + 1
    while at < len(free):
        free[at] -= 1
        at += at & -at


@compiled
def _partners(count: int, window: int, chances: NDArray[np.float64]) -> NDArray[np.int64]:
    """The rank that each rank exchanges with; itself where no one is left in its window."""
    partner = np.arange(count)
    free = np.zeros(count + 1, np.int64)  # binary indexed tree over ranks that may still be drawn
    for at in range(1, count + 1):
        free[at] = at & -at
    top = 1
    while top * 2 <= count:
        top *= 2
    swapped = np.zeros(count, np.bool_)
    for rank in range(count):
        if swapped[rank]:
            continue
        _take(free, rank)
        found, at = 0, min(rank + window, count - 1) + 1
        while at > 0:
            found += free[at]
            at -= at & -at
        if found:
            left, other, step = min(int(chances[rank] * found), found - 1), 0, top
            while step > 0:
                if other + step <= count and free[other + step] <= left:
                    other += step
                    left -= free[other]
                step //= 2
            partner[rank], partner[other] = other, rank
            swapped[rank] = swapped[other] = True
            _take(free, other)
    return partner
