"""Cost of privacy for a model: error against epsilon, delta, rows and features, and how often noise broke convexity.

All on synthetic rows, so that a comparison spends no budget: features with a census-like spread between -1 and 1,
somewhat correlated, and a target that follows them up to noise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa

from tacita import check
from tacita.common.progress import step
from tacita.domain import Boolean, Domain, Numeric
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput
from tacita.learn.feature_map import Task
from tacita.learn.regression.regression import METHODS, MethodName, Regression
from tacita.noise import SeededSource
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit

__all__ = ["Compared", "SimulatedRows", "compare", "simulate_rows"]

_HELD_OUT = 2000


@dataclass(frozen=True, kw_only=True, eq=False)
class SimulatedRows:
    """Rows to learn from, rows to judge by, and their schema."""

    domain: Domain
    rows: pa.Table
    held_out: pa.Table
    features: tuple[str, ...]
    target: str
    task: Task


def simulate_rows(
    rows: int, features: int, *, task: Task = "linear", seed: int = 0, strength: float = 0.8
) -> SimulatedRows:
    """Simulate rows of a linear model with so many features.

    Args:
        rows: To learn from; two thousand more are held out.
        features: Number of features.
        task: Quantity to predict: the number, or whether it is above its middle.
        seed: Of the draw.
        strength: Correlation of the target with the linear predictor.
    """
    rng = np.random.default_rng([seed, rows, features])
    count = rows + _HELD_OUT
    mix = np.eye(features) + 0.3 * rng.normal(size=(features, features)) / np.sqrt(features)
    x = np.clip(0.3 * rng.normal(size=(count, features)) @ mix, -1, 1)
    signal = x @ rng.normal(size=features)
    signal = signal / signal.std() * strength + rng.normal(size=count) * np.sqrt(1 - strength**2)
    names = tuple(f"x{place}" for place in range(1, features + 1))
    attributes: list[Any] = [Numeric(name=name, bounds=(-1, 1), bins=8) for name in names]
    attributes.append(Numeric(name="y", bounds=(-1, 1), bins=8) if task == "linear" else Boolean(name="y"))
    target = np.clip(0.15 + 0.25 * signal, -1, 1) if task == "linear" else signal > 0.3
    table = pa.table(dict(zip(names, x.T, strict=True)) | {"y": target})
    return SimulatedRows(
        domain=Domain(attributes=attributes),
        rows=table.slice(0, rows),
        held_out=table.slice(rows),
        features=names,
        target="y",
        task=task,
    )


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One method in one setting, over many draws: root mean squared error, or the share of wrong classes.

    `middle`, `low` and `high` are the median and the 20th and 80th percentile; `convexified` is the share of draws in
    which noisy moments had to be lifted, None where there are none.
    """

    method: str
    task: Task
    rows: int
    features: int
    epsilon: float
    delta: float
    draws: int
    middle: float
    low: float
    high: float
    convexified: float | None

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def compare(
    *,
    rows: Sequence[int],
    features: Sequence[int],
    budgets: Sequence[Budget],
    methods: Iterable[MethodName] = ("auto", "functional", "objective", "output"),
    task: Task = "linear",
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
    draws: int = 20,
    seed: int = 0,
) -> Iterator[Compared]:
    """Every method in every setting; those that a budget or a size does not allow are left out."""
    chosen = tuple(methods)
    for method in chosen:
        check.one_of(method, "methods", METHODS)
    check.whole(draws, "draws", least=1)
    for count, columns in product(rows, features):
        if count < 1 or columns < 1:
            raise InvalidInput("must be at least 1", field="rows", value=[count, columns])
        data = simulate_rows(count, columns, task=task, seed=seed)
        engine = LocalEngine(data.domain, data.rows)
        for budget, method in product(budgets, chosen):
            found = _draws(data, engine, budget, method, neighbours, draws)
            if found is not None:
                yield found


def _draws(
    data: SimulatedRows, engine: LocalEngine, budget: Budget, method: MethodName, neighbours: Neighbours, draws: int
) -> Compared | None:
    recipe = Regression(
        target=data.target, features=data.features, task=data.task, method=method, people=data.rows.num_rows
    )
    try:
        plan = recipe.calibrate(data.domain, budget, unit=Unit.row(), neighbours=neighbours)
    except InvalidInput:
        return None
    truth = data.held_out.column(data.target).to_numpy()
    errors, lifted = [], []
    for draw in range(draws):
        step("comparing", draw / draws)
        model = plan.run(engine, SeededSource(draw))
        if data.task == "linear":
            predicted = model.predict(data.held_out).to_numpy(zero_copy_only=False)
            errors.append(float(np.sqrt(np.mean((predicted - truth) ** 2))))
        else:
            errors.append(float(np.mean((model.scores(data.held_out) > 0) != truth)))
        if "convexified" in model.notes:
            lifted.append(bool(model.notes["convexified"]))
    low, middle, high = np.quantile(errors, [0.2, 0.5, 0.8]).tolist()
    return Compared(
        method=method,
        task=data.task,
        rows=data.rows.num_rows,
        features=len(data.features),
        epsilon=budget.amount,
        delta=budget.delta,
        draws=draws,
        middle=middle,
        low=low,
        high=high,
        convexified=float(np.mean(lifted)) if lifted else None,
    )
