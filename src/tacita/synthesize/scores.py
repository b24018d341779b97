"""Scores of the dependence of a child on its parents, and their sensitivity to one unit's data.

    mi   mutual information in bits
    R    half the L1 distance of the joint table from the product of its margins, in rows
    F    minus half the L1 distance to the nearest table in which parents decide a fair child, in rows; two levels only

Sensitivities, for a table of n rows (all in the units above), with m rows of one person:

           replace-one                                                          add-remove, n the larger size
    mi     2/n lg((n+1)/2) + (n-1)/n lg((n+1)/(n-1))   [Zhang et al. 2014]      1/n lg n + (n-1)/n lg(n/(n-1))
    R      3 (n-1)/n, below 3; a person: 4 m                                    2 n/(n+1), below 2; a person: 2 m
    F      1; a person: 2 m                                                     1; a person: m

The sensitivity of mi needs n, so mi is only used where n is public. Those of R and F hold for every n: see
docs/claims/privbayes.md for the proofs, tests/synthesize/test_scores.py for all neighbours of small tables.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tacita import check
from tacita.errors import InvalidInput
from tacita.privacy.unit import Neighbours, Unit

__all__ = ["SCORES", "Score", "f_score", "mi_score", "mi_sensitivity", "r_score", "sensitivity"]

Score = Literal["mi", "R", "F"]
Counts = NDArray[np.int64]

_MOST_CELLS_OF_F = 16


def mi_score(counts: Counts, rows: int) -> float:
    """Mutual information of parents (first axis) and child (second), in bits.

    Rows that are out of domain in this table are counted in one extra cell, so that the table always has `rows` rows.
    """
    outside = max(0, rows - int(counts.sum()))
    whole = np.zeros((counts.shape[0] + 1, counts.shape[1] + 1))
    whole[:-1, :-1], whole[-1, -1] = counts, outside
    joint = _entropy(whole.reshape(-1), rows)
    return max(0.0, _entropy(whole.sum(axis=0), rows) + _entropy(whole.sum(axis=1), rows) - joint)


def _entropy(counts: NDArray[np.float64], rows: int) -> float:
    held = counts[counts > 0] / rows
    return float(-(held * np.log2(held)).sum())


def r_score(counts: Counts, rows: int | None = None) -> float:
    """Half the L1 distance from the product of the margins, in rows."""
    total = counts.sum()
    if not total:
        return 0.0
    product = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / total
    return float(np.abs(counts - product).sum() / 2)


def f_score(counts: Counts, rows: int | None = None) -> float:
    """Minus the rows that must change until parents decide the child and it is fair.

    Of all ways to give each cell of the parents to one level of the child, the best; so 2^cells are tried.
    """
    if counts.shape[1] != 2 or counts.shape[0] > _MOST_CELLS_OF_F:
        rule = f"F needs a child of two levels and at most {_MOST_CELLS_OF_F} cells of parents"
        raise InvalidInput(rule, field="score", value=list(counts.shape))
    cells, half = counts.shape[0], counts.sum() / 2
    given = (np.arange(1 << cells)[:, None] >> np.arange(cells)) & 1
    first, second = given @ counts[:, 0], (1 - given) @ counts[:, 1]
    return float(-(np.maximum(half - first, 0) + np.maximum(half - second, 0)).min())


SCORES: dict[str, Callable[[Counts, int], float]] = {"mi": mi_score, "R": r_score, "F": f_score}


def mi_sensitivity(rows: int, neighbours: Neighbours, *, binary: bool = False) -> float:
    """Of mutual information in bits, for a table of so many rows.

    `binary`: child or joint parents have two levels, and every row has a place in the table.
    """
    check.whole(rows, "rows", least=1)
    n = float(rows)
    if rows == 1:
        return 0.0
    if binary or neighbours is Neighbours.ADD_REMOVE:
        return math.log2(n) / n + (n - 1) / n * math.log2(n / (n - 1))
    return 2 / n * math.log2((n + 1) / 2) + (n - 1) / n * math.log2((n + 1) / (n - 1))


def sensitivity(score: Score, unit: Unit, neighbours: Neighbours, rows: int | None) -> float:
    """Most that one unit's data moves a score.

    Args:
        score: Name of the score.
        unit: Unit that is protected.
        neighbours: Against what change.
        rows: Number of rows, where that is public.
    """
    replaced, m = neighbours is Neighbours.REPLACE_ONE, unit.max_rows
    if score == "mi":
        if not replaced or unit.person is not None or rows is None or rows < 2:
            hint = "Take the score R, whose sensitivity does not depend on the number of rows"
            rule = "mutual information needs replace-one, rows as units, and a public number of at least 2 rows"
            raise InvalidInput(rule, field="score", value=score, hint=hint)
        return mi_sensitivity(rows, neighbours)
    if score == "R":
        return (3.0 if unit.person is None else 4.0 * m) if replaced else 2.0 * m
    if score == "F":
        return (1.0 if unit.person is None else 2.0 * m) if replaced else float(m)
    raise InvalidInput("must be mi, R or F", field="score", value=score)
