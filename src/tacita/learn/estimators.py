"""The same models with the conventions of scikit-learn: fit, predict, get_params, set_params.

Bounds are public and must be given: nothing is read off the arrays. Arrays become an engine's rows, so what protects
rows in a database protects them here. Without a `random_state` noise is secure; with one it can be repeated, and what
comes out is no more than a simulation.

Every fit spends its budget again, also those of `cross_val_score` and of a grid search. With a `ledger` and an
`account` each fit is charged before it reads a row, and refused when the account is used up; without them a
`PrivacyWarning` says what was spent. Steps of a pipeline that are fitted to the same rows, such as scalers, are not
private: scale by public bounds instead.

Privacy:  that of `Regression` and `Trees`.   Claim: docs/claims/private-regression.md, docs/claims/private-trees.md
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from tacita.domain import Categorical, Domain, Numeric
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput, PrivacyWarning
from tacita.learn.regression.regression import Regression
from tacita.learn.trees.trees import Trees
from tacita.noise import SecureSource, SeededSource, Source
from tacita.plans.session import Session
from tacita.privacy.budget import Budget
from tacita.privacy.ledger import Ledger
from tacita.privacy.unit import Neighbours, Unit

__all__ = [
    "TARGET",
    "PrivateBase",
    "PrivateClassifier",
    "PrivateLinearRegression",
    "PrivateLogisticRegression",
    "PrivateRegressor",
    "PrivateTreeClassifier",
]

TARGET = "target"
_UNPAID = (
    "this fit spends {budget} of the rows' privacy and no ledger keeps account of it; each further fit spends more. "
    "Pass ledger= and account= to be charged and stopped. Steps fitted to the same rows before it are not private"
)
_BINS = 16


class PrivateBase(BaseEstimator):  # type: ignore[misc]
    """Base of all estimators: a budget, public bounds, and rows as an engine."""

    bounds: Any
    epsilon: float
    delta: float
    neighbours: str
    outside: str
    random_state: int | None
    ledger: Ledger | None
    account: str | None

    def _budget(self) -> Budget:
        return Budget(epsilon=self.epsilon, delta=self.delta)

    def _source(self) -> Source:
        return SecureSource() if self.random_state is None else SeededSource(int(self.random_state))

    def _ends(self, columns: int) -> npt.NDArray[np.float64]:
        """One pair for all columns, or one pair for each."""
        if self.bounds is None:
            raise InvalidInput("must be given: they are public", field="bounds", hint="bounds=(low, high)")
        ends = np.asarray(self.bounds, float)
        ends = np.tile(ends, (columns, 1)) if ends.ndim == 1 else ends
        if ends.shape != (columns, 2):
            raise InvalidInput("must be one pair, or one for each column", field="bounds", value=ends.shape)
        return ends

    def _columns(self, X: Any) -> dict[str, Any]:
        return {f"x{place}": column for place, column in enumerate(np.asarray(X, float).T)}

    def _attributes(self, columns: int) -> list[Any]:
        ends = self._ends(columns)
        return [
            Numeric(name=f"x{place}", bounds=(low, high), bins=_BINS, missing=True)
            for place, (low, high) in enumerate(ends.tolist())
        ]

    def _check_inside(self, values: Any, ends: Any, field: str) -> None:
        """Refuse rows beyond the bounds, where that is asked for: the caller learns that there are some."""
        if self.outside not in ("clip", "leave-out", "refuse"):
            raise InvalidInput("must be clip, leave-out or refuse", field="outside", value=self.outside)
        ends = np.atleast_2d(ends)
        if self.outside == "refuse" and bool(((values < ends[:, 0]) | (values > ends[:, 1])).any()):
            raise InvalidInput("a row lies beyond the bounds", field=field, hint="Widen the bounds, or clip")

    def _fit(self, recipe: Any, domain: Domain, columns: dict[str, Any]) -> None:
        plan = recipe.calibrate(domain, self._budget(), unit=Unit.row(), neighbours=Neighbours(self.neighbours))
        engine, source = LocalEngine(domain, pa.table(columns)), self._source()
        if (self.ledger is None) != (self.account is None):
            raise InvalidInput("a ledger goes with an account", field="ledger" if self.ledger is None else "account")
        if self.ledger is not None and self.account is not None:
            session = Session(
                engine=engine, ledger=self.ledger, account=self.account, principal="scikit-learn", source=source
            )
            self.model_ = session.ask(plan, purpose=f"fit {type(self).__name__}")
        else:
            warnings.warn(PrivacyWarning(_UNPAID.format(budget=self._budget())), stacklevel=3)
            self.model_ = plan.run(engine, source)
        self.event_ = plan.event

    def _rows(self, X: Any) -> pa.Table:
        check_is_fitted(self, "model_")
        return pa.table(self._columns(validate_data(self, X, reset=False)))

    def _outside(self) -> Any:
        return "leave-out" if self.outside == "leave-out" else "clip"


class PrivateRegressor(RegressorMixin, PrivateBase):  # type: ignore[misc]
    """Base of regressors: bounds of the target are public, and are stored in the schema."""

    target_bounds: Any

    def _read(self, X: Any, y: Any) -> tuple[Any, Any, Domain]:
        X, y = validate_data(self, X, y, y_numeric=True)
        if self.target_bounds is None:
            raise InvalidInput("must be given: they are public", field="target_bounds", hint="target_bounds=(0, 10)")
        low, high = (float(end) for end in self.target_bounds)
        self._check_inside(X, self._ends(X.shape[1]), "X")
        self._check_inside(np.asarray(y, float)[:, None], (low, high), "y")
        target = Numeric(name=TARGET, bounds=(low, high), bins=_BINS)
        return self._columns(X), np.asarray(y, float), Domain(attributes=[*self._attributes(X.shape[1]), target])

    def predict(self, X: Any) -> npt.NDArray[np.float64]:
        """A number within the target's bounds for each row."""
        rows = self._rows(X)
        return np.asarray(self.model_.predict(rows).to_numpy(zero_copy_only=False), float)


class PrivateLinearRegression(PrivateRegressor):
    """A private line: linear, ridge, LASSO or elastic net.

    Args:
        epsilon, delta: The budget of one fit.
        bounds: Public (low, high) of all features, or one pair for each.
        target_bounds: Public (low, high) of the target.
        method, penalty, alpha, convexify, norm, fit_intercept: As for `Regression`.
        outside: "clip", "leave-out" or "refuse".
        neighbours: "add-remove" or "replace-one".
        random_state: None for secure noise; a whole number for a simulation that can be repeated.
        ledger, account: Account that each fit is charged to; its unit must be rows.
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 0.0,
        bounds: Any = None,
        target_bounds: Any = None,
        method: str = "auto",
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
    ) -> None:
        self.ledger, self.account = ledger, account
        self.epsilon, self.delta = epsilon, delta
        self.bounds, self.target_bounds = bounds, target_bounds
        self.method, self.penalty, self.alpha = method, penalty, alpha
        self.convexify, self.norm, self.fit_intercept = convexify, norm, fit_intercept
        self.outside, self.neighbours, self.random_state = outside, neighbours, random_state

    def fit(self, X: Any, y: Any) -> PrivateLinearRegression:
        """Fit once; costs the budget."""
        columns, targets, domain = self._read(X, y)
        recipe = Regression(
            target=TARGET,
            features=tuple(columns),
            method=self.method,  # type: ignore[arg-type]
            penalty=self.penalty,
            alpha=self.alpha,
            convexify=self.convexify,  # type: ignore[arg-type]
            norm=self.norm,
            intercept=self.fit_intercept,
            outside=self._outside(),
        )
        self._fit(recipe, domain, columns | {TARGET: targets})
        self.coef_ = np.array(list(self.model_.named.values()))
        self.intercept_ = self.model_.at_zero
        return self


class PrivateClassifier(ClassifierMixin, PrivateBase):  # type: ignore[misc]
    """Base of classifiers: classes are public, and are stored in the schema."""

    classes: Any

    def _read(self, X: Any, y: Any) -> tuple[Any, Any, Domain]:
        X, y = validate_data(self, X, y)
        check_classification_targets(y)
        self.classes_ = np.unique(y) if self.classes is None else np.asarray(self.classes)
        self._check_inside(X, self._ends(X.shape[1]), "X")
        texts = tuple(str(place) for place in range(len(self.classes_)))
        attributes = [*self._attributes(X.shape[1]), Categorical(name=TARGET, levels=texts)]
        place = dict(zip(self.classes_.tolist(), texts, strict=True))
        targets = [place.get(label) for label in np.asarray(y).tolist()]
        return self._columns(X), targets, Domain(attributes=attributes)

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """The probability of each class of each row."""
        rows = self._rows(X)
        found = np.asarray(self.model_.probabilities(rows))
        return np.column_stack([1 - found, found]) if found.ndim == 1 else found

    def predict(self, X: Any) -> Any:
        """The likeliest class of each row."""
        predicted = self.predict_proba(X)
        return self.classes_[predicted.argmax(axis=1)]


class PrivateLogisticRegression(PrivateClassifier):
    """Private odds of the second of two classes.

    Args:
        classes: The two classes, public. Without them they are read off y, which reveals that each occurs.
        epsilon, delta, bounds, method, penalty, convexify, norm, fit_intercept, outside, neighbours, random_state,
            ledger, account: As for `PrivateLinearRegression`.
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 0.0,
        bounds: Any = None,
        classes: Any = None,
        method: str = "auto",
        penalty: float = 0.0,
        convexify: str = "floor",
        norm: float | None = None,
        fit_intercept: bool = True,
        outside: str = "clip",
        neighbours: str = "add-remove",
        random_state: int | None = None,
        ledger: Ledger | None = None,
        account: str | None = None,
    ) -> None:
        self.ledger, self.account = ledger, account
        self.epsilon, self.delta, self.bounds, self.classes = epsilon, delta, bounds, classes
        self.method, self.penalty, self.convexify, self.norm = method, penalty, convexify, norm
        self.fit_intercept, self.outside = fit_intercept, outside
        self.neighbours, self.random_state = neighbours, random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, X: Any, y: Any) -> PrivateLogisticRegression:
        """Fit once; costs the budget."""
        columns, targets, domain = self._read(X, y)
        if len(self.classes_) != 2:
            count = len(self.classes_)
            raise ValueError(f"Only binary classification is supported: y has {count} class{'es' * (count > 1)}")
        recipe = Regression(
            target=TARGET,
            features=tuple(columns),
            task="logistic",
            method=self.method,  # type: ignore[arg-type]
            penalty=self.penalty,
            convexify=self.convexify,  # type: ignore[arg-type]
            norm=self.norm,
            intercept=self.fit_intercept,
            outside=self._outside(),
        )
        self._fit(recipe, domain, columns | {TARGET: pa.array(targets, pa.string())})
        self.coef_ = np.array([list(self.model_.named.values())])
        self.intercept_ = np.array([self.model_.at_zero])
        return self

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """The log odds of the second class."""
        rows = self._rows(X)
        return np.asarray(self.model_.scores(rows))


class PrivateTreeClassifier(PrivateClassifier):
    """A private tree or forest over 16 bins of each feature.

    Args:
        depth, trees: As for `Trees`.
        classes, epsilon, delta, bounds, outside, neighbours, random_state, ledger, account: As for
            `PrivateLogisticRegression`.
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 0.0,
        bounds: Any = None,
        classes: Any = None,
        depth: int = 5,
        trees: int = 1,
        outside: str = "clip",
        neighbours: str = "add-remove",
        random_state: int | None = None,
        ledger: Ledger | None = None,
        account: str | None = None,
    ) -> None:
        self.ledger, self.account = ledger, account
        self.epsilon, self.delta, self.bounds, self.classes = epsilon, delta, bounds, classes
        self.depth, self.trees, self.outside = depth, trees, outside
        self.neighbours, self.random_state = neighbours, random_state

    def fit(self, X: Any, y: Any) -> PrivateTreeClassifier:
        """Grow once; costs the budget."""
        columns, targets, domain = self._read(X, y)
        if self.outside == "leave-out":  # by each row alone; trees take all that they are given
            ends, values = self._ends(len(columns)), np.column_stack(list(columns.values()))
            inside = np.asarray(~((values < ends[:, 0]) | (values > ends[:, 1])).any(axis=1))
            columns = {name: column[inside] for name, column in columns.items()}
            targets = [target for target, kept in zip(targets, inside, strict=True) if kept]
        recipe = Trees(target=TARGET, features=tuple(columns), depth=self.depth, trees=self.trees)
        self._fit(recipe, domain, columns | {TARGET: pa.array(targets, pa.string())})
        return self
