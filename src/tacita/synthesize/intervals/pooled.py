"""The best linear unbiased estimate of the number of rows with some levels, from all noisy tables of a round.

The number of rows with levels in m_i of each attribute i of a set is a sum of effects, one for each subset U:

    effect of U in a table    over the attributes in U the number with the level less the share r_i = |m_i| / |i| of
                              all, over all others the sum;  times r_i for each i of the set that is not in U
    pooled effect             its mean over all tables that hold U, weighted by 1 / (variance of a cell x cells)
    estimate                  the sum of the pooled effects

Effects of different sets are uncorrelated in a table whose cells have independent noise of one variance, so pooling
each by its precision is generalised least squares over the tables that hold any attribute of the set. So a pair is
nearer to the truth than its own table: what it says about either attribute alone, all other tables with that attribute
say too. The width is that of the law of the whole sum, in which every cell of every table has a known weight.

Privacy: post-processing of released tables.   Claim: docs/claims/model-intervals.md
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations, product

import numpy as np
from numpy.typing import NDArray

from tacita.domain import Domain
from tacita.noise.sums import Part
from tacita.synthesize.intervals.measured import MeasuredTable

__all__ = ["Question", "pooled"]

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Names = frozenset[str]

_MOST_POOLED = 4
"""Attributes up to which effects are pooled; of more, tables that hold all of them are averaged."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Question:
    """A table that is asked for, among the rows that meet conditions.

    Attributes:
        domain: All attributes.
        names: Of the table.
        masks: By attribute, the levels that conditions allow.
    """

    domain: Domain
    names: tuple[str, ...]
    masks: Mapping[str, Mask]

    @cached_property
    def scope(self) -> Names:
        """Attributes of the table and of the conditions."""
        return frozenset(self.names) | frozenset(self.masks)

    def wanted(self, name: str) -> int:
        """Number of levels of an attribute that a cell takes."""
        return 1 if name in self.names else int(self.masks[name].sum())

    def share(self, name: str) -> float:
        """The same as a share of its levels."""
        return self.wanted(name) / self.domain[name].size


def pooled(tables: Iterable[MeasuredTable], question: Question, over: Names) -> tuple[Array, list[Part]] | None:
    """The estimate of n(over), with an axis for each name of the question, and its noise; None if no table holds it."""
    known = list(tables)
    if not any(over <= set(table.attributes) for table in known):
        return None
    common = [frozenset(table.attributes) & over for table in known]
    whole = len(over) > _MOST_POOLED
    used = [
        (table, over if over <= shared else shared)
        for table, shared in zip(known, common, strict=True)
        if over <= shared or (shared and not whole)
    ]
    weights = [1 / max(table.variance * table.counts.size, 1e-300) for table, _ in used]
    totals = {
        each: math.fsum(weight for weight, (_, shared) in zip(weights, used, strict=True) if each <= shared)
        for each in ([over] if whole else _subsets(over))
    }
    shares = {name: question.share(name) for name in over}
    values: Array | float = 0.0
    parts: list[Part] = []
    for (table, shared), weight in zip(used, weights, strict=True):
        if whole:
            factors = {over: weight / totals[over]}
            effects: Iterable[tuple[Names, Array]] = [(over, _effect(table, question, over, plain=True))]
        else:
            factors = {
                each: weight / totals[each] * math.prod(shares[name] for name in over - each)
                for each in _subsets(shared)
            }
            effects = ((each, _effect(table, question, each)) for each in factors)
        for each, effect in effects:
            values = values + factors[each] * effect
        parts += _noise(table, question, shared, factors, plain=whole)
    return np.asarray(values, float), parts


def _subsets(names: Names) -> Iterator[Names]:
    inside: Sequence[str] = sorted(names)
    return map(frozenset, chain.from_iterable(combinations(inside, size) for size in range(len(inside) + 1)))


def _effect(table: MeasuredTable, question: Question, over: Names, *, plain: bool = False) -> Array:
    """The effect of a set in a table, or if `plain` the noisy counts; axes are those of the question, of length 1 for
    names that are not in the set."""
    values = table.counts.sum(axis=tuple(at for at, name in enumerate(table.attributes) if name not in over))
    left = [name for name in table.attributes if name in over]
    for axis, name in enumerate(left):
        sums = values.sum(axis=axis, keepdims=True)
        if name in question.names:
            found = values
        else:
            found = np.compress(question.masks[name], values, axis=axis).sum(axis=axis, keepdims=True)
        values = found if plain else found - question.share(name) * sums
    hidden = tuple(axis for axis, name in enumerate(left) if name not in question.names)
    values = values.sum(axis=hidden)
    left = [name for name in left if name in question.names]
    inside = [name for name in question.names if name in left]
    values = values.transpose([left.index(name) for name in inside])
    return np.asarray(values.reshape([question.domain[name].size if name in left else 1 for name in question.names]))


def _noise(
    table: MeasuredTable, question: Question, shared: Names, factors: Mapping[Names, float], *, plain: bool
) -> Iterator[Part]:
    """The weights of a table's cells in an estimate, by the attributes whose levels a cell takes."""
    names = sorted(shared)
    sizes = {name: question.domain[name].size for name in names}
    others = math.prod(question.domain[name].size for name in table.attributes if name not in shared)
    for inside in product((True, False), repeat=len(names)):
        taken = dict(zip(names, inside, strict=True))
        count = others * math.prod(
            question.wanted(name) if taken[name] else sizes[name] - question.wanted(name) for name in names
        )
        if plain:
            weight = math.fsum(factors.values()) if all(inside) else 0.0
        else:
            weight = math.fsum(
                factor * math.prod(taken[name] - question.share(name) for name in each)
                for each, factor in factors.items()
            )
        if count and abs(weight) > 1e-12:
            yield Part(table.law, table.terms * count, weight)
