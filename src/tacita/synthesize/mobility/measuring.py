"""Noisy tables about cards: which ones, how the budget is split between them, and what noise they get.

A table is a vector of integers that one card moves by at most `shift` steps in all (L1, so also L2); under replace-one
by two parts of that. On a grid, `shift` steps are one card. The shares of the budget minimise the sum over tables of

    weight x cells x std / cards         about twice the total variation that noise adds, weighted

    Laplace    std ~ 1/epsilon_t, sum of epsilon_t fixed:   epsilon_t ~ (weight x cells)^(1/2)
    Gaussian   std ~ rho_t^(-1/2), sum of rho_t fixed:      rho_t ~ (weight x cells)^(2/3)

where more cells than cards / `FEW` count as that many: what noise hides anyway is not bought.

Privacy: each table is additive noise on integers with the sensitivity above; the tables are charged one after the
         other. Reads no data. Claim: docs/claims/mobility.md
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.errors import InvalidInput
from tacita.noise import DiscreteGaussian, DiscreteLaplace, Law, Source, Stepped
from tacita.plans.additive import shift_event
from tacita.plans.split import BudgetSplit
from tacita.privacy.event import Event
from tacita.privacy.unit import Neighbours

__all__ = ["ASSUMED", "MOST_CELLS", "PlannedTable", "TableSpec", "plan_tables", "shrink"]

MOST_CELLS = 1 << 26
"""Cells of one table: noise goes on every one of them."""
FEW = 4
ASSUMED = 10_000
"""Cards, where their number is not public."""
_PARTS = 10**6  # of the budget, in which shares are expressed


@dataclass(frozen=True, kw_only=True)
class TableSpec:
    """A table to measure.

    Attributes:
        name: Its name in the plan.
        shape: Axes; noise goes on every cell.
        shift: Steps by which one card moves the table, in all.
        grid: Steps of one unit of the table: `shift` if the unit is a card, 1 for counts.
        mean: About how many units a card adds, for the prediction of the error.
        weight: Of its error.
    """

    name: str
    shape: tuple[int, ...]
    shift: int = 1
    grid: int = 1
    mean: float = 1.0
    weight: float = 1.0

    @property
    def cells(self) -> int:
        """Number of cells."""
        return math.prod(self.shape)


@dataclass(frozen=True, kw_only=True)
class PlannedTable:
    """A table with its noise fixed.

    Attributes:
        spec: The table.
        law: The noise; its draws are steps.
        event: Its cost to a card.
        share: Of the budget.
        cards: Approximate number of cards, if it is public.
    """

    spec: TableSpec
    law: Law
    event: Event
    share: float
    cards: int | None

    @property
    def std(self) -> float:
        """Standard error of a cell, in units of the table."""
        return self.law.std

    @property
    def variance(self) -> float:
        """Variance of a cell, in units of the table."""
        return self.law.variance

    @property
    def total_variation(self) -> float | None:
        """Bound on the expected total variation that noise adds to the table; None if the cards are not public."""
        if self.cards is None:
            return None
        return min(1.0, 0.5 * self.spec.cells * self.std / (self.cards * self.spec.mean))

    def measure(self, counts: NDArray[np.int64], source: Source) -> NDArray[np.float64]:
        """Add noise to every cell; returns units of the table, in its shape (or that of a table of fewer cells)."""
        draws = self.law.draw(counts.size, source)
        found = (counts.reshape(-1) + draws) / self.spec.grid
        return np.asarray(found.reshape(counts.shape))

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        expected = self.total_variation
        return {
            "table": self.spec.name,
            "cells": self.spec.cells,
            "share": self.share,
            "std": self.std,
            "noise": self.law.as_dict(),
        } | ({} if expected is None else {"total_variation": expected})


def plan_tables(specs: Sequence[TableSpec], split: BudgetSplit, cards: int | None) -> tuple[PlannedTable, ...]:
    """Split a budget between tables by their predicted error, and fix the noise of each."""
    for spec in specs:
        if spec.cells > MOST_CELLS:
            raise InvalidInput(
                f"noise goes on every cell, and {spec.name!r} has more than {MOST_CELLS}",
                field="places",
                value=spec.cells,
                hint="Use the method `tours`, which measures pairs of zones first, or fewer places",
            )
    power = 2 / 3 if split.concentrated else 1 / 2
    most = (cards or ASSUMED) / FEW
    wanted = [(spec.weight * min(spec.cells, most) * spec.shift / spec.grid / spec.mean) ** power for spec in specs]
    found = []
    for spec, part in zip(specs, wanted, strict=True):
        share = Fraction(math.floor(part / sum(wanted) * _PARTS), _PARTS)
        if share <= 0:
            raise InvalidInput("leaves nothing for a table", field="budget", value=spec.name)
        law, event = _noise(spec, share * split.amount, split)
        found.append(PlannedTable(spec=spec, law=law, event=event, share=float(share), cards=cards))
    return tuple(found)


def _noise(spec: TableSpec, amount: Fraction, split: BudgetSplit) -> tuple[Law, Event]:
    # replacing a card moves non-negative contributions down and up: L1 doubles, and so does L2 squared
    parts = 2 if split.neighbours is Neighbours.REPLACE_ONE else 1
    law: Law
    if split.concentrated:
        law = DiscreteGaussian.at_least(parts * Fraction(spec.shift**2) / (2 * amount))
    else:
        law = DiscreteLaplace.at_least(parts * Fraction(spec.shift) / amount)
    event = shift_event(law, spec.shift, parts)
    return (law if spec.grid == 1 else Stepped(law=law, of=Fraction(1, spec.grid))), event


def shrink(noisy: NDArray[np.float64], prior: NDArray[np.float64], variance: float) -> NDArray[np.float64]:
    """Move noisy cells towards a prior by as much as noise explains: positive-part James-Stein.  [Efron, Morris 1973]

    With d = noisy - prior over f cells, prior + max(0, 1 - (f - 2) variance / |d|^2) d. Post-processing.

    >>> shrink(np.array([5.0, 5.0, 5.0, 5.0]), np.zeros(4), 1e9).tolist()
    [0.0, 0.0, 0.0, 0.0]
    """
    apart = noisy - prior
    energy = float((apart**2).sum())
    if energy == 0 or noisy.size <= 2:
        return np.asarray(noisy if noisy.size <= 2 else prior, np.float64)
    return np.asarray(prior + max(0.0, 1 - (noisy.size - 2) * variance / energy) * apart)
