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
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations, product

import numpy as np
from numpy.typing import NDArray

from tacita.domain import Domain
from tacita.noise import Law
from tacita.noise.sums import Part
from tacita.synthesize.intervals.measured import MeasuredTable

__all__ = ["Question", "pooled"]

_NONE = 1e-12  # weight

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
    whole = len(over) > _MOST_POOLED
    sets: dict[Names, float] = defaultdict(float)  # weights of the tables that give an effect
    sums: dict[Names, Array] = {}  # of their weighted margins
    alike: Counter[tuple[Names, Law, int, int]] = Counter()
    for table in known:
        shared = over.intersection(table.attributes)
        if shared != over and (whole or not shared):
            continue
        weight = _weight(table.variance, table.counts.size)
        for each in [over] if whole else _subsets(shared):
            sets[each] += weight
            margin = weight * table.margin(_ordered(question.domain, each))
            sums[each] = sums[each] + margin if each in sums else margin
        alike[shared, table.law, table.terms, table.counts.size] += 1
    factors = {each: math.prod(question.share(name) for name in over - each) / weight for each, weight in sets.items()}
    values: Array | float = 0.0
    for each, factor in factors.items():
        values = values + factor * _effect(sums[each], question, _ordered(question.domain, each), plain=whole)
    parts = [
        Part(law, terms * cells * times, weight)
        for (shared, law, terms, size), times in alike.items()
        for cells, weight in _weights(shared, size, _weight(law.variance * terms, size), factors, question, plain=whole)
    ]
    return np.asarray(values, float), parts


def _weight(variance: float, size: int) -> float:
    return 1 / max(variance * size, 1e-300)


def _ordered(domain: Domain, names: Names) -> tuple[str, ...]:
    return tuple(sorted(names, key=domain.names.index))


def _subsets(names: Names) -> Iterator[Names]:
    inside: Sequence[str] = sorted(names)
    return map(frozenset, chain.from_iterable(combinations(inside, size) for size in range(len(inside) + 1)))


def _effect(margin: Array, question: Question, left: tuple[str, ...], *, plain: bool) -> Array:
    """The effect of a set in its margin, or if `plain` the counts; with an axis for each name of the question."""
    values = margin
    for axis, name in enumerate(left):
        sums = values.sum(axis=axis, keepdims=True)
        if name in question.names:
            found = values
        else:
            found = np.compress(question.masks[name], values, axis=axis).sum(axis=axis, keepdims=True)
        values = found if plain else found - question.share(name) * sums
    values = values.sum(axis=tuple(axis for axis, name in enumerate(left) if name not in question.names))
    left = tuple(name for name in left if name in question.names)
    values = values.transpose([left.index(name) for name in question.names if name in left])
    return np.asarray(values.reshape([question.domain[name].size if name in left else 1 for name in question.names]))


def _weights(
    shared: Names, size: int, own: float, factors: Mapping[Names, float], question: Question, *, plain: bool
) -> Iterator[tuple[int, float]]:
    """Numbers of cells of a table, and their weights in an estimate, by the attributes whose levels they take."""
    names = sorted(shared)
    sizes = [question.domain[name].size for name in names]
    wanted = [question.wanted(name) for name in names]
    others = size // math.prod(sizes)
    for inside in product((True, False), repeat=len(names)):
        cells = others * math.prod(
            some if taken else levels - some for some, levels, taken in zip(wanted, sizes, inside, strict=True)
        )
        if not cells:
            continue
        if plain:
            weight = own * factors[shared] if all(inside) else 0.0
        else:
            shift = {name: taken - question.share(name) for name, taken in zip(names, inside, strict=True)}
            weight = own * math.fsum(
                factors[each] * math.prod(shift[name] for name in each) for each in _subsets(shared)
            )
        if abs(weight) > _NONE:
            yield cells, weight
