"""Noisy counts of a number in cells that grow finer where there are rows: a tree of counts.

    round 1   the grid in a few equal parts
    round r   every part that stands out from the noise is divided; all parts are counted again

In each round a row is in one part, so that a round is one histogram. What was counted in several rounds is averaged;
then counts of parts are made to add up to those of what they divide, by least squares [Hay et al. 2010]. Within a part,
values that stand out stay as they are; other counts are shrunk towards an even spread over its width, by as much as
noise explains [James, Stein 1961].

Privacy:  the parts of a round are a function of the released counts of the rounds before: a sequence of histograms with
          additive noise, each of which moves by as many rows as a unit has.
          Claim: docs/claims/fine-numbers.md
Cost:     one pass over the rows for all rounds, which are taken from the exact counts of the grid.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tacita.noise import Law, Source
from tacita.synthesize.numbers.grid import Grid
from tacita.tables.consistency import weighted_mean
from tacita.tables.simplex import norm_sub

__all__ = ["Leaves", "grow", "refine"]

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

_CLEAR = 4.0
"""Standard deviations by which the rows of a part must exceed 0 to be divided."""
_FEWEST = 4  # parts among which counts can be shrunk


@dataclass(frozen=True, kw_only=True, eq=False)
class Leaves:
    """The finest parts that were counted, with the share of the rows that each is estimated to have.

    Attributes:
        first: First cell of the grid of each part.
        shares: Not negative; they add up to 1.
    """

    first: Integers = field(repr=False)
    shares: Array = field(repr=False)

    def __len__(self) -> int:
        return len(self.shares)


@dataclass(eq=False)
class _Part:
    """Cells from `first` up to but without `last`, with its noisy counts."""

    first: int
    last: int
    counts: list[float] = field(default_factory=list)
    parts: list[_Part] = field(default_factory=list)

    @property
    def mean(self) -> float:
        """Mean of the counts of several rounds."""
        return sum(self.counts) / len(self.counts)

    def leaves(self) -> list[_Part]:
        """Return the finest parts, in order."""
        return [leaf for part in self.parts for leaf in part.leaves()] if self.parts else [self]

    def divide(self, parts: int) -> None:
        """Divide this part into so many, or into its cells where they are fewer."""
        edges = np.unique(np.linspace(self.first, self.last, min(parts, self.last - self.first) + 1).astype(int))
        self.parts = [_Part(int(a), int(b)) for a, b in itertools.pairwise(edges)]


def grow(counts: Integers, grid: Grid, law: Law, source: Source) -> Leaves:
    """Count in rounds with noise, and estimate the shares of the finest parts.

    Args:
        counts: Exact count of each cell of the grid; read through noise alone.
        grid: The public grid.
        law: Noise of each count of each round.
        source: Randomness.
    """
    upto = np.concatenate([[0], np.cumsum(counts)])

    def ask(edges: Integers) -> Array:
        return np.asarray(np.diff(upto[edges]) + law.draw(len(edges) - 1, source), float)

    return refine(ask, grid, law.variance)


def refine(ask: Callable[[Integers], Array], grid: Grid, variance: float) -> Leaves:
    """Choose the parts of each round by the answers of the rounds before; sees no other data.

    Args:
        ask: Returns noisy counts between edges, which are cells of the grid; asked once in each round.
        grid: The public grid.
        variance: Of each noisy count.
    """
    root = _Part(0, len(grid))
    root.divide(grid.parts)
    for number in range(grid.rounds):
        if number:
            for leaf in root.leaves():
                if leaf.last - leaf.first > 1 and leaf.mean > _CLEAR * math.sqrt(variance / len(leaf.counts)):
                    leaf.divide(grid.parts)
        leaves = root.leaves()
        noisy = ask(np.array([*(leaf.first for leaf in leaves), len(grid)], np.int64))
        for leaf, count in zip(leaves, noisy.tolist(), strict=True):
            leaf.counts.append(count)
    return Leaves(first=np.array([leaf.first for leaf in root.leaves()]), shares=_shares(root, grid, variance))


def _shares(root: _Part, grid: Grid, variance: float) -> Array:
    """Shares of the finest parts, in order."""
    edges, found = grid.edges, dict[int, float]()
    upward = {id(part): _upward(part, variance) for part in _all(root)}

    def settle(part: _Part, total: float) -> None:
        if not part.parts:
            found[part.first] = total
            return
        width = np.array([edges[each.last] - edges[each.first] for each in part.parts])
        rows = _within(part, upward, total, width / width.sum())
        for each, one in zip(part.parts, rows.tolist(), strict=True):
            settle(each, one)

    total = max(upward[id(root)][0], 0.0)
    settle(root, 1.0 if total == 0 else total)
    shares = np.array([found[first] for first in sorted(found)])
    return np.asarray(shares / shares.sum())


def _all(part: _Part) -> list[_Part]:
    return [part, *(each for child in part.parts for each in _all(child))]


def _upward(part: _Part, variance: float) -> tuple[float, float]:
    """Estimate of a part from its own counts and those of its parts, with the variance."""
    estimates, variances = list[float](), list[float]()
    if part.counts:
        estimates, variances = [part.mean], [variance / len(part.counts)]
    if part.parts:
        below = [_upward(each, variance) for each in part.parts]
        estimates.append(sum(each for each, _ in below))
        variances.append(sum(each for _, each in below))
    mean, left = weighted_mean(estimates, variances)
    return float(mean), left


def _within(part: _Part, upward: dict[int, tuple[float, float]], total: float, even: Array) -> Array:
    """Rows of each part of a part: they add up to its total, none is negative, and noise is spread evenly."""
    estimates, variances = (np.array(each) for each in zip(*(upward[id(each)] for each in part.parts), strict=True))
    if total <= 0:
        return np.zeros(len(estimates))
    estimates = estimates + (total - estimates.sum()) * variances / variances.sum()
    plain = estimates - total * even <= _CLEAR * np.sqrt(variances)  # all others are heavy values, and stay as they are
    rest = max(total - float(estimates[~plain].sum()), 0.0)
    wanted = rest * even[plain] / max(float(even[plain].sum()), 1e-300)
    estimates[plain] = wanted + _kept(estimates[plain] - wanted, variances[plain]) * (estimates[plain] - wanted)
    return norm_sub(estimates, total=total).frequencies


def _kept(off: Array, variances: Array) -> float:
    """Share of the distances that noise does not explain: James and Stein's; of few, all that are clearly not noise."""
    if len(off) < _FEWEST:
        return float((off**2).sum() > _CLEAR * variances.sum())
    return max(0.0, 1 - (len(off) - 3) * float(variances.mean()) / max(float((off**2).sum()), 1e-300))
