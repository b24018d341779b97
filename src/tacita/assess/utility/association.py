"""Association of pairs of attributes, in the data and in the release.

both ordered       Spearman's correlation of ranks, -1 to 1
neither            Cramer's V with the correction for chance, 0 to 1   [Bergsma 2013]
one of each        the correlation ratio of ranks, 0 to 1
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tacita.assess.case import Case
from tacita.assess.frame import Frame

__all__ = ["Associations", "association_matrix", "associations"]

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Associations:
    """Association matrices of the data and of the release, over the same attributes."""

    names: tuple[str, ...]
    real: Array
    released: Array

    @property
    def gaps(self) -> Array:
        """Absolute differences of pairs of attributes."""
        above = np.triu_indices(len(self.names), 1)
        return np.abs(self.real - self.released)[above]

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        gaps = self.gaps
        return {
            "names": list(self.names),
            "real": self.real.tolist(),
            "released": self.released.tolist(),
            "mean_gap": float(gaps.mean()) if gaps.size else 0.0,
            "largest_gap": float(gaps.max(initial=0.0)),
        }


def associations(case: Case) -> Associations:
    """Compute the matrix of the data, and the mean matrix of the releases."""
    released = np.mean([association_matrix(frame) for frame in case.released], axis=0)
    return Associations(names=case.names, real=association_matrix(case.real), released=released)


def association_matrix(frame: Frame) -> Array:
    """Compute the association of each pair of attributes; 1 on the diagonal."""
    columns = [_ranked(frame, place) for place in range(len(frame.names))]
    found = np.eye(len(columns))
    for i in range(len(columns)):
        for j in range(i):
            found[i, j] = found[j, i] = _pair(columns[i], columns[j], bool(frame.ordered[i]), bool(frame.ordered[j]))
    return found


def _ranked(frame: Frame, place: int) -> Array:
    column = frame.values[:, place]
    if not frame.ordered[place]:
        return column
    ranks = np.full(len(column), np.nan)
    known = ~np.isnan(column)
    ranks[known] = stats.rankdata(column[known])
    return ranks


def _pair(one: Array, other: Array, one_ordered: bool, other_ordered: bool) -> float:
    both = ~(np.isnan(one) | np.isnan(other))
    one, other = one[both], other[both]
    if len(one) < 2:
        return 0.0
    if one_ordered and other_ordered:
        return _correlation(one, other)
    if one_ordered != other_ordered:
        return _ratio(*((one, other) if one_ordered else (other, one)))
    return _cramer(one, other)


def _correlation(one: Array, other: Array) -> float:
    if one.std() == 0 or other.std() == 0:
        return 0.0
    return float(np.corrcoef(one, other)[0, 1])


def _ratio(ranks: Array, groups: Array) -> float:
    total = ((ranks - ranks.mean()) ** 2).sum()
    if total == 0:
        return 0.0
    _, code = np.unique(groups, return_inverse=True)
    counts = np.bincount(code)
    means = np.bincount(code, weights=ranks) / counts
    return float(np.sqrt(min(1.0, (counts * (means - ranks.mean()) ** 2).sum() / total)))


def _cramer(one: Array, other: Array) -> float:
    _, a = np.unique(one, return_inverse=True)
    _, b = np.unique(other, return_inverse=True)
    rows, columns, n = int(a.max()) + 1, int(b.max()) + 1, len(a)
    if rows < 2 or columns < 2:
        return 0.0
    # sum of (count - expected)^2 / expected, over non-empty cells only: all cells may not fit into memory
    cells, counts = np.unique(a * columns + b, return_counts=True)
    product = np.bincount(a)[cells // columns] * np.bincount(b)[cells % columns]
    phi2 = max(0.0, float((counts**2 / product).sum()) - 1)
    corrected = max(0.0, phi2 - (rows - 1) * (columns - 1) / (n - 1))
    r, c = rows - (rows - 1) ** 2 / (n - 1), columns - (columns - 1) ** 2 / (n - 1)
    return float(np.sqrt(corrected / max(min(r, c) - 1, 1e-12)))
