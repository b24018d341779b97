"""Regressors with the conventions of scikit-learn; see `base` for what is public and who pays.

Privacy:  that of `Regression`.   Claim: docs/claims/private-regression.md, docs/claims/coefficient-errors.md
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from tacita.domain import Domain, Numeric
from tacita.errors import InvalidInput
from tacita.learn.estimators.base import PrivateBase, no_values_shown
from tacita.learn.estimators.inputs import BINS, as_target
from tacita.learn.regression.regression import Regression
from tacita.learn.summary import Summary, summarise
from tacita.privacy.ledger import Ledger

__all__ = ["PrivateLinearRegression", "PrivateRegressor"]


class PrivateRegressor(RegressorMixin, PrivateBase):  # type: ignore[misc]
    """Base of regressors: bounds of the target are public, and are stored in the schema."""

    target_bounds: Any

    def _read(self, X: Any, y: Any) -> tuple[pa.Table, Domain, str]:
        """Rows with the target among them, their domain, and the name of the target."""
        y, named = as_target(y)
        features, attributes, y = self._read_features(X, y, y_numeric=True)
        target = self._target_name(named, features)
        if self.target_bounds is None and self.schema is not None and target in self.schema.names:
            own = self.schema[target]
        elif self.target_bounds is None:
            raise InvalidInput("must be given: they are public", field="target_bounds", hint="target_bounds=(0, 10)")
        else:
            low, high = (float(end) for end in self.target_bounds)
            own = Numeric(name=target, bounds=(low, high), bins=BINS)
        with no_values_shown():
            values = np.asarray(y, float)
        if isinstance(own, Numeric) and self.outside == "refuse":
            low, high = own.bounds
            if bool(((values < low) | (values > high)).any()):
                raise InvalidInput("a row lies beyond the bounds", field="y", hint="Widen the bounds, or clip")
        return features.append_column(target, pa.array(values)), Domain(attributes=[*attributes, own]), target

    def predict(self, X: Any) -> npt.NDArray[np.float64]:
        """A number within the target's bounds for each row."""
        rows = self._rows(X)
        return np.asarray(self.model_.predict(rows).to_numpy(zero_copy_only=False), float)


class PrivateLinearRegression(PrivateRegressor):
    """A private line: linear, ridge, LASSO or elastic net.

    Args:
        epsilon, delta: The budget of one fit.
        bounds: Public (low, high) of all numbers, one pair for each, or by name of the column.
        levels: Public levels of columns of texts in a frame, by name.
        schema: Public schema of the columns of a frame, instead of bounds and levels; also of the target, by its name.
        target_bounds: Public (low, high) of the target.
        inference: "sample": standard errors are those of the noise, for the coefficients of these rows. "population"
            adds sampling; it releases the sum of squared targets too, for more noise, little with a delta.
        method, penalty, alpha, convexify, norm, fit_intercept: As for `Regression`.
        outside: "clip", "leave-out" or "refuse".
        neighbours: "add-remove" or "replace-one".
        random_state: None for secure noise; a whole number for a simulation that can be repeated.
        ledger, account: Account that each fit is charged to; its unit must be rows.
        key: Name of the fit: the same again is not charged. "auto" makes it of the fit itself.

    Attributes:
        coef_, intercept_: In units of the data; levels of a feature against their mean.
        coef_se_, intercept_se_: Their standard errors; NaN where none is claimed (`summary` says why).
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 0.0,
        bounds: Any = None,
        levels: Any = None,
        schema: Domain | None = None,
        target_bounds: Any = None,
        method: str = "auto",
        inference: str = "sample",
        penalty: float = 0.0,
        alpha: float = 1.0,
        convexify: str = "floor",
        norm: float | None = None,
        fit_intercept: bool = True,
        outside: str = "clip",
        neighbours: str = "add-remove",
        random_state: int | None = None,
        ledger: Ledger | None = None,
        account: str | None = None,
        key: str | None = None,
    ) -> None:
        self.ledger, self.account, self.key = ledger, account, key
        self.levels, self.schema = levels, schema
        self.epsilon, self.delta = epsilon, delta
        self.bounds, self.target_bounds = bounds, target_bounds
        self.method, self.penalty, self.alpha, self.inference = method, penalty, alpha, inference
        self.convexify, self.norm, self.fit_intercept = convexify, norm, fit_intercept
        self.outside, self.neighbours, self.random_state = outside, neighbours, random_state

    def fit(self, X: Any, y: Any) -> PrivateLinearRegression:
        """Fit once; costs the budget."""
        rows, domain, target = self._read(X, y)
        recipe = Regression(
            target=target,
            features=tuple(name for name in rows.column_names if name != target),
            method=self.method,  # type: ignore[arg-type]
            penalty=self.penalty,
            alpha=self.alpha,
            convexify=self.convexify,  # type: ignore[arg-type]
            norm=self.norm,
            intercept=self.fit_intercept,
            outside=self._outside(),
            inference=self.inference,  # type: ignore[arg-type]
        )
        self._fit(recipe, domain, rows)
        self.intercept_, *slopes = self.model_.effects.values()
        self.coef_, errors = np.array(slopes), self.model_.errors
        self.coef_se_, self.intercept_se_ = errors[1:], float(errors[0])
        return self

    def summary(self, level: float = 0.95) -> Summary:
        """Coefficients with standard errors and intervals, as a table."""
        check_is_fitted(self, "model_")
        return summarise(self.model_, level)
