"""Classifiers with the conventions of scikit-learn; see `base` for what is public and who pays.

Privacy:  that of `Regression` and `Trees`.   Claim: docs/claims/private-regression.md, docs/claims/private-trees.md
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from tacita.domain import Boolean, Categorical, Domain
from tacita.errors import InvalidInput, PrivacyWarning
from tacita.learn.estimators.base import PrivateBase
from tacita.learn.estimators.inputs import as_target, beyond
from tacita.learn.regression.regression import Regression
from tacita.learn.summary import Summary, summarise
from tacita.learn.trees.trees import Trees
from tacita.privacy.ledger import Ledger

__all__ = ["PrivateClassifier", "PrivateLogisticRegression", "PrivateTreeClassifier"]


_OCCURRING = "classes were read off y, so which of them occur is not private: pass classes="


class PrivateClassifier(ClassifierMixin, PrivateBase):  # type: ignore[misc]
    """Base of classifiers: classes are public, and are stored in the schema. `classes_` has the spelling of y."""

    classes: Any

    def _read(self, X: Any, y: Any) -> tuple[pa.Table, Domain, str]:
        """Rows with the target among them, their domain, and the name of the target."""
        y, named = as_target(y)
        features, attributes, y = self._read_features(X, y)
        check_classification_targets(y)
        target = self._target_name(named, features)
        self.classes_ = self._classes_of(y, target)
        texts = tuple(str(place) for place in range(len(self.classes_)))
        place = dict(zip(self.classes_.tolist(), texts, strict=True))
        targets = pa.array([place.get(label) for label in np.asarray(y).tolist()], pa.string())
        domain = Domain(attributes=[*attributes, Categorical(name=target, levels=texts)])
        return features.append_column(target, targets), domain, target

    def _classes_of(self, y: Any, target: str) -> npt.NDArray[Any]:
        """Declared classes, those of the schema in the spelling of y, or, without a ledger, those that occur."""
        if self.classes is not None:
            return np.asarray(self.classes)
        if self.schema is None or target not in self.schema.names:
            if self.ledger is not None:
                hint = "classes=['...', '...'], in the spelling of y"
                raise InvalidInput("must be given with a ledger: they are public", field="classes", hint=hint)
            warnings.warn(PrivacyWarning(_OCCURRING), stacklevel=4)
            return np.unique(y)
        own, kind = self.schema[target], np.asarray(y).dtype.kind
        if not isinstance(own, Categorical | Boolean) and not hasattr(own, "levels"):
            raise InvalidInput("must have levels in the schema", field=target, value=own.kind)
        if isinstance(own, Boolean):
            if kind not in "bui":
                hint = "classes=['no', 'yes'], in the spelling of y"
                raise InvalidInput("a boolean target must be true and false, or 0 and 1", field=target, hint=hint)
            return np.array([False, True]).astype(np.asarray(y).dtype)
        return np.array(own.labels).astype(np.asarray(y).dtype) if kind in "ui" else np.array(own.labels)

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
        classes: The two classes, public. With a ledger they must be given, or be in the schema. Without one they are
            read off y, which reveals that each occurs; a `PrivacyWarning` says so.
        epsilon, delta, bounds, levels, schema, method, penalty, convexify, norm, fit_intercept, outside, neighbours,
            random_state, ledger, account, key: As for `PrivateLinearRegression`.

    Attributes:
        coef_, intercept_: Of the log odds, in units of the features.
        coef_se_, intercept_se_: Standard errors from the noise; NaN where none is claimed (`summary` says why).
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 0.0,
        bounds: Any = None,
        levels: Any = None,
        schema: Domain | None = None,
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
        key: str | None = None,
    ) -> None:
        self.ledger, self.account, self.key = ledger, account, key
        self.levels, self.schema = levels, schema
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
        rows, domain, target = self._read(X, y)
        if len(self.classes_) != 2:
            count = len(self.classes_)
            raise ValueError(f"Only binary classification is supported: y has {count} class{'es' * (count > 1)}")
        recipe = Regression(
            target=target,
            features=tuple(name for name in rows.column_names if name != target),
            task="logistic",
            method=self.method,  # type: ignore[arg-type]
            penalty=self.penalty,
            convexify=self.convexify,  # type: ignore[arg-type]
            norm=self.norm,
            intercept=self.fit_intercept,
            outside=self._outside(),
        )
        self._fit(recipe, domain, rows)
        level, *slopes = self.model_.effects.values()
        self.coef_, self.intercept_, errors = np.array([slopes]), np.array([level]), self.model_.errors
        self.coef_se_, self.intercept_se_ = errors[None, 1:], errors[:1]
        return self

    def summary(self, level: float = 0.95) -> Summary:
        """Coefficients with standard errors and intervals, as a table."""
        check_is_fitted(self, "model_")
        return summarise(self.model_, level)

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """The log odds of the second class."""
        rows = self._rows(X)
        return np.asarray(self.model_.scores(rows))


class PrivateTreeClassifier(PrivateClassifier):
    """A private tree or forest over 16 bins of each feature.

    Args:
        depth, trees: As for `Trees`.
        classes, epsilon, delta, bounds, levels, schema, outside, neighbours, random_state, ledger, account, key: As for
            `PrivateLogisticRegression`.
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 0.0,
        bounds: Any = None,
        levels: Any = None,
        schema: Domain | None = None,
        classes: Any = None,
        depth: int = 5,
        trees: int = 1,
        outside: str = "clip",
        neighbours: str = "add-remove",
        random_state: int | None = None,
        ledger: Ledger | None = None,
        account: str | None = None,
        key: str | None = None,
    ) -> None:
        self.ledger, self.account, self.key = ledger, account, key
        self.levels, self.schema = levels, schema
        self.epsilon, self.delta, self.bounds, self.classes = epsilon, delta, bounds, classes
        self.depth, self.trees, self.outside = depth, trees, outside
        self.neighbours, self.random_state = neighbours, random_state

    def fit(self, X: Any, y: Any) -> PrivateTreeClassifier:
        """Grow once; costs the budget."""
        rows, domain, target = self._read(X, y)
        features = tuple(name for name in rows.column_names if name != target)
        if self.outside == "leave-out":  # by each row alone; trees take all that they are given
            inside = ~beyond(rows, [domain[name] for name in features])
            rows = rows.filter(pa.array(inside))
        self._fit(Trees(target=target, features=features, depth=self.depth, trees=self.trees), domain, rows)
        return self
