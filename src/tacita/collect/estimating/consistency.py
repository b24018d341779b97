"""Consistent releases of a collection, and tables that were not asked for.

`consistent` makes the releases of a collection agree where they overlap (`tacita.tables.consistency`). `complete`
derives a table that was not asked for from those that were: the one with the largest entropy among all with these
margins, by iterative scaling. `complete_min_norm` takes the one with the smallest sum of squares instead, as the views
of PriView do [Qardaji, Yang, Li 2014]; entropy keeps independent attributes independent, the norm does not.

Privacy: post-processing of reports; nothing is spent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.privacy.accountant import pure_epsilon
from tacita.privacy.event import Event
from tacita.tables.cells import Cells
from tacita.tables.consistency import agree, possible, rake, settle
from tacita.tables.release import Provenance, Release, Releases
from tacita.tables.uncertainty import anchored

__all__ = ["complete", "complete_min_norm", "consistent"]

Array = NDArray[np.float64]

_ROUNDS = 5


def consistent(releases: Releases, *, rounds: int = _ROUNDS) -> Releases:
    """Releases that agree on what they share and have no negative share.

    The result is biased, as every projection is. Its intervals are those of the unbiased releases that it was made
    from, cut to what is possible: the projection does not move the truth, so that they cover it as often as before.
    """
    event = _joint_event(list(releases.values()))
    variances = {key: float(np.mean(release.std() ** 2)) for key, release in releases.items()}
    tables = {key: Cells(r.domain, r.values.astype(float)) for key, r in releases.items()}
    tables = settle(possible(tables, variances, rounds=rounds), variances)
    return Releases(_published(releases[key], table, event) for key, table in tables.items())


def _joint_event(releases: Sequence[Release]) -> Event:
    """Cost of a table made from all of them: the largest, since each respondent of a collection answered one."""
    first = releases[0]
    for release in releases:
        if release.quantity != "share" or release.trust != "local":
            raise InvalidInput("must be shares from a collection", field="releases", value=release.quantity)
        if (release.unit, release.neighbours) != (first.unit, first.neighbours):
            raise InvalidInput("must protect the same unit", field="releases", value=str(release.unit))
    return max((release.event for release in releases), key=lambda event: pure_epsilon(event, first.neighbours))


def _published(release: Release, table: Cells, event: Event) -> Release:
    recipe = dict(release.provenance.recipe) | {"published": "consistent"}
    provenance: Provenance = replace(release.provenance, recipe=recipe)
    return replace(
        release,
        estimate=table,
        uncertainty=anchored(release.estimate, release.uncertainty),
        event=event,
        provenance=provenance,
    )


def complete(tables: Iterable[Cells], domain: Domain, *, rounds: int = 500, tolerance: float = 1e-10) -> Cells:
    """The table of largest entropy over `domain` with the margins that some consistent tables give.

    Args:
        tables: Non-negative tables that agree; what they know about `domain` is used.
        domain: The attributes wanted.
    """
    known = _known(tables, domain)
    total = float(known[0].sum())
    full = rake(Cells(domain, np.full(domain.shape, total / domain.size)), known, rounds=rounds, tolerance=tolerance)
    return Cells(domain, total * full.values)


def _known(tables: Iterable[Cells], domain: Domain) -> list[Cells]:
    """Project each table onto the attributes that it shares with `domain`."""
    known = []
    for table in tables:
        shared = [name for name in domain.names if name in table.attributes]
        if shared:
            known.append(table.project(shared))
    if not known:
        raise InvalidInput("no table has any of them", field="attributes", value=list(domain.names))
    if any((margin.values < -1e-12).any() for margin in known):
        raise InvalidInput("must not be negative; make them consistent first", field="tables")
    return known


_STIFFNESS = 1e8  # a margin may be missed by about the table's cells over this


def complete_min_norm(tables: Iterable[Cells], domain: Domain, *, tolerance: float = 1e-6) -> Cells:
    """The non-negative table over `domain` with the smallest sum of squares among all with the tables' margins.

    Two stages: margins that disagree are averaged (`agree`, all tables weighing alike), because no table has both; then
    the squares are minimised. With A the sums that make the margins b out of the cells t,

        min |t|^2 / 2   over t >= 0, A t = b          is          t = max(A' u, 0) with A max(A' u, 0) = b

    which is solved for u by Newton steps on the concave dual b'u - |max(A'u, 0)|^2 / 2, made strictly concave by a
    term too small to matter.

    Args:
        tables: Non-negative tables; what they know about `domain` is used.
        domain: The attributes wanted.
        tolerance: How far a margin may be missed. Margins that agree two by two need not come from any non-negative
            table; what cannot be met within this is refused, not relaxed in silence.
    """
    margins = _one_for_each(_known(tables, domain))
    sums = sparse.vstack([_summing(domain, margin.attributes) for margin in margins]).tocsr()
    wanted = np.concatenate([margin.values.reshape(-1) for margin in margins])
    cells = _least_squares(sums, wanted)
    miss = float(np.abs(sums @ cells - wanted).max())
    if miss > tolerance:
        hint = "Make the tables consistent first, take `complete`, or accept the miss by a larger tolerance"
        raise InvalidInput(
            "no non-negative table has these margins", field="tables", value=f"miss {miss:.2g}", hint=hint
        )
    return Cells(domain, cells.reshape(domain.shape))


def _one_for_each(margins: Sequence[Cells]) -> list[Cells]:
    """Margins that agree, one for each set of attributes."""
    grouped: dict[tuple[str, ...], list[Cells]] = {}
    for margin in margins:
        grouped.setdefault(margin.attributes, []).append(margin)
    means = {
        key: Cells(group[0].domain, np.mean([margin.values for margin in group], axis=0))
        for key, group in grouped.items()
    }
    return list(agree(means, dict.fromkeys(means, 1.0), total=None).values())


def _summing(domain: Domain, names: Sequence[str]) -> sparse.csr_matrix:
    """The matrix that sums the cells of `domain` to those of a margin."""
    codes = np.unravel_index(np.arange(domain.size), domain.shape)
    kept = [codes[domain.names.index(name)] for name in names]
    shape = domain.project(names).shape
    rows = np.ravel_multi_index(kept, shape)
    entries = (np.ones(domain.size), (rows, np.arange(domain.size)))
    return sparse.csr_matrix(entries, shape=(int(np.prod(shape)), domain.size))


def _least_squares(sums: sparse.csr_matrix, wanted: Array, *, most_steps: int = 200) -> Array:
    """max(A'u, 0) at the top of b'u - |max(A'u, 0)|^2 / 2 - |u|^2 / (2 stiffness)."""

    def height(u: Array) -> float:
        return float(wanted @ u - np.sum(np.maximum(sums.T @ u, 0) ** 2) / 2 - u @ u / (2 * _STIFFNESS))

    def towards(active: sparse.csr_matrix, slope: Array) -> Array:
        curvature = (active @ active.T).toarray() + np.eye(len(slope)) / _STIFFNESS
        return np.asarray(np.linalg.solve(curvature, slope))

    u = towards(sums, wanted)  # as if no cell were at 0
    for _ in range(most_steps):
        cells = np.maximum(sums.T @ u, 0)
        slope = wanted - sums @ cells - u / _STIFFNESS
        if np.abs(slope).max() < 1e-12:
            break
        step, size = towards(sums[:, cells > 0], slope), 1.0
        start, rise = height(u), float(slope @ step)
        while size > 1e-10 and height(u + size * step) < start + 1e-4 * size * rise:
            size /= 2
        u = u + size * step
    return np.asarray(np.maximum(sums.T @ u, 0))
