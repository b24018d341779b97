"""Private decision trees and forests on coded tables.  [Friedman, Schuster 2010; on noisy max: McKenna, Sheldon 2020]

    each level   every node picks the split with the largest noisy score (`splitting`)
    leaves       noisy counts of each class; shrunk towards those of the node above

Splits: a bin or a rank below a threshold, or one level against the others; all from the schema. A forest grows each
tree on its own share of the units, drawn without looking at them, from its own draw of features.

Privacy:  a row moves a score by at most 1. Nodes of a level and trees of a forest have different rows, so a level costs
          what one choice does. The leaves are one table. A unit of m rows: all sensitivities times m.
          Claim: docs/claims/private-trees.md
Utility:  noise on a score is 2 depth / epsilon rows or so, on scores that differ by hundreds: greedy choices survive.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from tacita.common.plain import plain_fields
from tacita.domain import Domain
from tacita.engines.base import Engine
from tacita.engines.coded import coded_units
from tacita.errors import InvalidInput
from tacita.learn.feature_map import Array
from tacita.learn.trees.fitted_trees import FittedTrees, Tree
from tacita.learn.trees.splitting import Codes, Split, grow, shrink_leaves, splits_of
from tacita.noise import DiscreteLaplace, Source
from tacita.plans.recipe import CalibratedPlan, check_engine
from tacita.privacy.accountant import cost
from tacita.privacy.budget import Budget, exact
from tacita.privacy.calibrate import narrowest
from tacita.privacy.event import DiscreteLaplaceNoise, Event, Parallel, Pure, Repeated, Sequence
from tacita.privacy.selection import noisy_max
from tacita.privacy.unit import Neighbours, Unit
from tacita.tables.release import Provenance

__all__ = ["CalibratedTrees", "Trees"]

_MOST_DEPTH, _MOST_TREES = 12, 1000
_LEAVES = Fraction(1, 3)
"""Share of the loss for the counts in leaves; the rest chooses splits."""


@dataclass(frozen=True, kw_only=True)
class Trees:
    """A tree, or a forest, that predicts the class of a row from its codes.

    Args:
        target: An attribute with levels.
        features: Attributes with codes: numbers by their bins.
        depth: Of every tree.
        trees: How many; each learns from its own share of the units.
    """

    target: str
    features: tuple[str, ...]
    depth: int = 5
    trees: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", tuple(self.features))
        if not self.features or len(set(self.features)) != len(self.features) or self.target in self.features:
            raise InvalidInput("must be distinct, at least one, none of them the target", field="features")
        for name, most in (("depth", _MOST_DEPTH), ("trees", _MOST_TREES)):
            if type(getattr(self, name)) is not int or not 1 <= getattr(self, name) <= most:
                raise InvalidInput(f"must be a whole number from 1 to {most}", field=name, value=getattr(self, name))

    def calibrate(self, domain: Domain, budget: Budget, *, unit: Unit, neighbours: Neighbours) -> CalibratedTrees:
        """Fix all losses so that running costs at most the budget; reads no data."""
        domain.require_public()
        unit.check(domain)
        domain.check_countable((*self.features, self.target))
        if not splits_of(domain, self.features):
            raise InvalidInput("must have more than one code", field="features", value=list(self.features))

        def plan(noise: Fraction) -> CalibratedTrees:
            return CalibratedTrees(
                recipe=self, domain=domain, unit=unit, neighbours=neighbours, budget=budget, epsilon=1 / noise
            )

        if budget.currency == "pure":
            spent = cost([(plan(Fraction(1)).event, 1)], budget, neighbours)
            return plan(spent / exact(budget.amount))
        return plan(narrowest(lambda noise: plan(noise).event, budget, neighbours, within=10**4))

    def as_dict(self) -> dict[str, Any]:
        """The recipe as plain data."""
        return {"recipe": "trees"} | plain_fields(self)


@dataclass(frozen=True, kw_only=True)
class CalibratedTrees(CalibratedPlan[FittedTrees]):
    """Trees with their losses fixed. `epsilon` is the cost of one tree to a unit that is added or removed."""

    answer = FittedTrees

    recipe: Trees
    domain: Domain = field(repr=False)
    unit: Unit
    neighbours: Neighbours
    budget: Budget
    epsilon: Fraction

    @property
    def choice(self) -> float:
        """Epsilon of one choice of a split, rounded down."""
        return float(self.epsilon * (1 - _LEAVES) / self.recipe.depth) * (1 - 1e-12)

    @property
    def law(self) -> DiscreteLaplace:
        """Noise on the counts of leaves."""
        return DiscreteLaplace.at_least(self.unit.max_rows / (self.epsilon * _LEAVES))

    @property
    def event(self) -> Event:
        """All levels, then the leaves; each splits the units by rules that read one at a time."""
        leaves = DiscreteLaplaceNoise(scale=self.law.scale, sensitivity=self.unit.max_rows)
        levels = Repeated(event=Parallel(events=(Pure(epsilon=self.choice),)), count=self.recipe.depth)
        return Sequence(events=(levels, Parallel(events=(leaves,))))

    def run(self, engine: Engine, source: Source) -> FittedTrees:
        """Grow all trees."""
        check_engine(self, engine)
        recipe = self.recipe
        units = coded_units(engine, (*recipe.features, recipe.target), self.unit)
        rng = np.random.default_rng(source.words(4))  # for shares and features, which read no row
        share = rng.integers(0, recipe.trees, len(units))
        grown = []
        for tree in range(recipe.trees):
            codes = units.codes[share == tree][units.there[share == tree]].astype(np.int64)
            grown.append(self.grow_one(codes[:, :-1], codes[:, -1], self._some(rng), source))
        return FittedTrees(
            domain=self.domain.project((*recipe.features, recipe.target)),
            features=recipe.features,
            target=recipe.target,
            trees=tuple(grown),
            event=self.event,
            unit=self.unit,
            neighbours=self.neighbours,
            provenance=Provenance(recipe=recipe.as_dict(), simulated=source.simulated),
        )

    def _some(self, rng: np.random.Generator) -> tuple[Split, ...]:
        """All splits for a single tree; those of half of the features for a tree of a forest."""
        features = self.recipe.features
        every = splits_of(self.domain, features)
        if self.recipe.trees == 1:
            return every
        chosen = set(rng.permutation(len(features))[: (len(features) + 1) // 2].tolist())
        return tuple(split for split in every if split.feature in chosen) or every

    def grow_one(self, codes: Codes, classes: Codes, splits: tuple[Split, ...], source: Source) -> Tree:
        """One tree of these rows: noisy choices, noisy leaves."""
        sizes = [self.domain[name].size for name in self.recipe.features]
        kinds = self.domain[self.recipe.target].size

        def best(scores: Array) -> int:
            most = self.unit.max_rows * (1 + 1e-9)
            return noisy_max(scores.tolist(), sensitivity=most, epsilon=self.choice, source=source)

        chosen, counts = grow(codes, classes, sizes, kinds, splits, self.recipe.depth, best)
        noisy = counts + self.law.draw(counts.size, source).reshape(counts.shape)
        return Tree(splits=chosen, shares=shrink_leaves(noisy.astype(float), self.law.std))

    def parts(self) -> dict[str, Any]:
        """Own parts of the plain data."""
        return {
            "noise": self.law.as_dict(),
            "choice": self.choice,
        }
