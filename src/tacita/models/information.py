"""Mutual information between attributes, in bits, and its bias from sampling and noise.

    entropy, mutual_information    of a table
    bias_bits                      bias of the mutual information of a table from counting n people
    noise_bits                     bias of it from the noise of a given table

Privacy: none of its own; results from an exact table must not be published.

Noise makes attributes look dependent: the mutual information of a noisy table is too large on average, the more so the
more cells there are. A search that compares raw values prefers large tables.

Legend, shares pi with margins m over A and B, sum 1, in natural logarithms:

    I = sum pi ln pi - sum m_A ln m_A - sum m_B ln m_B       and its second derivative
    H_xy = [x = y] / pi_x - [same a] / m_a - [same b] / m_b   so that  E I(pi^) - I(pi) ~ trace(H Cov) / 2
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from tacita.errors import InvalidInput
from tacita.tables.cells import Cells
from tacita.tables.uncertainty import Uncertainty

__all__ = ["bias_bits", "entropy", "mutual_information", "noise_bits"]


def entropy(cells: Cells) -> float:
    """Bits needed to name a cell drawn by its share.

    >>> from tacita.domain import Boolean, Domain
    >>> entropy(Cells(Domain(attributes=[Boolean(name="a")]), np.array([5, 5])))
    1.0
    """
    shares = _shares(cells)
    held = shares[shares > 0]
    return max(0.0, float(-(held * np.log2(held)).sum()))


def _shares(cells: Cells) -> NDArray[np.float64]:
    values = cells.nonzero()[1].astype(np.float64)
    if not values.size or not np.isfinite(values).all() or (values < 0).any():
        hint = "Project the negative cells of an estimate first"
        raise InvalidInput("must be non-negative and not all 0", field="cells", hint=hint)
    return np.asarray(values / values.sum())


def mutual_information(cells: Cells, left: Iterable[str]) -> float:
    """Mutual information, in bits, between the attributes `left` and all others of the table."""
    one, other = _sides(cells, left)
    if not one or not other:
        return 0.0
    return max(0.0, entropy(cells.project(one)) + entropy(cells.project(other)) - entropy(cells))


def _sides(cells: Cells, left: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    one = cells.domain.check_countable(left)
    return one, tuple(name for name in cells.attributes if name not in one)


def bias_bits(left: int, right: int, people: float) -> float:
    """(a - 1)(b - 1) / (2 n ln 2): what counting n people adds between a and b levels  [Miller 1955].

    That is `noise_bits` for Cov = (diag pi - pi pi') / n: the trace is (a b - 1) - (a - 1) - (b - 1), whatever pi is.
    """
    if left < 1 or right < 1 or not people > 0:
        raise InvalidInput("must be positive", field="people", value=people)
    return (left - 1) * (right - 1) / (2 * people * math.log(2))


def noise_bits(cells: Cells, left: Iterable[str], uncertainty: Uncertainty) -> float:
    """trace(H Cov) / (2 ln 2): what the noise of this very table adds, to second order.

    Only variances are needed: of the cells, and of both margins. H is taken where the attributes are independent, at
    the product of the margins: a cell estimated near 0 says little about its share, and 1 / pi of it would be noise
    itself. Where the attributes depend on each other this is off by a part that is small beside what they share.

    Args:
        cells: Non-negative shares (or counts) that sum to what they are known to sum to.
        left: One side; the other is the rest.
        uncertainty: Of these cells, in their units, with no variance in the total.
    """
    one, other = _sides(cells, left)
    if not one or not other:
        return 0.0
    total = float(cells.sum())
    product = cells.project(one) * cells.project(other) / total
    trace = _weighted(product.project(cells.attributes), uncertainty, total)
    for side in (one, other):
        trace -= _weighted(cells.project(side), uncertainty.project(cells.domain, side), total)
    return trace / (2 * math.log(2))


def _weighted(expected: Cells, uncertainty: Uncertainty, total: float) -> float:
    """sum of variance / share. A share below its standard error counts as that: noise pushes no cell below 0."""
    sd, share = uncertainty.std(expected) / total, expected.values / total
    at = np.maximum(share, sd)
    return float(np.divide(sd**2, at, out=np.zeros_like(sd), where=at > 0).sum())
