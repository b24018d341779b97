"""Tilted regression on a few features that are chosen privately, and charged.

    score(feature)    min over p of  sum_l |yes_l - p n_l|      n_l rows of level l, yes_l of them with the second level
    choices           `picks` features one after the other, each by report noisy max among those that are left
    fit               `tilted` on these features alone, for the rest of the budget; the others have coefficients of 0

A score is 0 where the share p of the second level is the same in all levels, and grows with what a feature says about
the target by itself. A number, or a yes or no, counts as so much of the two nodes next to it: in one column, -1 and 1.

Privacy:  a row adds y - p to the levels of a feature, times shares that add up to at most 1, and p and y lie between 0
          and 1: so a row that comes or goes moves the sum by at most 1 for each p, and hence its minimum. Each choice
          costs its epsilon; what follows reads the chosen names, which are released, and the rows once more, for the
          rest.   Claim: docs/claims/tilted-regression.md
Utility:  noise of a tilt grows with the square of the number of coordinates, that of a choice with the number of
          choices. It is lost where many features say a little each.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tacita.errors import InvalidInput
from tacita.learn.feature_map import Array, Points
from tacita.learn.regression.methods.tilted import Tilted, check_tilted
from tacita.learn.regression.problem import Coefficients, Problem, gather
from tacita.noise import Source
from tacita.privacy.event import Approximate, Event, Pure
from tacita.privacy.selection import noisy_max
from tacita.privacy.unit import Neighbours

__all__ = ["Chosen", "associations"]

_SHARE = 0.2  # of epsilon, for all choices: as good as 0.3 on generated tables, and better than 0.1
_SLACK = 1e-9
_SHARES = np.linspace(0, 1, 65)
_STEPS = 1 << 10
"""A score is rounded to this part of a row, so that no digits of a float depend on the order of rows."""


def associations(points: Points, owners: npt.NDArray[np.int64]) -> Array:
    """The score of each feature; exact, and sensitive. `owners` has the feature of each column."""
    scores = []
    for feature in range(int(owners.max()) + 1):
        levels = points.x[:, owners == feature]
        if levels.shape[1] == 1:
            levels = np.concatenate([1 - levels, 1 + levels], axis=1) / 2
        rows, yes = levels.sum(axis=0), levels[points.y > 0].sum(axis=0)
        scores.append(float(np.abs(yes - _SHARES[:, None] * rows).sum(axis=1).min()))
    return np.asarray(np.rint(np.array(scores) * _STEPS) / _STEPS)


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """Choices of features and a fit to them, with all losses fixed.

    Attributes:
        setting: All features, and the whole budget.
        picks: How many features are chosen.
    """

    setting: Problem
    picks: int

    def __post_init__(self) -> None:
        check_tilted(self.setting)
        if not 1 <= self.picks < self.setting.design.blocks:
            raise InvalidInput("must be at least 1 and fewer than all features", field="picks", value=self.picks)

    @property
    def _epsilon(self) -> float:
        return float(self.setting.budget.epsilon or 0.0)

    @property
    def choice(self) -> float:
        """Epsilon of one choice."""
        return self._epsilon * _SHARE / self.picks * (1 - _SLACK)

    @property
    def rest(self) -> Problem:
        """The fit's part of the budget, with all of delta."""
        budget = replace(self.setting.budget, epsilon=self._epsilon * (1 - _SHARE) * (1 - _SLACK))
        return replace(self.setting, budget=budget)

    @property
    def event(self) -> Event:
        """All choices and the fit: epsilons add up, whether the fit has the block tilt or the Gaussian one."""
        budget = self.setting.budget
        if budget.currency == "approx" and self.setting.neighbours is Neighbours.ADD_REMOVE:
            return Approximate(epsilon=self._epsilon, delta=budget.delta * (1 - _SLACK))
        return Pure(epsilon=self._epsilon)

    def fit(self, batches: Iterable[Points], source: Source) -> Coefficients:
        """Choose features, and fit to them."""
        design = self.setting.design
        points = gather(batches, design.columns)
        picked = self.pick(associations(points, design.owners), source)
        columns = np.isin(design.owners, picked)
        names = tuple(design.features[feature] for feature in picked)
        part = Tilted.plan(replace(self.rest, design=replace(design, features=names)))
        found = part.fit([replace(points, x=points.x[:, columns])], source)
        coefficients = np.zeros(design.columns)
        coefficients[columns] = found.coefficients
        return replace(found, coefficients=coefficients, notes=dict(found.notes) | {"features": list(names)})

    def pick(self, scores: Array, source: Source) -> list[int]:
        """The chosen features, in the order of the schema."""
        most = self.setting.times * (1 + 2 / _STEPS)  # both scores may be rounded away from each other
        left, picked = list(range(len(scores))), []
        for _ in range(self.picks):
            at = noisy_max(scores[left].tolist(), sensitivity=most, epsilon=self.choice, source=source)
            picked.append(left.pop(at))
        return sorted(picked)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        chosen = {"features": self.picks, "epsilon": self.choice}
        return {"method": "tilted", "chosen": chosen, "epsilon": self.rest.budget.epsilon}
