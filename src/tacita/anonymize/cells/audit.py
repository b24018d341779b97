"""Audit of a table with suppressed cells: the interval that anyone can compute for each of them.

Solves, for each suppressed cell k, over all tables x that agree with the published cells P,

    min and max x_k      A x = 0,  x_i = published value in P,  x_i >= floor_i outside P

by programs that share nothing with the search for the pattern. Whole numbers allow an attacker more: with `integer` the
programs are solved for whole x. Where the relations are those of one table of two attributes, both are the same.

Privacy: intervals follow from published cells alone. Which cells are sensitive does not: that is for the owner.
Cost: two programs for each suppressed cell.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from tacita.anonymize.cells.relations import Relations
from tacita.anonymize.cells.rules import Protection
from tacita.errors import InternalError

__all__ = ["Intervals", "audit", "unprotected"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
_PRECISION = 1e-5  # share of a level that the solver's precision may cost
_NODES = 2_000


class Intervals(NamedTuple):
    """Interval of each cell: its value twice where it is published.

    `whole` says whether the ends were computed for whole numbers: always exact there, or None where not computed.
    """

    low: Floats
    high: Floats
    whole: bool


def audit(relations: Relations, values: Floats, suppressed: Mask, floor: Floats, *, integer: bool = False) -> Intervals:
    """Return what can be computed for each cell from the published ones.

    Args:
        relations: Cells and their sums.
        values: Value of each cell; only those of published cells enter the programs.
        suppressed: Whether a cell is suppressed.
        floor: Least value that an attacker holds possible for a suppressed cell.
        integer: Whether values are known to be whole numbers, and this is used.
    """
    low, high = values.astype(np.float64).copy(), values.astype(np.float64).copy()
    open_ = np.flatnonzero(suppressed)
    if not len(open_):
        return Intervals(low, high, integer)
    columns = relations.columns
    part = sparse.csr_array(columns[:, open_])
    touched = np.flatnonzero(np.diff(part.indptr))
    known = np.where(suppressed, 0.0, values)
    side = -(relations.matrix @ known)[touched]
    matrix = sparse.csc_array(part[touched])
    unit = 1.0 if integer else max(float(np.abs(side).max(initial=0.0)), float(floor[open_].max(initial=0.0)), 1e-300)
    least = floor[open_] / unit
    exact = integer
    for place, cell in enumerate(open_.tolist()):
        goal = np.zeros(len(open_))
        goal[place] = 1.0
        for sign, ends in ((1, low), (-1, high)):
            end, proven = _end(sign * goal, matrix, side / unit, least, integer=integer and not relations.unimodular)
            exact &= proven
            ends[cell] = sign * end * unit
    return Intervals(low, high, exact)


def _end(goal: Floats, matrix: sparse.csc_array, side: Floats, least: Floats, *, integer: bool) -> tuple[float, bool]:
    """Return a smallest value, infinite where there is none, and whether it is exact for whole numbers."""
    if integer:
        found = milp(
            goal,
            integrality=np.ones(len(goal)),
            bounds=Bounds(least, np.inf),
            constraints=LinearConstraint(matrix, side, side),
            options={"node_limit": _NODES, "mip_rel_gap": 0.0},
        )
        if found.status == 0:
            return float(np.round(found.fun)), True
    bounds = np.column_stack([least, np.full(len(goal), np.inf)])
    solved = linprog(goal, A_eq=matrix, b_eq=side, bounds=bounds)
    if solved.status == 3:
        return -np.inf, True
    if solved.status == 4 or solved.x is None:  # presolve does not distinguish unbounded from infeasible
        solved = linprog(goal, A_eq=matrix, b_eq=side, bounds=bounds, options={"presolve": False})
        if solved.status == 3:
            return -np.inf, True
    if solved.x is None:
        raise InternalError(f"the solver stopped: {solved.message}", field="audit")
    return float(solved.fun), not integer


def unprotected(values: Floats, protection: Protection, found: Intervals) -> NDArray[np.int64]:
    """Return the sensitive cells whose interval is too narrow."""
    slack = _PRECISION * np.maximum(np.maximum(protection.upper, protection.width), protection.lower)
    slack += 1e-9 * np.abs(values)
    with np.errstate(invalid="ignore"):
        wide = (
            (values - found.low >= protection.lower - slack)
            & (found.high - values >= protection.upper - slack)
            & (found.high - found.low >= protection.width - slack)
            & (found.high > found.low)
        )
    return np.flatnonzero(protection.sensitive & ~wide)
