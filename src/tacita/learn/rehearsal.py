"""How good a model would be, before any data is read: the same plan, run on people who are made up.

They are those of `synthesize.rehearsal`: three hidden groups with habits of their own. Real people are easier or harder
to predict; what the figures show is how much of a model's worth noise takes away at this size and budget.

Privacy: looks at the schema, the budget and a public number of people; never at data.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tacita.domain import Domain, Numeric
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput
from tacita.learn.models import Recipe
from tacita.noise import SeededSource
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize.rehearsal import made_up_people

__all__ = ["MOST_REHEARSED", "RehearsedFit", "rehearse_fit"]

MOST_REHEARSED = 1_000_000
_HELD_OUT = 2000
_PLENTY = {"pure": 200.0, "zcdp": 200.0, "approx": 16.0}  # a network takes no more, with a delta


@dataclass(frozen=True, kw_only=True)
class RehearsedFit:
    """Errors on made-up people who were held out.

    Attributes:
        measure: "wrong", the share of wrong classes; or "error", the root of the mean squared error.
        private: With this budget.
        plenty: With a budget so large that noise hardly counts.
        blind: Of the best guess that looks at no feature.
        people: How many were made up to learn from.
    """

    measure: str
    private: float
    plenty: float
    blind: float
    people: int

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def rehearse_fit(
    recipe: Recipe, domain: Domain, target: str, budget: Budget, *, people: int, draws: int = 3, seed: int = 0
) -> RehearsedFit:
    """Fit the recipe to made-up people, each one row; the median over some draws.

    Args:
        recipe: What would be fitted.
        domain: What is public about the data.
        target: What is predicted.
        budget: What it would cost.
        people: About how many the data has, as is publicly known.
        draws: How often.
        seed: Of the first.
    """
    if people < 2:
        raise InvalidInput("must be at least 2", field="people", value=people)
    numeric = isinstance(domain[target], Numeric)
    used = domain.project(domain.countable)
    if people > MOST_REHEARSED:
        raise InvalidInput(
            f"must be at most {MOST_REHEARSED:,}, who are all made up",
            field="people",
            value=people if people < 10**20 else "more than 20 digits",
            hint="Rehearse with fewer: what noise takes away falls with the number",
        )
    plans = [
        recipe.calibrate(used, each, unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE)
        for each in (budget, _plenty(budget))
    ]
    found = []
    for draw in range(seed, seed + draws):
        rows = made_up_people(used, used.countable, people + _HELD_OUT, np.random.default_rng(draw))
        train, test = rows.slice(0, people), rows.slice(people)
        engine = LocalEngine(used, train)
        told = [plan.run(engine, SeededSource(draw)).predict(test) for plan in plans]
        truth = test[target]
        guess = _guess(train[target], numeric, test.num_rows)
        found.append([_error(each, truth, numeric) for each in (*told, guess)])
    private, without, blind = np.median(found, axis=0).tolist()
    measure = "error" if numeric else "wrong"
    return RehearsedFit(measure=measure, private=private, plenty=without, blind=blind, people=people)


def _plenty(budget: Budget) -> Budget:
    """Much more of the same currency: a method that needs a delta keeps it."""
    amount = max(_PLENTY[budget.currency], budget.amount)
    return Budget.zcdp(amount) if budget.rho is not None else Budget(epsilon=amount, delta=budget.delta)


def _guess(values: Any, numeric: bool, rows: int) -> Any:
    known = values.drop_null()
    if numeric:
        return pa.array(np.full(rows, float(np.mean(known.to_numpy()))))
    labels, counts = np.unique([_text(value) for value in known.to_pylist()], return_counts=True)
    return pa.array([labels[counts.argmax()]] * rows)


def _error(told: Any, truth: Any, numeric: bool) -> float:
    pairs = [
        (one, other)
        for one, other in zip(told.to_pylist(), truth.to_pylist(), strict=True)
        if other is not None and one is not None
    ]
    if numeric:
        return float(np.sqrt(np.mean([(one - other) ** 2 for one, other in pairs])))
    return float(np.mean([_text(one) != _text(other) for one, other in pairs]))


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
