"""Pairs of places, measured from coarse to fine where there is something to see.

    level 0     all pairs of groups, with noise
    level l     the pairs of children of those pairs whose estimate exceeds `theta` standard errors of the noise that
                the children will get, taken together: theta x std x sqrt(number of children pairs)

The pairs to refine follow from noisy counts only. A card is in at most one cell of each level. Every refined pair is
shrunk towards its prior (the popularity of its children), projected to non-negative cells, and keeps its estimate as
the sum; so levels agree by construction. A pair that is not refined is spread by popularity.

Privacy: each level is one table that a card moves by 1; the budget of a level is spent whatever was refined. The rest
         is post-processing. Claim: docs/claims/mobility.md
Cost:    one pass over the cards for each level; at most `MOST_REFINED` cells a level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tacita.noise import Source
from tacita.synthesize.mobility.measuring import PlannedTable, shrink
from tacita.synthesize.mobility.places import Hierarchy
from tacita.tables.simplex import norm_sub

__all__ = ["Blocks", "measure_pairs"]

Codes = NDArray[np.int64]
Array = NDArray[np.float64]
MOST_REFINED = 4_000_000
_LEAST = 1e-9


@dataclass(frozen=True, kw_only=True, eq=False)
class Blocks:
    """A distribution over pairs of places: weights of pairs of groups, which do not overlap.

    Attributes:
        level: Level of the groups of each pair.
        one, other: Groups.
        weight: Estimated number of cards.
    """

    level: Codes = field(repr=False)
    one: Codes = field(repr=False)
    other: Codes = field(repr=False)
    weight: Array = field(repr=False)

    def __len__(self) -> int:
        return len(self.weight)


def measure_pairs(
    hierarchy: Hierarchy,
    popularity: Array,
    pair: tuple[Codes, Codes],
    tables: Sequence[PlannedTable],
    source: Source,
    *,
    theta: float,
) -> tuple[Blocks, float, float, list[int]]:
    """Measure the pairs of places of cards.

    Args:
        hierarchy: Public groups of places, or groups that were formed from noisy counts.
        popularity: Noisy, non-negative weight of each place.
        pair: Two places of each card. Exact.
        tables: Noise of each level.
        source: Randomness.
        theta: Standard errors that a pair must be worth.

    Returns:
        The blocks, the noisy number of cards, its standard error, and how many pairs each level refined.
    """
    shares = [_shares(level, popularity) for level in hierarchy.levels]
    codes = [
        level[pair[0]] * size + level[pair[1]] for level, size in zip(hierarchy.levels, hierarchy.sizes, strict=True)
    ]
    size, table = hierarchy.sizes[0], tables[0]
    noisy = table.measure(np.bincount(codes[0], minlength=size * size).astype(np.int64), source)
    total = float(noisy.sum())
    weight = _root(noisy.reshape(size, size), table.variance)
    done: list[tuple[Codes, Codes, Codes, Array]] = []
    one, other = np.repeat(np.arange(size), size), np.tile(np.arange(size), size)
    refined: list[int] = []
    for level in range(1, len(tables)):
        children, table = hierarchy.children(level - 1), tables[level]
        number = np.array([len(each) for each in children])
        cells = number[one] * number[other]
        wanted = (cells > 1) & (weight > theta * table.std * np.sqrt(cells))
        wanted = _within(wanted, cells, weight)
        passed = ~wanted & (weight > _LEAST)
        done.append((np.full(int(passed.sum()), level - 1), one[passed], other[passed], weight[passed]))
        parents = np.stack([one[wanted], other[wanted]])
        refined.append(parents.shape[1])
        parts = _refined(children, parents, weight[wanted], shares[level], codes, hierarchy, level, table, source)
        one, other, weight = parts
    last = len(tables) - 1
    kept = weight > _LEAST
    done.append((np.full(int(kept.sum()), last), one[kept], other[kept], weight[kept]))
    columns = [np.concatenate(each) for each in zip(*done, strict=True)]
    blocks = Blocks(level=columns[0], one=columns[1], other=columns[2], weight=columns[3])
    return blocks, total, tables[0].std * size, refined


def _root(noisy: Array, variance: float) -> Array:
    """The coarsest table: shrunk towards the product of its margins, then non-negative with the same sum."""
    total = max(float(noisy.sum()), 1.0)
    rows, columns = (norm_sub(noisy.sum(axis=axis), total=total).frequencies for axis in (1, 0))
    found = shrink(noisy, np.outer(rows, columns) / total, variance)
    return np.asarray(norm_sub(found.reshape(-1), total=total).frequencies)


def _within(wanted: NDArray[np.bool_], cells: Codes, weight: Array) -> NDArray[np.bool_]:
    """The heaviest pairs, as many as may be refined."""
    if int(cells[wanted].sum()) <= MOST_REFINED:
        return wanted
    order = np.argsort(-np.where(wanted, weight, -np.inf), kind="stable")
    kept = np.zeros_like(wanted)
    kept[order[np.cumsum(cells[order]) <= MOST_REFINED]] = True
    return kept & wanted


def _refined(
    children: Sequence[Codes],
    parents: Codes,
    weight: Array,
    shares: Array,
    codes: Sequence[Codes],
    hierarchy: Hierarchy,
    level: int,
    table: PlannedTable,
    source: Source,
) -> tuple[Codes, Codes, Array]:
    """Measure the pairs of children of some pairs of groups."""
    size, finer = hierarchy.sizes[level - 1], hierarchy.sizes[level]
    parts = [np.stack(np.meshgrid(children[a], children[b], indexing="ij")).reshape(2, -1) for a, b in parents.T]
    pairs = np.concatenate([np.zeros((2, 0), np.int64), *parts], axis=1)
    cells = np.array([part.shape[1] for part in parts], np.int64)
    starts = np.concatenate([[0], np.cumsum(cells)]).astype(np.int64)
    # the cards whose pair of groups is refined, and the cell of each among the pairs of children
    known = pairs[0] * finer + pairs[1]
    order = np.argsort(known, kind="stable")
    inside = np.isin(codes[level - 1], parents[0] * size + parents[1])
    at = order[np.searchsorted(known[order], codes[level][inside])] if len(known) else np.zeros(0, np.int64)
    noisy = table.measure(np.bincount(at, minlength=len(known)).astype(np.int64), source)
    found = np.empty(len(known))
    for place, total in enumerate(weight):
        part = slice(starts[place], starts[place + 1])
        prior = shares[pairs[0, part]] * shares[pairs[1, part]]
        prior = prior / prior.sum() * total if prior.sum() > 0 else np.full(prior.shape, total / prior.size)
        moved = shrink(noisy[part], prior, table.variance)
        found[part] = norm_sub(moved, total=total).frequencies
    return pairs[0], pairs[1], found


def _shares(level: Codes, popularity: Array) -> Array:
    """Weight of each group."""
    return np.asarray(np.bincount(level, popularity), np.float64)
