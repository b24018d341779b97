"""Tables that agree where they overlap: post-processing, so it costs no privacy. The one home of these formulas.

    weighted_mean   one estimate from several of the same thing, weighted by precision
    agree           shared margins made equal: that mean, and each table spreads its correction evenly over the cells
    possible        non-negative tables that nearly agree: `agree` and projection onto the simplex, in turns
    rake            a table scaled to some margins
    settle          non-negative tables that agree, by scaling

Asking at once for non-negative tables with given margins has no solution while the margins disagree. So `possible`
makes margins agree first, from the smallest set of attributes (the total) to the largest: averaging a larger set does
not disturb a smaller one that agrees already. The projection disturbs margins a little, so that the two stages are
repeated a few times; `settle` scales the remaining disagreement away, which keeps shares positive.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacita.tables.cells import Cells
from tacita.tables.simplex import project_table

__all__ = ["agree", "possible", "rake", "settle", "weighted_mean"]

Array = NDArray[np.float64]
Key = tuple[str, ...]
Tables = dict[Key, Cells]
Weights = dict[Key, float]

_ROUNDS = 5
_SCALINGS = 50
_SETTLING = 500
_CLOSE = 1e-10
_TRACE = 1e-9


def weighted_mean(estimates: Sequence[ArrayLike], variances: Sequence[float]) -> tuple[Array, float]:
    """The mean of independent unbiased estimates of one thing, weighted by precision, and its variance.

    >>> weighted_mean([1.0, 4.0], [1.0, 2.0])
    (array(2.), 0.6666666666666666)
    """
    precision = [1 / variance for variance in variances]
    known = sum(precision)
    parts = (each / known * np.asarray(estimate, float) for each, estimate in zip(precision, estimates, strict=True))
    return np.asarray(sum(parts)), 1 / known


def rake(table: Cells, margins: Sequence[Cells], *, rounds: int = _SCALINGS, tolerance: float = _CLOSE) -> Cells:
    """The table scaled to some margins, again and again until it has them: the nearest such one in relative entropy.

    [Deming, Stephan 1940]. A cell that is 0 stays 0, so margins that need it are reached as nearly as can be.
    """
    for _ in range(rounds):
        worst = 0.0
        for margin in margins:
            held = table.project(margin.attributes)
            worst = max(worst, float(np.abs(held.values - margin.values).max()))
            table = Cells(table.domain, (table * (margin / held)).project(table.attributes).values)
        if worst < tolerance:
            break
    return table.normalize()


def _overlaps(keys: Iterable[Key]) -> list[Key]:
    """Sets of attributes that at least two tables share, closed under intersection, smallest first."""
    sets = {frozenset(key) for key in keys}
    shared = {frozenset[str]()} | {a & b for a, b in itertools.combinations(sets, 2)}
    while True:
        more = {a & b for a, b in itertools.combinations(shared, 2)} - shared
        if not more:
            break
        shared |= more
    return [tuple(sorted(s)) for s in sorted(shared, key=lambda s: (len(s), sorted(s)))]


def agree(tables: Tables, variances: Weights, total: float | None = 1.0) -> Tables:
    """Make shared margins equal.

    Args:
        tables: One table for each key.
        variances: Variance of one cell of each table; a margin's is that times the number of cells summed.
        total: What all must sum to, when it is known.
    """
    found = dict(tables)
    for shared in _overlaps(list(found)):
        members = [key for key in found if set(shared) <= set(key)]
        if len(members) < 2 and shared:
            continue
        average = np.asarray(total) if not shared and total is not None else _margin(found, members, shared, variances)
        for key in members:
            margin = found[key].project(shared)
            merged = found[key].domain.size // margin.domain.size
            found[key] = (found[key] + Cells(margin.domain, (average - margin.values) / merged)).project(key)
    return found


def _margin(tables: Tables, members: Sequence[Key], shared: Key, variances: Weights) -> Array:
    """The mean of the margins that some tables have over shared attributes; cells that are summed add variance."""
    margins = [tables[key].project(shared) for key in members]
    summed = [
        variances[key] * (tables[key].domain.size // margin.domain.size)
        for key, margin in zip(members, margins, strict=True)
    ]
    return weighted_mean([margin.values for margin in margins], summed)[0]


def settle(tables: Tables, variances: Weights) -> Tables:
    """Non-negative tables that agree on every single attribute, and on larger shared sets as far as such tables can.

    For every shared set of attributes, from the smallest to the largest, what all hold is the average of their margins,
    weighted as in `agree` and scaled to the smaller sets; then every table is scaled to all of them, and at last to the
    single attributes. Those it can always have. Three pairs that agree one by one may have no non-negative triple, so
    that where pairs and triples share two attributes a little may be left.

    Args:
        tables: Non-negative tables, each with a sum of 1.
        variances: Variance of one cell of each table.
    """
    # a cell that is 0 stays 0 under scaling, and its margin may need it: a trace of the uniform keeps all reachable
    found = {k: Cells(t.domain, (1 - _TRACE) * t.values + _TRACE / t.domain.size) for k, t in tables.items()}
    held: Tables = {}
    for shared in _overlaps(list(found)):
        members = [key for key in found if shared and set(shared) <= set(key)]
        if len(members) < 2:
            continue
        average = _margin(found, members, shared, variances)
        domain = found[members[0]].domain.project(shared)
        held[shared] = rake(Cells(domain, average), _inside(held, shared), rounds=_SETTLING)
    near = {key: rake(table, _inside(held, key)) for key, table in found.items()}
    single: Tables = {shared: margin for shared, margin in held.items() if len(shared) == 1}
    return {key: rake(table, _inside(single, key), rounds=_SETTLING) for key, table in near.items()}


def _inside(held: Tables, key: Key) -> list[Cells]:
    """Margins over parts of some attributes."""
    return [margin for shared, margin in held.items() if set(shared) <= set(key)]


def possible(tables: Tables, variances: Weights, *, rounds: int = _ROUNDS) -> Tables:
    """Non-negative tables that nearly agree: the two stages above, in turns.

    Args:
        tables: One table for each key.
        variances: Variance of one cell of each table.
        rounds: How often.
    """
    for _ in range(rounds):
        tables = agree(tables, variances)
        tables = {key: project_table(table) for key, table in tables.items()}
    return tables
