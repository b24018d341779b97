"""A released linear or logistic model: coefficients, what they cost, and what it took to get them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from tacita.errors import InvalidInput
from tacita.figures.bars import estimate_bars
from tacita.figures.charts import Interval
from tacita.learn.coefficient_errors import CoefficientErrors
from tacita.learn.envelope import Designed
from tacita.learn.feature_map import Array, FeatureMap
from tacita.learn.regression.logistic import probabilities
from tacita.tables.tabular import Tabular

__all__ = ["FittedModel"]

_LARGEST = 1e100  # so that no sum of so many overflows


@dataclass(frozen=True, kw_only=True, eq=False)
class FittedModel(Designed, Tabular):
    """A line for a number, or for the odds of the second of two levels.

    Attributes:
        coefficients: One for each column of the design.
        intercept: Prediction where all columns are 0, with the target from -1 to 1.
        method: Method that fitted it, and the reason for it.
        notes: Notes of the method: for moments, whether they had to be made convex.
        limits: Between which ends of -1..1 the line holds, for each column; values beyond count as the end. None: all.
        uncertainty: Covariance of intercept and coefficients; None where none is claimed.
    """

    mark: ClassVar[str] = "fitted/1"

    coefficients: Array
    intercept: float
    method: str
    why: str
    notes: Mapping[str, Any]
    limits: Array | None = None
    uncertainty: CoefficientErrors | None = None

    def __post_init__(self) -> None:
        numbers = np.append(self.coefficients, self.intercept)
        if len(numbers) != self.design.columns + 1 or not (np.abs(numbers) <= _LARGEST).all():
            rule = f"must be one for each column, none beyond {_LARGEST:g}"
            raise InvalidInput(rule, field="coefficients", value=len(self.coefficients))
        if self.limits is not None and not self._are_limits(self.limits):
            raise InvalidInput("must be rising ends from -1 to 1, two for each column", field="limits")
        if self.uncertainty is not None:
            self.uncertainty.check(self.design.columns + 1)

    def _are_limits(self, limits: Array) -> bool:
        shaped = limits.shape == (self.design.columns, 2)
        return shaped and bool((limits[:, 0] < limits[:, 1]).all() and (np.abs(limits) <= 1).all())

    @property
    def kind(self) -> str:
        """Its name in `learn.models.KINDS`."""
        return self.design.task

    @property
    def classes(self) -> tuple[str, ...] | None:
        """The two levels; None where it predicts a number."""
        return self.domain[self.target].labels if self.design.task == "logistic" else None

    # -- in the units of the data -----------------------------------------------------------------------------------

    @property
    def named(self) -> dict[str, float]:
        """Coefficients by column, in units of the target for a unit of the feature; of the log odds if logistic."""
        half = (self.design.ends[:, 1] - self.design.ends[:, 0]) / 2
        return dict(zip(self.design.names, (self.coefficients * self._half / half).tolist(), strict=True))

    @property
    def at_zero(self) -> float:
        """Prediction where all features are 0, in units of the target."""
        ends = self.design.ends
        half, middle = (ends[:, 1] - ends[:, 0]) / 2, ends.mean(axis=1)
        low, high = self.design.target_ends
        lift = 0.0 if self.design.task == "logistic" else (low + high) / 2
        return lift + self._half * (self.intercept - float((self.coefficients * middle / half).sum()))

    @property
    def _half(self) -> float:
        low, high = self.design.target_ends
        return 1.0 if self.design.task == "logistic" else (high - low) / 2

    def _contrasts(self) -> Array:
        """Map of intercept and coefficients to those in which the levels of a feature add up to 0.

        Predictions stay the same: what levels have in common goes into the intercept, and without noise it is there.
        """
        found = np.eye(self.design.columns + 1)
        if self.intercept == 0:  # the model has none
            return found
        start = 1
        for width in self.design.widths:
            if width > 1:
                found[start : start + width, start : start + width] -= 1 / width
                found[0, start : start + width] = 1 / width
            start += width
        return found

    def _to_units(self) -> Array:
        """Map of intercept and coefficients to units of the data, but for the middle of the target."""
        ends = self.design.ends
        half, middle = (ends[:, 1] - ends[:, 0]) / 2, ends.mean(axis=1)
        turned = np.diag(np.concatenate([[1.0], 1 / half]))
        turned[0, 1:] = -middle / half
        return np.asarray(self._half * turned)

    @property
    def errors(self) -> Array:
        """Standard errors of `effects`, in their order; NaN where none are claimed."""
        if self.uncertainty is None:
            return np.full(self.design.columns + 1, math.nan)
        turned = self._to_units() @ self._contrasts()
        return np.asarray(np.sqrt(np.maximum(np.diag(turned @ self.uncertainty.covariance @ turned.T), 0)))

    @property
    def centres(self) -> Array:
        """Middles of the intervals of `effects`, which errors are about; NaN where none are claimed."""
        if self.uncertainty is None:
            return np.full(self.design.columns + 1, math.nan)
        return self._effects(self.uncertainty.centre)

    @property
    def effects(self) -> dict[str, float]:
        """Intercept and coefficients as people read them: in units of the data, levels against their mean."""
        found = self._effects(np.concatenate([[self.intercept], self.coefficients]))
        return dict(zip(("(intercept)", *self.design.names), found.tolist(), strict=True))

    def _effects(self, terms: Array) -> Array:
        found = self._to_units() @ self._contrasts() @ terms
        found[0] += 0.0 if self.design.task == "logistic" else sum(self.design.target_ends) / 2
        return np.asarray(found)

    def to_arrow(self) -> pa.Table:
        """One row for each column of the design, in units of the data, the intercept first; `summary` has intervals."""
        found = self.effects
        return pa.table(
            {"term": list(found), "coefficient": list(found.values()), "standard_error": self.errors.tolist()}
        )

    def chart(self) -> str:
        """Draw the coefficients on the scale from -1 to 1, on which they can be compared."""
        pairs = zip(self.design.names, self.coefficients.tolist(), strict=True)
        rows = [Interval(label=name, value=value) for name, value in pairs]
        return estimate_bars(rows, title=f"coefficients for {self.target}")

    # -- predicting -------------------------------------------------------------------------------------------------

    def scores(self, rows: pa.Table | pa.RecordBatch) -> Array:
        """The number that is predicted, or the log odds; NaN for a row that lacks a number."""
        x, _ = self.design.matrix(rows)
        if self.limits is not None:
            x = np.clip(x, self.limits[:, 0], self.limits[:, 1])
        # row by row: a product of matrices rounds a row otherwise among many than alone
        score = (np.ascontiguousarray(x) * self.coefficients).sum(axis=1) + self.intercept
        if self.design.task == "logistic":
            return np.asarray(score)
        return self.in_units(score)

    def probabilities(self, rows: pa.Table | pa.RecordBatch) -> Array:
        """The probability of the second level."""
        if self.design.task != "logistic":
            raise InvalidInput("a linear model has no probabilities", field="task", value=self.design.task)
        return probabilities(self.scores(rows))

    def predict(self, rows: pa.Table | pa.RecordBatch) -> pa.Array:
        """A number within the public bounds, or a level; null for a row that lacks a number."""
        score = self.scores(rows)
        absent = np.isnan(score)
        if self.design.task == "linear":
            return pa.array(np.clip(score, *self.design.target_ends), mask=absent)
        labels = np.array(self.domain[self.target].labels)
        return pa.array(labels[(np.nan_to_num(score) > 0).astype(int)], mask=absent)

    # -- plain data -------------------------------------------------------------------------------------------------

    def parts(self) -> dict[str, Any]:
        """Fields of the model itself, as plain data."""
        return {
            "design": self.design.as_dict(),
            "coefficients": self.coefficients.tolist(),
            "intercept": self.intercept,
            "method": self.method,
            "why": self.why,
            "notes": {name: _plain(value) for name, value in self.notes.items()},
            **({} if self.limits is None else {"limits": self.limits.tolist()}),
            **({} if self.uncertainty is None else {"uncertainty": self.uncertainty.as_dict(), "terms": self._terms()}),
        }

    def _terms(self) -> list[dict[str, Any]]:
        """Coefficients in units of the data with their standard errors, for those who read the file by other means."""
        pairs = zip(self.effects.items(), self.errors.tolist(), strict=True)
        return [{"term": term, "coefficient": value, "standard_error": error} for (term, value), error in pairs]

    @staticmethod
    def parts_of(data: Mapping[str, Any]) -> dict[str, Any]:
        """The same as arguments again."""
        plain = {name: data[name] for name in ("intercept", "method", "why", "notes")}
        coefficients = np.array(data["coefficients"], float)
        limits = None if data.get("limits") is None else np.array(data["limits"], float)
        known = data.get("uncertainty")
        return plain | {
            "design": FeatureMap.from_dict(data["design"]),
            "coefficients": coefficients,
            "limits": limits,
            "uncertainty": None if known is None else CoefficientErrors.from_dict(known),
        }


def _plain(value: Any) -> Any:
    """A number that JSON can hold; what is infinite is none."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
