"""The decision on a table whose robustness is asked for: dependent, or not.

    statistic of the table >= critical value   ->   dependent

The critical value is the (1 - alpha) quantile of the chi-square law with the degrees of freedom of the hypothesis. On
an exact table that is the textbook test. On a noisy one it is what an analyst does who takes the table for exact;
`private_test` is the test that does not.

Privacy: none of its own; a decision on an exact table must not be published.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from tacita import check
from tacita.models.contingency import degrees_of_freedom, deviance, free_dimensions, pearson

__all__ = ["Rule", "Statistic"]

Statistic = Literal["g2", "pearson"]


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A test of independence as a decision.

    Args:
        statistic: "g2", the likelihood ratio; or "pearson".
        alpha: Level on exact tables.
        df: Degrees of freedom, where a publication states others than the hypothesis has; its own by default.
        present: Whether degrees of freedom count only the levels that a table has, stratum by stratum.

    >>> round(Rule().critical((1, 2, 2)), 2), round(Rule().critical((2, 2, 2)), 2)
    (3.84, 5.99)
    """

    statistic: Statistic = "g2"
    alpha: float = 0.05
    df: int | None = None
    present: bool = False

    def __post_init__(self) -> None:
        check.one_of(self.statistic, "statistic", ("g2", "pearson"))
        check.inside(self.alpha, "alpha", 0, 1)
        check.whole(self.df, "df", least=1, optional=True)

    def freedom(self, shape: Sequence[int]) -> int:
        """Degrees of freedom of a table of this layout."""
        return self.df or degrees_of_freedom(shape)

    def critical(self, shape: Sequence[int]) -> float:
        """The value from which on a table is called dependent."""
        return float(stats.chi2.isf(self.alpha, self.freedom(shape)))

    def statistics(self, tables: ArrayLike, shape: Sequence[int]) -> NDArray[np.float64]:
        """The statistic of each table; cells that noise has made negative count as 0."""
        possible = np.maximum(np.asarray(tables, dtype=np.float64), 0.0)
        return deviance(possible, shape) if self.statistic == "g2" else pearson(possible, shape)

    def dependent(self, tables: ArrayLike, shape: Sequence[int]) -> NDArray[np.bool_]:
        """The decision on each table."""
        found = self.statistics(tables, shape)
        if not self.present:
            return np.asarray(found >= self.critical(shape))
        free = free_dimensions(np.maximum(np.asarray(tables, dtype=np.float64), 0.0), shape)
        limit = np.where(free > 0, stats.chi2.isf(self.alpha, np.maximum(free, 1)), np.inf)
        return np.asarray(found >= limit)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"statistic": self.statistic, "alpha": self.alpha, "df": self.df, "present": self.present}
