"""A noisy histogram of features and target together, and a model of its cells.  [Lei 2011: DPME]

Each number is cut into a few bins of equal width, levels stay as they are. Each cell gets noise; negative cells count
as empty; cells are rows at the middles of their bins, with their counts as weights.

Privacy:  a row is in one cell, so a unit of m rows moves the counts by m in sum, in two parts for replace-one. Exact
          integer noise.   Claim: docs/claims/private-regression.md
Utility:  cells grow as bins to the power of features: refused beyond 2^16 cells with two bins a number.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from tacita.errors import InvalidInput
from tacita.learn.feature_map import Array, Points, add_up
from tacita.learn.regression.logistic import unfold
from tacita.learn.regression.problem import Coefficients, Problem
from tacita.noise import DiscreteGaussian, DiscreteLaplace, Law, Source
from tacita.plans.additive import families_of, shift_event
from tacita.privacy.calibrate import smallest
from tacita.privacy.event import Event
from tacita.privacy.unit import Neighbours

__all__ = ["Histogram", "bins_of", "cells_of"]

_MOST_CELLS, _WANTED_CELLS = 1 << 16, 1 << 12
_RIDGE = 1e-3


def bins_of(setting: Problem) -> tuple[int, tuple[int, ...]]:
    """Bins of a number, and codes of each feature and of the target: levels have one more, for none of them."""
    design = setting.design
    fixed = [width + 1 for width in design.widths if width > 1]
    lone = sum(width == 1 for width in design.widths) + (design.task == "linear")
    cells = int(np.prod(fixed, dtype=object)) * (1 if design.task == "linear" else 2) if fixed else 1
    each = max((n for n in range(2, 33) if cells * n**lone <= _WANTED_CELLS), default=2)
    shape = [each if width == 1 else width + 1 for width in design.widths]
    shape.append(each if design.task == "linear" else 2)
    if int(np.prod(shape, dtype=object)) > _MOST_CELLS:
        raise InvalidInput(
            f"a histogram may have {_MOST_CELLS} cells", field="features", value=len(design.features), hint="Use fewer"
        )
    return each, tuple(shape)


def cells_of(setting: Problem, points: Points) -> npt.NDArray[np.int64]:
    """The cell of each row, by that row alone."""
    each, shape = bins_of(setting)
    codes, start = [], 0
    for width in setting.design.widths:
        part = points.x[:, start : start + width]
        none = part.sum(axis=1) < 0.5
        codes.append(_bin(part[:, 0], each) if width == 1 else np.where(none, width, part.argmax(axis=1)))
        start += width
    codes.append(_bin(points.y, shape[-1]))
    return np.asarray(np.ravel_multi_index(codes, shape), np.int64)


def _counts(setting: Problem, size: int, batches: Iterable[Points]) -> npt.NDArray[np.int64]:
    counts = np.zeros(size, np.int64)
    for points in batches:
        counts += np.bincount(cells_of(setting, points), minlength=size)
    return counts


def _bin(values: Array, bins: int) -> npt.NDArray[np.int64]:
    return np.minimum(((values + 1) / 2 * bins).astype(np.int64), bins - 1)


@dataclass(frozen=True, kw_only=True)
class Histogram:
    """Noise of the cells, fixed."""

    setting: Problem
    law: Law
    event: Event

    @classmethod
    def plan(cls, setting: Problem) -> Histogram:
        """The least noise that the budget allows."""
        bins_of(setting)
        parts = 1 if setting.neighbours is Neighbours.ADD_REMOVE else 2
        found = []
        for family in families_of("auto", setting.budget):
            kind = DiscreteLaplace if family == "laplace" else DiscreteGaussian

            def event(size: Any, kind: Any = kind) -> Event:
                return shift_event(kind.at_least(size), setting.unit.max_rows, parts)

            law = kind.at_least(smallest(event, setting.budget, setting.neighbours))
            found.append((law, shift_event(law, setting.unit.max_rows, parts)))
        law, cost = min(found, key=lambda pair: pair[0].variance)
        return cls(setting=setting, law=law, event=cost)

    def fit(self, batches: Iterable[Points], source: Source) -> Coefficients:
        """Count, add noise, fit to the middles of the cells."""
        _, shape = bins_of(self.setting)
        size = int(np.prod(shape))
        counts = add_up(batches, partial(_counts, self.setting, size))
        weights = np.clip(counts + self.law.draw(size, source), 0, None).astype(float)
        x, y = self._middles(shape)
        total = max(weights.sum(), 1.0)
        mean = weights @ x / total if self.setting.intercept else np.zeros(x.shape[1])
        level = float(weights @ y / total) if self.setting.intercept else 0.0
        centred = x - mean
        quadratic = (centred.T * weights) @ centred
        ridge = self.setting.penalty.size + _RIDGE * total
        found = np.linalg.solve(quadratic + ridge * np.eye(len(quadratic)), (centred.T * weights) @ (y - level))
        notes = {"cells": size, "std": self.law.std, "ridge": ridge}
        solved = Coefficients(coefficients=found, intercept=level - float(mean @ found), notes=notes)
        return solved if self.setting.design.task == "linear" else unfold(solved)

    def _middles(self, shape: tuple[int, ...]) -> tuple[Array, Array]:
        codes = np.unravel_index(np.arange(int(np.prod(shape))), shape)
        parts = []
        for code, width, bins in zip(codes, self.setting.design.widths, shape, strict=False):
            one_hot = np.eye(width + 1)[code][:, :-1] if width > 1 else ((code + 0.5) / bins * 2 - 1)[:, None]
            parts.append(one_hot)
        bins = shape[-1]
        target = 2.0 * codes[-1] - 1 if self.setting.design.task == "logistic" else (codes[-1] + 0.5) / bins * 2 - 1
        return np.concatenate(parts, axis=1), np.asarray(target, float)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"method": "dpme", "noise": self.law.as_dict()}
