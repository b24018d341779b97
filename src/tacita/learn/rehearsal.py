"""Predict the quality of a model before any data is read: run the same plan on simulated people.

They come from `plans.rehearsal.simulate_people`. Real people are easier or harder to predict; the figures show how
much accuracy a model loses to noise at this size and budget.

Privacy: reads the schema, the budget and a public number of people; never data.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tacita.domain import Domain, Numeric
from tacita.engines.local import LocalEngine
from tacita.learn.models import Recipe
from tacita.noise import SeededSource
from tacita.plans.rehearsal import Trials, check_people, simulate_people
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit

__all__ = ["MOST_REHEARSED", "RehearsedFit", "rehearse_fit"]

MOST_REHEARSED = 1_000_000
_HELD_OUT = 2000
_PLENTY = {"pure": 200.0, "zcdp": 200.0, "approx": 16.0}  # a network takes no more, with a delta


@dataclass(frozen=True, kw_only=True)
class RehearsedFit:
    """Errors on synthetic people who were held out: means over the draws, with what chance does to them.

    Attributes:
        measure: "wrong", the share of wrong classes; or "error", the root of the mean squared error.
        private: With this budget.
        plenty: With a budget so large that noise hardly counts.
        blind: Of the best guess without features.
        people: Number of simulated people to learn from.
        margins: Half the 95 % interval of each of the three errors: chance of the rehearsal, not of real people.
        gains: By how much a model errs less than the blind guess on the same people, with this budget and with plenty.
        gain_margins: Half the 95 % interval of each of them.
    """

    measure: str
    private: float
    plenty: float
    blind: float
    people: int
    margins: tuple[float, float, float]
    gains: tuple[float, float]
    gain_margins: tuple[float, float]

    @property
    def beats_guessing(self) -> bool:
        """Whether the model is better than a blind guess with this budget, beyond the chance of the rehearsal."""
        return self.gains[0] > self.gain_margins[0]

    @property
    def could_beat_guessing(self) -> bool:
        """The same with plenty of budget: otherwise these synthetic people cannot be predicted by such a model."""
        return self.gains[1] > self.gain_margins[1]

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def rehearse_fit(
    recipe: Recipe, domain: Domain, target: str, budget: Budget, *, people: int, draws: int = 5, seed: int = 0
) -> RehearsedFit:
    """Fit the recipe to synthetic people, each one row; the mean over some draws.

    Args:
        recipe: Recipe to fit.
        domain: Public description of the data.
        target: Attribute to predict.
        budget: Its cost.
        people: About how many the data has, as is publicly known.
        draws: Number of draws.
        seed: Of the first.
    """
    check_people(people, MOST_REHEARSED)
    numeric = isinstance(domain[target], Numeric)
    used = domain.project(domain.countable)
    plans = [
        recipe.calibrate(used, each, unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE)
        for each in (budget, _plenty(budget))
    ]

    def trial(number: int) -> list[float]:
        rows = simulate_people(used, used.countable, people + _HELD_OUT, np.random.default_rng(number))
        train, test = rows.slice(0, people), rows.slice(people)
        engine = LocalEngine(used, train)
        predicted = [plan.run(engine, SeededSource(number)).predict(test) for plan in plans]
        guess = _guess(train[target], numeric, test.num_rows)
        return [_error(each, test[target], numeric) for each in (*predicted, guess)]

    errors = Trials.run(trial, trials=draws, seed=seed)
    gains = Trials(errors.figures[:, 2:] - errors.figures[:, :2])  # on the same people, so most of the chance cancels
    private, without, blind = errors.means
    return RehearsedFit(
        measure="error" if numeric else "wrong",
        private=private,
        plenty=without,
        blind=blind,
        people=people,
        margins=errors.margins,
        gains=gains.means,
        gain_margins=gains.margins,
    )


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


def _error(predicted: Any, truth: Any, numeric: bool) -> float:
    pairs = [
        (one, other)
        for one, other in zip(predicted.to_pylist(), truth.to_pylist(), strict=True)
        if other is not None and one is not None
    ]
    if numeric:
        return float(np.sqrt(np.mean([(one - other) ** 2 for one, other in pairs])))
    return float(np.mean([_text(one) != _text(other) for one, other in pairs]))


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
