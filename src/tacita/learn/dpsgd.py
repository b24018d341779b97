"""DP-SGD for linear and logistic models: the loop of `nets`, with one layer. Needs the extra `nets`.

Privacy:  so many sampled Gaussian steps: epsilon at a delta under add-remove, for rows.   Claim: docs/claims/dp-sgd.md
Utility:  rows of a norm of at most 1; the rate and the number of steps are public and fixed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacita.errors import InvalidInput
from tacita.learn.design import Points
from tacita.learn.setting import Found, Setting, gather
from tacita.learn.unit_rows import found_of, unit_rows
from tacita.nets.backend import load_torch
from tacita.nets.training import PrivateTraining, Steps
from tacita.noise import Source
from tacita.privacy.event import Event
from tacita.privacy.unit import Neighbours

__all__ = ["Sgd"]

_STEPS, _RATE, _LEARNING = 80, 0.05, 4.0
_PEOPLE = 10_000


@dataclass(frozen=True, kw_only=True)
class Sgd:
    """Steps with their noise fixed."""

    setting: Setting
    steps: Steps

    @classmethod
    def plan(cls, setting: Setting) -> Sgd:
        """The least noise that the budget allows."""
        load_torch()
        if setting.unit.person is not None:
            raise InvalidInput(
                "DP-SGD here protects rows", field="unit", value=str(setting.unit), hint="Use sufficient or functional"
            )
        if setting.neighbours is not Neighbours.ADD_REMOVE:
            raise InvalidInput("DP-SGD protects under add-remove", field="neighbours", value=str(setting.neighbours))
        return cls(setting=setting, steps=Steps.calibrate(setting.budget, steps=_STEPS, rate=_RATE))

    @property
    def event(self) -> Event:
        """That of the steps."""
        return self.steps.event

    def fit(self, batches: Iterable[Points], source: Source) -> Found:
        """All steps, from zero; the mean of the second half leaves, which is free."""
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
