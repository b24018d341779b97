"""Naive Bayes from noisy tables: the class by each feature.

Privacy:  that of the tables; the model is read off them and costs nothing more.   Claim: docs/claims/models.md
Utility:  one table for each feature shares the budget, so few and coarse features do better than many fine ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.plans.additive import CalibratedTables, Family, NoisyTables
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.query.numbers import Array
from tacita.tables.release import Releases
from tacita.tables.workload import Workload

__all__ = ["BayesModel", "NaiveBayes"]


@dataclass(frozen=True, kw_only=True)
class NaiveBayes:
    """A classifier of `target` by public levels and bins of the features."""

    target: str
    features: tuple[str, ...]
    family: Family = "auto"
    grid: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", tuple(self.features))
        if not self.features or self.target in self.features:
            raise InvalidInput("must be at least one feature, none of them the target", field="features")

    @property
    def tables(self) -> NoisyTables:
        """The recipe of what is released."""
        keys = ([self.target, feature] for feature in self.features)
        return NoisyTables(Workload.of(*keys), family=self.family, grid=self.grid)

    def calibrate(self, domain: Domain, budget: Budget, *, unit: Unit, neighbours: Neighbours) -> CalibratedTables:
        """Fix the noise of the tables; reads no data."""
        return self.tables.calibrate(domain, budget, unit=unit, neighbours=neighbours)

    def as_dict(self) -> dict[str, Any]:
        """The recipe as plain data."""
        return self.tables.as_dict()

    def fit(self, releases: Releases) -> BayesModel:
        """The classifier that the released tables give; free."""
        keys = [(self.target, feature) for feature in self.features]
        counts = {
            feature: np.clip(releases[key].values, 0, None) + 1.0
            for key, feature in zip(keys, self.features, strict=True)
        }
        # each table has the classes too: what noise differs between them is averaged out
        classes = np.mean([np.asarray(releases[key].values, float).sum(axis=1) for key in keys], axis=0).clip(1)
        return BayesModel(
            domain=releases.domain,
            target=self.target,
            classes=np.log(classes / classes.sum()),
            features={name: np.log(table / table.sum(axis=1, keepdims=True)) for name, table in counts.items()},
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class BayesModel:
    """Logarithms of the shares of classes, and of each feature's levels within a class."""

    domain: Domain = field(repr=False)
    target: str
    classes: Array
    features: Mapping[str, Array]

    def scores(self, codes: Mapping[str, npt.NDArray[Any]]) -> Array:
        """Logarithm of the probability of each class, up to a constant, for rows of codes.

        An out-of-domain value adds nothing.
        """
        rows = len(next(iter(codes.values())))
        total = np.tile(self.classes, (rows, 1))
        for name, table in self.features.items():
            known = np.column_stack([table, np.zeros(len(table))])
            total += known[:, np.minimum(codes[name], table.shape[1])].T
        return total

    def predict(self, codes: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[np.int64]:
        """The likeliest class of each row, as a code of the target."""
        return np.asarray(self.scores(codes).argmax(axis=1), np.int64)
