"""Base of all estimators: a budget, public declarations, rows as an engine, and who pays.

What is public must be declared (`inputs`): nothing is read off the rows. Rows become an engine's, so what protects rows
in a database protects them here. Without a `random_state` noise is secure; with one it can be repeated, and what comes
out is no more than a simulation.

Every fit spends its budget again, also those of `cross_val_score` and of a grid search. With a `ledger` and an
`account` each fit is charged before it reads a row, and refused when the account is used up; without them a
`PrivacyWarning` says what was spent. Steps of a pipeline that are fitted to the same rows, such as scalers, are not
private: scale by public bounds instead.

A `key` names one fit. The same fit again with the same key (the same rows, declarations and parameters) returns the
stored model and charges nothing; other rows or parameters are refused. `key="auto"` makes the key of the fit itself, so
that each different fit is charged once. After a fit `key_` and `charge_` have what the ledger knows it by. Keys and
questions name the rows by a digest that is keyed with the ledger's secret, so they confirm no guess of a row.

Privacy:  that of the recipe.   Claim: docs/claims/private-regression.md, docs/claims/private-trees.md
"""

from __future__ import annotations

import hashlib
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_random_state, column_or_1d
from sklearn.utils.validation import check_is_fitted, validate_data

from tacita.domain import Attribute, Domain
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput, PrivacyWarning
from tacita.learn.estimators.inputs import as_frame, beyond, declare, in_order, is_plain
from tacita.noise import SecureSource, SeededSource, Source
from tacita.plans.session import Session
from tacita.privacy.budget import Budget
from tacita.privacy.ledger import Ledger
from tacita.privacy.unit import Neighbours, Unit

__all__ = ["TARGET", "PrivateBase", "no_values_shown"]

TARGET = "target"
_UNPAID = (
    "this fit spends {budget} of the rows' privacy and no ledger keeps account of it; each further fit spends more. "
    "Pass ledger= and account= to be charged and stopped. Steps fitted to the same rows before it are not private"
)


class PrivateBase(BaseEstimator):  # type: ignore[misc]
    """Base of all estimators."""

    bounds: Any
    levels: Any
    schema: Domain | None
    epsilon: float
    delta: float
    neighbours: str
    outside: str
    random_state: int | None
    ledger: Ledger | None
    account: str | None
    key: str | None

    def _budget(self) -> Budget:
        return Budget(epsilon=self.epsilon, delta=self.delta)

    def _source(self) -> Source:
        if self.random_state is None:
            return SecureSource()
        if isinstance(self.random_state, int | np.integer):
            return SeededSource(int(self.random_state))
        return SeededSource(int(check_random_state(self.random_state).randint(2**31)))

    def _outside(self) -> Any:
        return "leave-out" if self.outside == "leave-out" else "clip"

    # -- rows -------------------------------------------------------------------------------------------------------

    def _read_features(self, X: Any, y: Any, **checks: Any) -> tuple[pa.Table, list[Attribute], Any]:
        """The rows of a fit with their attributes, and the target; remembers names and order of the columns."""
        if self.outside not in ("clip", "leave-out", "refuse"):
            raise InvalidInput("must be clip, leave-out or refuse", field="outside", value=self.outside)
        frame = as_frame(X)
        self._plain = is_plain(X, frame) and self.schema is None and not self.levels
        if self._plain:
            with no_values_shown():
                array, y = validate_data(self, X, y, **checks)
            frame = self._as_columns(array)
            if self.bounds is None and not hasattr(self, "feature_names_in_"):  # without names to paste
                hint = f"bounds=(low, high), or one pair for each of the {array.shape[1]} columns"
                raise InvalidInput("must be given: they are public", field="bounds", hint=hint)
        elif frame is None:
            raise InvalidInput("levels and schema go with a frame, which has names", field="X", value=type(X).__name__)
        else:
            if not frame.num_rows or not frame.num_columns:
                raise ValueError(f"Found array with {frame.num_rows} sample(s) and {frame.num_columns} feature(s)")
            self.feature_names_in_ = np.array(frame.column_names, object)
            self.n_features_in_ = frame.num_columns
            y = _checked_target(y, frame.num_rows, **checks)
        attributes = declare(frame, bounds=self.bounds, levels=self.levels, schema=self.schema)
        if not self._plain:
            _check_nulls(frame, self.schema)
        if self.outside == "refuse" and bool(beyond(frame, attributes).any()):
            raise InvalidInput("a row lies beyond the bounds", field="X", hint="Widen the bounds, or clip")
        return frame, attributes, y

    def _as_columns(self, array: Any) -> pa.Table:
        names = getattr(self, "feature_names_in_", None)
        listed = [f"x{place}" for place in range(array.shape[1])] if names is None else [str(name) for name in names]
        return pa.table({name: np.asarray(column, float) for name, column in zip(listed, array.T, strict=True)})

    def _rows(self, X: Any) -> pa.Table:
        """Rows to predict, with the columns of fit; a frame may have them in any order."""
        check_is_fitted(self, "model_")
        frame = as_frame(X)
        if frame is None or not hasattr(self, "feature_names_in_"):
            if not self._plain:
                raise InvalidInput("must be a frame with the columns of fit", field="X", value=type(X).__name__)
            with no_values_shown():
                return self._as_columns(validate_data(self, X, reset=False))
        frame = in_order(frame, [str(name) for name in self.feature_names_in_])
        if self._plain:
            return self._as_columns(check_array(np.column_stack([each.to_numpy() for each in frame.columns])))
        return frame

    def _target_name(self, name: str | None, features: pa.Table) -> str:
        """The name of y, where it has one that no feature has."""
        wanted = name or TARGET
        while wanted in features.column_names:
            wanted += "_"
        return wanted[:200]

    # -- fitting and paying -----------------------------------------------------------------------------------------

    def _fit(self, recipe: Any, domain: Domain, rows: pa.Table) -> None:
        plan = recipe.calibrate(domain, self._budget(), unit=Unit.row(), neighbours=Neighbours(self.neighbours))
        engine, source = LocalEngine(domain, rows), self._source()
        for name, other in (("ledger", "account"), ("account", "ledger")):
            if getattr(self, name) is not None and getattr(self, other) is None:
                raise InvalidInput("a ledger goes with an account", field=other)
        if self.ledger is not None and self.account is not None:
            digest = f"{_digest(rows)} {self._budget()}"
            if source.simulated:  # a key of a simulation never stands for a private fit, nor for other noise
                digest += f" simulated {self.random_state!r}"
            session = Session(
                engine=engine,
                ledger=self.ledger,
                account=self.account,
                principal="scikit-learn",
                source=source,
                version=digest,
                bound=digest,
            )
            self.key_ = session.key_of(plan) if self.key == "auto" else self.key or uuid.uuid4().hex
            self.model_ = session.ask(plan, purpose=f"fit {type(self).__name__}", key=self.key_)
            self.charge_ = getattr(getattr(self.model_, "provenance", None), "charge", None)
        elif self.key is not None:
            raise InvalidInput("goes with a ledger, which keeps the answer", field="key", value=self.key)
        else:
            warnings.warn(PrivacyWarning(_UNPAID.format(budget=self._budget())), stacklevel=3)
            self.model_ = plan.run(engine, source)
        self.event_ = plan.event


def _digest(rows: pa.Table) -> str:
    """SHA-256 of rows, whatever the chunks of the table."""
    sink = hashlib.sha256(str(rows.schema.remove_metadata()).encode())
    for column in rows.columns:
        if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
            sink.update(np.ascontiguousarray(column.to_numpy()).tobytes())
        else:
            sink.update(repr(column.to_pylist()).encode())
    return sink.hexdigest()


@contextmanager
def no_values_shown() -> Iterator[None]:
    """Keep the value of a row out of the error of a conversion to numbers."""
    try:
        yield
    except ValueError as error:
        said, colon, _ = str(error).partition("could not convert string to float")
        if not colon:
            raise
        raise ValueError(f"{said}{colon}: a value is text, where numbers are needed") from None


def _checked_target(y: Any, rows: int, **checks: Any) -> Any:
    """A target of as many values as there are rows."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    found = column_or_1d(y, warn=True)
    if checks.get("y_numeric"):
        with no_values_shown():
            found = check_array(found, ensure_2d=False, dtype=np.float64, input_name="y")
    if len(found) != rows:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: [{rows}, {len(found)}]")
    return found


def _check_nulls(frame: pa.Table, schema: Domain | None) -> None:
    """Refuse missing values, as scikit-learn does, unless the schema has a bucket for them."""
    for name in frame.column_names:
        column, allowed = frame.column(name), schema is not None and name in schema.names and schema[name].missing
        absent = column.null_count or (pa.types.is_floating(column.type) and np.isnan(column.to_numpy()).any())
        if absent and not allowed:
            hint = "Declare it with missing=True in a schema, or fill it by a public rule"
            raise InvalidInput("contains NaN or null", field=name, hint=hint)
