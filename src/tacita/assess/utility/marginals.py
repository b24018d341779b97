"""Marginals of one and two attributes: distances between the data and the release, and the worst tables.

Every figure comes with a floor: the distance of as many real rows, drawn with replacement. No release with as many rows
can be expected to do better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.assess.case import Case
from tacita.assess.frame import Frame
from tacita.assess.utility.distances import hellinger, js, kl, variation, wasserstein

__all__ = ["Margin", "Margins", "coded", "margins"]

_MOST_CELLS = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Margin:
    """One table."""

    attributes: tuple[str, ...]
    variation: float
    hellinger: float
    js: float
    kl: float
    wasserstein: float | None


@dataclass(frozen=True, kw_only=True)
class Margins:
    """Distances of all tables of one and of two attributes, for the mean of all releases."""

    singles: tuple[Margin, ...]
    pairs: tuple[Margin, ...]
    floor: tuple[float, float]
    """Mean variation of singles and pairs of a sample of real rows as large as the release."""

    def mean(self, ways: int) -> float:
        """Compute the mean variation of tables of one or two attributes."""
        found = self.singles if ways == 1 else self.pairs
        return float(np.mean([each.variation for each in found])) if found else 0.0

    def worst(self, count: int = 5) -> tuple[Margin, ...]:
        """Return the tables with the largest variation."""
        return tuple(sorted((*self.singles, *self.pairs), key=lambda each: -each.variation)[:count])

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "mean_variation": {"singles": self.mean(1), "pairs": self.mean(2)},
            "floor": {"singles": self.floor[0], "pairs": self.floor[1]},
            "singles": [{name: getattr(each, name) for name in each.__dataclass_fields__} for each in self.singles],
            "worst": [{"attributes": list(each.attributes), "variation": each.variation} for each in self.worst()],
        }


def margins(case: Case, rng: np.random.Generator) -> Margins:
    """Compare tables; bins and levels are those of the schema."""
    real = coded(case.real)
    released = [coded(frame) for frame in case.released]
    drawn = real[rng.integers(len(real), size=len(released[0]))]
    sizes = [attribute.size + 1 for attribute in case.domain.attributes]
    found: dict[int, list[Margin]] = {1: [], 2: []}
    floor: dict[int, list[float]] = {1: [], 2: []}
    for ways in (1, 2):
        for places in combinations(range(len(sizes)), ways):
            (truth, fresh, *tables), cells = _tables([real, drawn, *released], places, sizes)
            made = np.mean(tables, axis=0)
            ordered = ways == 1 and bool(case.real.ordered[places[0]])
            found[ways].append(
                Margin(
                    attributes=tuple(case.names[place] for place in places),
                    variation=variation(truth, made),
                    hellinger=hellinger(truth, made),
                    js=js(truth, made),
                    kl=kl(truth, made, cells=cells),
                    wasserstein=wasserstein(truth[:-1], made[:-1])
                    if ordered and truth[:-1].sum() and made[:-1].sum()
                    else None,
                )
            )
            floor[ways].append(variation(truth, fresh))
    mean = [float(np.mean(floor[ways])) if floor[ways] else 0.0 for ways in (1, 2)]
    return Margins(singles=tuple(found[1]), pairs=tuple(found[2]), floor=(mean[0], mean[1]))


def coded(frame: Frame) -> NDArray[np.int64]:
    """Return codes in which the last level of each attribute is `missing or unknown`."""
    last = np.array([attribute.size for attribute in frame.domain.attributes])
    return np.where(frame.codes < 0, last, frame.codes)


def _tables(
    coded: Sequence[NDArray[np.int64]], places: Sequence[int], sizes: Sequence[int]
) -> tuple[list[NDArray[np.float64]], int]:
    """Compute the shares of each table over the same cells, and the number of all cells.

    For a pair with very many cells, only non-empty cells are stored: a cell that is 0 everywhere adds no distance.
    """
    cells, size = [np.zeros(len(codes), np.int64) for codes in coded], 1
    for place in places:
        cells = [cell * sizes[place] + codes[:, place] for cell, codes in zip(cells, coded, strict=True)]
        size *= sizes[place]
    kept = size
    if len(places) > 1 and size > _MOST_CELLS:
        seen, at = np.unique(np.concatenate(cells), return_inverse=True)
        cells, kept = np.split(at.reshape(-1), np.cumsum([len(codes) for codes in coded])[:-1]), len(seen)
    return [np.bincount(cell, minlength=kept) / len(cell) for cell in cells], size
