"""DP-SGD for linear and logistic models: the loop of `nets`, with one layer. Needs the extra `nets`.

Privacy:  so many sampled Gaussian steps: epsilon at a delta under add-remove, for rows.   Claim: docs/claims/dp-sgd.md
Utility:  rows of a norm of at most 1; the rate and the number of steps are public and fixed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacita.errors import InvalidInput
from tacita.learn.feature_map import Points
from tacita.learn.regression.logistic import probabilities
from tacita.learn.regression.moments import gaussian_multiplier
from tacita.learn.regression.problem import Coefficients, Problem, gather
from tacita.learn.regression.unit_rows import found_of, unit_rows
from tacita.models.neural.backend import check_installed, load_torch
from tacita.models.neural.training import PrivateTraining, Steps
from tacita.noise import Source
from tacita.privacy.event import Event
from tacita.privacy.unit import Neighbours

__all__ = ["Sgd", "check_allowed", "descend"]

_STEPS, _RATE, _LEARNING = 80, 0.05, 4.0
_PEOPLE = 10_000


def check_allowed(setting: Problem) -> None:
    """Refuse what it cannot protect, and what cannot run here."""
    check_installed()
    if setting.unit.person is not None:
        raise InvalidInput(
            "DP-SGD here protects rows", field="unit", value=str(setting.unit), hint="Use sufficient or functional"
        )
    if setting.neighbours is not Neighbours.ADD_REMOVE:
        raise InvalidInput("DP-SGD protects under add-remove", field="neighbours", value=str(setting.neighbours))
    if setting.budget.currency != "approx":
        raise InvalidInput(
            "DP-SGD needs epsilon at a delta", field="budget", value=str(setting.budget), hint="Give a delta"
        )


@dataclass(frozen=True, kw_only=True)
class Sgd:
    """Steps with their noise fixed."""

    setting: Problem
    steps: Steps

    @classmethod
    def plan(cls, setting: Problem) -> Sgd:
        """The least noise that the budget allows."""
        check_allowed(setting)
        return cls(setting=setting, steps=Steps.calibrate(setting.budget, steps=_STEPS, rate=_RATE))

    @property
    def event(self) -> Event:
        """That of the steps."""
        return self.steps.event

    def fit(self, batches: Iterable[Points], source: Source) -> Coefficients:
        """Run all steps, from zero; release the mean of the second half, which costs nothing."""
        torch = load_torch()
        points = gather(batches, self.setting.design.columns)
        rows = torch.from_numpy(unit_rows(self.setting, points))
        targets = torch.from_numpy(np.array(points.y))
        module = torch.nn.Linear(rows.shape[1], 1, bias=False, dtype=torch.float64)
        torch.nn.init.zeros_(module.weight)
        logistic = self.setting.design.task == "logistic"

        def loss(weights: Any, row: Any, target: Any) -> Any:
            score = (weights["weight"] @ row)[0]
            return torch.nn.functional.softplus(-target * score) if logistic else (score - target) ** 2 / 2

        training = PrivateTraining(
            self.steps,
            module,
            torch.optim.SGD(module.parameters(), lr=_LEARNING),
            loss,
            units=len(rows),
            take=lambda chosen: (rows[chosen], targets[chosen]),
            expected=self.steps.rate * (self.setting.people or _PEOPLE),
            source=source,
        )
        total, count = torch.zeros(rows.shape[1], dtype=torch.float64), 0
        while training.left:
            training.step()
            if training.left < (self.steps.steps + 1) // 2:
                total, count = total + module.weight.detach()[0], count + 1
        return found_of(self.setting, (total / count).numpy(), {"steps": self.steps.steps, "rate": self.steps.rate})

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"method": "dpsgd", "noise": self.steps.as_dict()}


# -- trying it on synthetic rows --------------------------------------------------------------------------------------


def about_noise(setting: Problem) -> float:
    """Approximate the noise multiplier that calibration gives, fast: by the central limit, and a little more.

    So many sampled steps are nearly one Gaussian that moves by rate sqrt(steps (exp(1 / noise^2) - 1)).  [Bu et al.
    2020] That is too little noise by 0.13 to 0.22 for usual budgets. For synthetic rows only: real runs are calibrated.
    """
    moved = 1 / (gaussian_multiplier(setting.budget) * _RATE * math.sqrt(_STEPS))
    return 1 / math.sqrt(math.log1p(moved**2)) + 0.2


def descend(
    setting: Problem, points: Points, copies: int, rng: np.random.Generator, steps: Steps | None = None
) -> Coefficients:
    """Do as `Sgd.fit` with so many copies of each row, without torch. Not private: for synthetic rows only."""
    law = steps or Steps(steps=_STEPS, rate=_RATE, noise_multiplier=about_noise(setting))
    rows, y = unit_rows(setting, points), points.y
    lengths = np.linalg.norm(rows, axis=1)
    weights, total, count = np.zeros(rows.shape[1]), np.zeros(rows.shape[1]), 0
    for left in reversed(range(law.steps)):
        score = rows @ weights
        slope = -y * probabilities(-y * score) if setting.design.task == "logistic" else score - y
        clipped = slope * np.minimum(1.0, law.clip / np.maximum(np.abs(slope) * lengths, 1e-300))
        chosen = rng.binomial(copies, law.rate, len(y))
        noisy = (chosen * clipped) @ rows + rng.normal(0, law.noise_multiplier * law.clip, len(weights))
        weights = weights - _LEARNING * noisy / (law.rate * copies * len(y))
        if left < (law.steps + 1) // 2:
            total, count = total + weights, count + 1
    return found_of(setting, total / count, {"steps": law.steps, "rate": law.rate})
