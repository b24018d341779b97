"""Tables that agree where they overlap: post-processing, so it costs no privacy.

Two stages, because asking for non-negative tables with given margins has no solution while the margins disagree:

1. *Agree.* For every set of attributes that several tables share, from the smallest (the total) to the largest, the
   shared margin becomes the average of what the tables say, weighted by inverse variance, and each table spreads its
   correction evenly over the cells. Averaging a larger set does not disturb a smaller one that agrees already.
2. *No negative shares.* Each table is projected onto the simplex, which may disturb the margins a little; the
two stages
   are repeated a few times and end with the projection.

`complete` fills a table that nobody asked for from those that were: the one with the largest entropy (or smallest
norm) among all with these margins, by iterative scaling.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tacita.cells import Cells
from tacita.collect.simplex import project_table
from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.privacy.accountant import pure_epsilon
from tacita.privacy.event import Event, Pure
from tacita.release import Provenance, Release, Releases
from tacita.uncertainty import Unknown

__all__ = ["agree", "complete", "consistent"]

Array = NDArray[np.float64]
Tables = dict[tuple[str, ...], Cells]
Weights = dict[tuple[str, ...], float]

_ROUNDS = 5


def _overlaps(keys: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
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
        margins = {key: found[key].project(shared) for key in members}
        merged = {key: found[key].domain.size // margins[key].domain.size for key in members}
        precision = {key: 1 / (variances[key] * merged[key]) for key in members}
        weight = sum(precision.values())
        average = sum(
            (precision[key] / weight * margins[key].values for key in members), np.zeros(margins[members[0]].shape)
        )
        if not shared and total is not None:
            average = np.asarray(total)
        for key in members:
            correction = Cells(margins[key].domain, (average - margins[key].values) / merged[key])
            found[key] = (found[key] + correction).project(key)
    return found


def consistent(releases: Releases, *, rounds: int = _ROUNDS) -> Releases:
    """Releases that agree on what they share and have no negative share.

    The result is biased, as every projection is; intervals are those of the releases it was made from.
    """
    event = _joint_event(list(releases.values()))
    variances = {key: float(np.mean(release.std() ** 2)) for key, release in releases.items()}
    tables: Tables = {key: Cells(r.domain, r.values.astype(float)) for key, r in releases.items()}
    for _ in range(rounds):
        tables = agree(tables, variances)
        tables = {key: project_table(table) for key, table in tables.items()}
    return Releases(_published(releases[key], table, event) for key, table in tables.items())


def _joint_event(releases: Sequence[Release]) -> Event:
    """What a table that was made from all of them costs: each respondent of a collection answered one of them."""
    first = releases[0]
    for release in releases:
        if release.quantity != "share" or release.trust != "local":
            raise InvalidInput("must be shares from a collection", field="releases", value=release.quantity)
        if (release.unit, release.neighbours) != (first.unit, first.neighbours):
            raise InvalidInput("must protect the same unit", field="releases", value=str(release.unit))
    amounts = [pure_epsilon(release.event, release.neighbours) for release in releases]
    return Pure(epsilon=max(amounts))


def _published(release: Release, table: Cells, event: Event) -> Release:
    recipe = dict(release.provenance.recipe) | {"published": "consistent"}
    provenance: Provenance = replace(release.provenance, recipe=recipe)
    return replace(release, estimate=table, uncertainty=Unknown(), event=event, provenance=provenance)


def complete(tables: Iterable[Cells], domain: Domain, *, rounds: int = 500, tolerance: float = 1e-10) -> Cells:
    """The table of largest entropy over `domain` with the margins that some consistent tables give.

    Args:
        tables: Non-negative tables that agree; what they know about `domain` is used.
        domain: The attributes wanted.
    """
    known = []
    for table in tables:
        shared = [name for name in domain.names if name in table.attributes]
        if shared:
            known.append(table.project(shared))
    if not known:
        raise InvalidInput("no table knows any of them", field="attributes", value=list(domain.names))
    if any((margin.values < -1e-12).any() for margin in known):
        raise InvalidInput("must not be negative; make them consistent first", field="tables")
    full = Cells(domain, np.full(domain.shape, float(known[0].sum()) / domain.size))
    for _ in range(rounds):
        worst = 0.0
        for margin in known:
            held = full.project(margin.attributes)
            worst = max(worst, float(np.abs(held.values - margin.values).max()))
            full = Cells(domain, (full * (margin / held)).project(domain.names).values)
        if worst < tolerance:
            break
    return full
