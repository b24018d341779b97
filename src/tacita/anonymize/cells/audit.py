"""Audit of a table with suppressed cells: the interval that anyone can compute for each of them.

Solves, for each suppressed cell k, over all tables x that agree with the published cells P,

    min and max x_k      A x = 0,  x_i = published value in P,  x_i >= floor_i outside P

by programs that share nothing with the search for the pattern. Whole numbers allow an attacker more: with `integer` the
programs are solved for whole x. Where the relations are those of one table of two attributes, both are the same.

A solver works to a tolerance, relative to the largest value. Where values differ by many orders of magnitude that can
be more than a small cell, and a cell that a subtraction reveals would seem to have an interval. So each end is bounded
again by the multipliers y of its program, rounded to fractions with a small denominator: if M' y <= c exactly, then

    min c x  >=  side y + floor (c - M' y)

holds whatever the tolerance, and the narrower of both ends counts. Where a solution uses the tolerance, the program is
solved again in units of what it is wrong by.

Privacy: intervals follow from published cells alone. Which cells are sensitive does not: that is for the owner.
Cost: two programs for each suppressed cell.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

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
_AGAIN = 5  # units in which a program is solved
_WRONG = 1e-15  # relative to the largest side: more than rounding
_PARTS = (1, 2, 3, 4, 6, 12)  # denominators of multipliers that are tried


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
    system = _System(matrix, side, floor[open_], 2.0 ** min(math.frexp(unit)[1], 1023))
    exact = integer
    for place, cell in enumerate(open_.tolist()):
        goal = np.zeros(len(open_))
        goal[place] = 1.0
        for sign, ends in ((1, low), (-1, high)):
            whole = system.whole_end(sign * goal) if integer and not relations.unimodular else None
            exact &= whole is not None or relations.unimodular
            ends[cell] = sign * (system.end(sign * goal) if whole is None else whole)
    return Intervals(low, high, exact)


class _System(NamedTuple):
    """Tables that agree with what is published: `matrix @ x == side` and `x >= floor`; solved in a power of two."""

    matrix: sparse.csc_array
    side: Floats
    floor: Floats
    unit: float

    def whole_end(self, goal: Floats) -> float | None:
        """Return the smallest value over whole numbers; None where the work does not suffice."""
        found = milp(
            goal,
            integrality=np.ones(len(goal)),
            bounds=Bounds(self.floor, np.inf),
            constraints=LinearConstraint(self.matrix, self.side, self.side),
            options={"node_limit": _NODES, "mip_rel_gap": 0.0},
        )
        return float(np.round(found.fun)) if found.status == 0 else None

    def end(self, goal: Floats) -> float:
        """Return the smallest value, infinite where there is none."""
        unit = self.unit
        found = self._solve(goal, unit)
        if found is None:
            return -np.inf
        end = float(found.fun) * unit
        bound = float(self.floor[goal > 0].sum()) if goal.max() > 0 else -np.inf
        largest = float(np.abs(self.side).max(initial=0.0))
        for _ in range(_AGAIN):
            bound = max(bound, self._bound(goal, np.asarray(found.eqlin.marginals, np.float64)))
            wrong = float(np.abs(self.matrix @ found.x - self.side / unit).max(initial=0.0)) * unit
            wrong = max(wrong, float((self.floor - found.x * unit).max(initial=0.0)))
            if wrong <= _WRONG * largest:
                break
            unit = 2.0 ** math.frexp(wrong)[1]
            try:
                again = self._solve(goal, unit)
            except InternalError:  # sides do not add up to this precision
                break
            if again is None:
                break
            found, end = again, float(again.fun) * unit
        return max(end, bound)

    def _solve(self, goal: Floats, unit: float) -> Any:
        """Solve in a unit; None where there is no smallest value."""
        bounds = np.column_stack([self.floor / unit, np.full(len(goal), np.inf)])
        solved = linprog(goal, A_eq=self.matrix, b_eq=self.side / unit, bounds=bounds)
        if solved.status == 4 or (solved.status != 3 and solved.x is None):
            # presolve does not distinguish unbounded from infeasible
            solved = linprog(goal, A_eq=self.matrix, b_eq=self.side / unit, bounds=bounds, options={"presolve": False})
        if solved.status == 3:
            return None
        if solved.x is None:
            raise InternalError(f"the solver stopped: {solved.message}", field="audit")
        return solved

    def _bound(self, goal: Floats, multipliers: Floats) -> float:
        """Return a lower bound of the smallest value that holds whatever the tolerance; -inf where there is none."""
        for parts in _PARTS:
            y = np.round(multipliers * parts)
            left = goal * parts - self.matrix.T @ y  # in whole numbers
            if (left >= 0).all():
                return math.fsum([*(self.side * y).tolist(), *(self.floor * left).tolist()]) / parts
        return -np.inf


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
