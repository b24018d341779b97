"""Coefficients of a fitted line with standard errors and intervals, as one table.

Levels of a feature are compared with their mean, since what they have in common cannot be separated from the intercept.
Intervals are normal ones about the coefficients before they were stretched (`regression.solve`), which first-order
theory is about; the model predicts with those after. Where no error is claimed (a method other than moments, a penalty,
narrowed bounds, noise that drowns the moments), standard errors and intervals are empty and `facts` says why.

Privacy:  reads the model only.    Claim: docs/claims/coefficient-errors.md
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.stats import norm

from tacita import check
from tacita.figures.bars import estimate_bars
from tacita.figures.charts import Interval
from tacita.learn.fitted import FittedModel
from tacita.tables.tabular import Tabular

__all__ = ["Summary", "summarise"]

_SAMPLE = "of the noise: they are about the coefficients that the same rows give without noise"
_POPULATION = "of noise and sampling: they are about the population, if residuals have one variance"
_MOMENTS = ("functional", "sufficient")


@dataclass(frozen=True, kw_only=True, eq=False)
class Summary(Tabular):
    """A line as a table.

    Attributes:
        model: The fitted model.
        level: Level of the intervals.
    """

    model: FittedModel
    level: float

    @cached_property
    def _columns(self) -> dict[str, Any]:
        model, errors = self.model, self.model.errors
        reach = float(norm.ppf((1 + self.level) / 2)) * errors
        return {
            "term": list(model.effects),
            "coefficient": list(model.effects.values()),
            "standard_error": errors.tolist(),
            "low": (model.centres - reach).tolist(),
            "high": (model.centres + reach).tolist(),
        }

    def to_arrow(self) -> pa.Table:
        """One row for each term, the intercept first, in units of the data."""
        return pa.table(self._columns)

    def as_dict(self) -> dict[str, Any]:
        """Plain data; null where no error is claimed."""
        names = list(self._columns)
        rows = zip(*self._columns.values(), strict=True)
        terms = [dict(zip(names, (_plain(value) for value in row), strict=True)) for row in rows]
        return {"target": self.model.target, "level": self.level, "terms": terms, "note": self.facts()["note"]}

    def facts(self) -> Mapping[str, str]:
        """Return the guarantee, and what standard errors are about or why there are none."""
        return {"guarantee": self.model.statement(), "note": self._note}

    @property
    def _note(self) -> str:
        model, found = self.model, self.model.provenance.recipe
        recipe: Mapping[str, Any] = found if isinstance(found, Mapping) else {}
        if model.uncertainty is not None:
            return f"standard errors are {_POPULATION if recipe.get('inference') == 'population' else _SAMPLE}"
        if model.method not in _MOMENTS:
            return f"no standard errors: the method {model.method} has none; functional and sufficient have"
        if model.limits is not None:
            return "no standard errors: bounds were narrowed by the data"
        if recipe.get("penalty") or recipe.get("norm") or recipe.get("penalties"):
            return "no standard errors: a penalty or a norm makes coefficients shorter"
        return "no standard errors: the noise is too large beside the moments; more rows or budget are needed"

    def chart(self) -> str:
        """Draw the coefficients with their intervals, without the intercept."""
        columns = self._columns
        rows = [
            Interval(label=term, value=value, low=_plain(low), high=_plain(high))
            for term, value, low, high in list(
                zip(columns["term"], columns["coefficient"], columns["low"], columns["high"], strict=True)
            )[1:]
        ]
        return estimate_bars(rows, title=f"coefficients for {self.model.target}")


def summarise(model: FittedModel, level: float = 0.95) -> Summary:
    """Return coefficients with standard errors and intervals."""
    check.inside(level, "level", 0, 1)
    return Summary(model=model, level=level)


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not np.isfinite(value) else value
