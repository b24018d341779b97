"""Networks with the conventions of scikit-learn; see `estimators`. Training needs the extra `nets`.

Privacy:  that of `NeuralNetwork`.   Claim: docs/claims/dp-sgd.md
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from tacita.domain import Domain
from tacita.learn.estimators import PrivateClassifier, PrivateRegressor
from tacita.learn.neural.network import NetworkTask, NeuralNetwork
from tacita.privacy.ledger import Ledger

__all__ = ["PrivateNetworkClassifier", "PrivateNetworkRegressor"]


class PrivateNetworkClassifier(PrivateClassifier):
    """A private network that predicts classes.

    Args:
        hidden, epochs, batch, clip, learning_rate, people: As for `NeuralNetwork`.
        classes, epsilon, delta, bounds, levels, schema, outside, random_state, ledger, account, key: As for
            `PrivateLogisticRegression`.
        neighbours: "add-remove"; others are refused.
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        bounds: Any = None,
        levels: Any = None,
        schema: Domain | None = None,
        classes: Any = None,
        hidden: tuple[int, ...] = (32,),
        epochs: int = 20,
        batch: int = 1024,
        clip: float = 1.0,
        learning_rate: float = 1.0,
        people: int | None = None,
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
        self.hidden, self.epochs, self.batch, self.clip = hidden, epochs, batch, clip
        self.learning_rate, self.people = learning_rate, people
        self.outside, self.neighbours, self.random_state = outside, neighbours, random_state

    def fit(self, X: Any, y: Any) -> PrivateNetworkClassifier:
        """Train once; costs the budget."""
        rows, domain, target = self._read(X, y)
        self._fit(_recipe(self, rows, target, "classes"), domain, rows)
        return self


class PrivateNetworkRegressor(PrivateRegressor):
    """A private network that predicts a number.

    Args:
        target_bounds: Public (low, high) of the target.
        hidden, epochs, batch, clip, learning_rate, people: As for `NeuralNetwork`.
        epsilon, delta, bounds, levels, schema, outside, random_state, ledger, account, key: As for
            `PrivateLinearRegression`.
        neighbours: "add-remove"; others are refused.
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        bounds: Any = None,
        levels: Any = None,
        schema: Domain | None = None,
        target_bounds: Any = None,
        hidden: tuple[int, ...] = (32,),
        epochs: int = 20,
        batch: int = 1024,
        clip: float = 1.0,
        learning_rate: float = 1.0,
        people: int | None = None,
        outside: str = "clip",
        neighbours: str = "add-remove",
        random_state: int | None = None,
        ledger: Ledger | None = None,
        account: str | None = None,
        key: str | None = None,
    ) -> None:
        self.ledger, self.account, self.key = ledger, account, key
        self.levels, self.schema = levels, schema
        self.epsilon, self.delta, self.bounds, self.target_bounds = epsilon, delta, bounds, target_bounds
        self.hidden, self.epochs, self.batch, self.clip = hidden, epochs, batch, clip
        self.learning_rate, self.people = learning_rate, people
        self.outside, self.neighbours, self.random_state = outside, neighbours, random_state

    def fit(self, X: Any, y: Any) -> PrivateNetworkRegressor:
        """Train once; costs the budget."""
        rows, domain, target = self._read(X, y)
        self._fit(_recipe(self, rows, target, "linear"), domain, rows)
        return self


def _recipe(
    estimator: PrivateNetworkClassifier | PrivateNetworkRegressor, rows: pa.Table, target: str, task: NetworkTask
) -> NeuralNetwork:
    return NeuralNetwork(
        target=target,
        features=tuple(name for name in rows.column_names if name != target),
        task=task,
        hidden=estimator.hidden,
        epochs=estimator.epochs,
        batch=estimator.batch,
        clip=estimator.clip,
        learning_rate=estimator.learning_rate,
        outside=estimator._outside(),
        people=estimator.people,
    )
