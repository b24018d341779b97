"""Interactions: what all measured tables say together about every attribute and every pair of attributes.

A table over attributes V is a sum of one part for each set S of them: the margin over S, centred along each of its
axes. With every level equally often, parts of different sets are orthogonal. A channel that treats all cells alike
gives a table errors of nearly equal variance in all directions, so that parts of different sets have nearly
independent errors. All tables that hold S are then averaged,

    precision(S) = sum_V f / v_V(S),    value(S) = sum_V part_V(S) f / v_V(S) / precision(S)

cell by cell, with v_V(S) the variance of each cell of the part, exact from the covariance of the channel, and f the
share of free numbers among the cells: a part has fewer free numbers than cells, and each counts once. A covariance is
a function of the true table; here it is that of the product of the single attributes, or of tables given by the caller.
`pooled` averages with full covariances; this form needs no matrix over all shared numbers, and counts every answer once
where a table of many attributes holds many pairs.

Privacy: post-processing of reports; nothing is spent.
Cost: the cells of the measured tables times their pairs.   Claim page: docs/claims/collected-tables.md.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce

import numpy as np
from numpy.typing import NDArray

from tacita.collect.estimating.evidence import Evidence, Key
from tacita.domain import Domain
from tacita.tables.simplex import to_distribution
from tacita.tables.uncertainty import Covariance

__all__ = ["Interactions", "Precisions", "centred_margin", "part_precisions", "products_of"]

Array = NDArray[np.float64]
Precisions = dict[tuple[Key, Key], Array]
"""Of each part of each measured table: the table, and the attributes of the part."""

_LEAST = 1e-3
"""A variance is taken to be at least so much of the mean of its part."""


def centred_margin(table: Array, axes: tuple[int, ...]) -> Array:
    """The part of a table for some of its axes: summed over the others, centred along each of these.

    >>> centred_margin(np.array([[0.4, 0.1], [0.2, 0.3]]), (0, 1))
    array([[ 0.1, -0.1],
           [-0.1,  0.1]])
    """
    others = tuple(axis for axis in range(table.ndim) if axis not in axes)
    part = table.sum(axis=others)
    for axis in range(part.ndim):
        part = part - part.mean(axis=axis, keepdims=True)
    return np.asarray(part)


def _part_precision(covariance: Covariance, shape: tuple[int, ...], axes: tuple[int, ...]) -> Array:
    """f over the variance of each cell of a part.

    The covariance is diag(u) - sum s w w'. A cell of the part is a sum over the table with weights c c' .., where
    c = 1{same level} - 1 / levels: its variance is that of the diagonal with the weights squared, less the squares of
    the parts of all w.
    """
    others = tuple(axis for axis in range(len(shape)) if axis not in axes)
    variance = covariance.diagonal.reshape(shape).sum(axis=others)
    free = 1.0
    for axis, size in enumerate(variance.shape):
        squared = (np.eye(size) - 1 / size) ** 2
        variance = np.moveaxis(np.tensordot(squared, variance, axes=(1, axis)), 0, axis)
        free *= (size - 1) / size
    for sign, vector in zip(covariance.signs, covariance.vectors, strict=True):
        variance = variance - sign * centred_margin(vector.reshape(shape), axes) ** 2
    return np.asarray(free / np.maximum(variance, _LEAST * max(float(variance.mean()), 1e-300)))


@dataclass(frozen=True, kw_only=True, eq=False)
class Interactions:
    """Averaged parts of all attributes and pairs, in one vector and one matrix over all levels of all attributes.

    Attributes:
        domain: The attributes that were asked about.
        singles: For each level of each attribute its measured share less 1 / levels.
        pairs: For each two levels of different attributes the centred share of both; 0 within an attribute.
        single_precision: Of each level.
        pair_precision: Of each two levels; 0 where no table holds both attributes.
    """

    domain: Domain = field(repr=False)
    singles: Array = field(repr=False)
    pairs: Array = field(repr=False)
    single_precision: Array = field(repr=False)
    pair_precision: Array = field(repr=False)

    @classmethod
    def of(cls, evidence: Evidence, precisions: Precisions | None = None) -> Interactions:
        """Average the parts of all measured tables.

        Args:
            evidence: What was measured.
            precisions: Of each part of each table, where they were computed before (`part_precisions`).
        """
        held = {name for key in evidence.values for name in key}
        domain = evidence.domain.project([name for name in evidence.domain.names if name in held])
        precisions = part_precisions(evidence) if precisions is None else precisions
        place = {name: number for number, name in enumerate(domain.names)}
        found = cls.empty(domain)
        for key, values in evidence.values.items():
            for size in (1, 2):
                for axes in itertools.combinations(range(len(key)), size):
                    names = tuple(key[axis] for axis in axes)
                    found._add([place[n] for n in names], centred_margin(values, axes), precisions[key, names])
        return found._averaged()

    @classmethod
    def empty(cls, domain: Domain) -> Interactions:
        """Nothing measured yet."""
        levels = sum(domain.shape)
        return cls(
            domain=domain,
            singles=np.zeros(levels),
            pairs=np.zeros((levels, levels)),
            single_precision=np.zeros(levels),
            pair_precision=np.zeros((levels, levels)),
        )

    def _add(self, places: list[int], part: Array, precision: Array) -> None:
        if len(places) == 1:
            at = self.blocks[places[0]]
            self.singles[at] += precision * part
            self.single_precision[at] += precision
            return
        first, second = (self.blocks[place] for place in places)
        for one, two, table, known in ((first, second, part, precision), (second, first, part.T, precision.T)):
            self.pairs[one, two] += known * table
            self.pair_precision[one, two] += known

    def _averaged(self) -> Interactions:
        known = self.pair_precision
        pairs = np.divide(self.pairs, known, out=np.zeros_like(self.pairs), where=known > 0)
        return replace(self, singles=self.singles / np.maximum(self.single_precision, 1e-300), pairs=pairs)

    @cached_property
    def blocks(self) -> tuple[slice, ...]:
        """The levels of each attribute."""
        ends = np.cumsum(self.domain.shape)
        return tuple(slice(int(end) - size, int(end)) for end, size in zip(ends, self.domain.shape, strict=True))

    @cached_property
    def owner(self) -> NDArray[np.int64]:
        """The attribute of each level."""
        return np.repeat(np.arange(len(self.domain.shape)), self.domain.shape)

    def spread(self, numbers: Array) -> Array:
        """A number of each attribute, for each of its levels."""
        return np.asarray(numbers[self.owner])

    @property
    def measured_pairs(self) -> list[tuple[int, int]]:
        """Pairs of attributes that some table holds."""
        places = itertools.combinations(range(len(self.blocks)), 2)
        return [(a, b) for a, b in places if self.pair_precision[self.blocks[a].start, self.blocks[b].start] > 0]


def part_precisions(evidence: Evidence, at: Mapping[Key, Array] | None = None) -> Precisions:
    """The precision of the parts of one and two attributes of every measured table.

    Args:
        evidence: What was measured.
        at: The tables at which covariances are evaluated; products of single attributes by default.
    """
    found: Precisions = {}
    tables = products_of(evidence) if at is None else at
    for key, values in evidence.values.items():
        covariance = evidence.covariance(key, tables[key])
        for size in (1, 2):
            for axes in itertools.combinations(range(len(key)), size):
                names = tuple(key[axis] for axis in axes)
                found[key, names] = _part_precision(covariance, values.shape, axes)
    return found


def products_of(evidence: Evidence) -> dict[Key, Array]:
    """For each measured table the product of its single attributes, averaged over all tables that hold them."""
    sums: dict[str, Array] = {}
    for key, values in evidence.values.items():
        reports = sum(evidence.sources[key].reports) / values.size
        for axis, name in enumerate(key):
            margin = values.sum(axis=tuple(other for other in range(values.ndim) if other != axis))
            sums[name] = sums.get(name, 0.0) + reports * margin
    singles = {name: to_distribution(total) for name, total in sums.items()}
    return {key: np.asarray(reduce(np.multiply.outer, [singles[name] for name in key])) for key in evidence.values}
