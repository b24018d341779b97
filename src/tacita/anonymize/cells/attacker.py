"""The attacker of a table with suppressed cells, as the search for a pattern sees him.

Let a be the values, S the suppressed cells, and room_i = a_i - floor_i how far a cell can be below its value. Every
table that agrees with what is published is a + y with

    A y = 0      y_i = 0 outside S      y_i >= -room_i in S

He can hold cell k to be larger by `max y_k`, smaller by `-min y_k`. With multipliers q of the linear program, y_k is
sum_i q_i y_i for every such y. So, whatever the pattern, reaching the level l needs [Fischetti, Salazar 2001]

    sum_i  min(l, u_i) s_i  >=  l        u_i = room_i max(-q_i, 0), or infinite where q_i > 0

A pattern that does not protect k violates the inequality of its own multipliers.

Privacy: reads exact values; for the owner.   Cost: one linear program for each call, over the suppressed cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

from tacita.anonymize.cells.relations import Relations
from tacita.anonymize.cells.rules import Protection
from tacita.errors import InternalError

__all__ = ["MARGIN", "Need", "Problem", "Reach"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

MARGIN = 1e-6
"""Share of a level by which the search may miss it: the precision of the solver."""
_FAR = 1e4  # levels by which a cell may change; a solution that needs more is not looked for
_SMALL = 1e-7


class Need(NamedTuple):
    """One protection that a sensitive cell needs: up, down, or both together."""

    cell: int
    way: str
    level: float


class Reach(NamedTuple):
    """Reach of an attacker's interval in the level of a need, with the reason.

    Attributes:
        share: Reached share of the level, at most 1.
        cut: Coefficients of an inequality `cut @ s >= 1` that holds for every pattern that meets the need.
        used: Cells that change in the solution.
    """

    share: float
    cut: Floats
    used: Mask


@dataclass(frozen=True, kw_only=True, eq=False)
class Problem:
    """Choice of cells to suppress.

    Attributes:
        relations: Cells and their sums.
        values: Value of each cell.
        floor: Least value that an attacker holds possible for a suppressed cell.
        protection: Sensitive cells and what they need.
        costs: Cost of suppressing each cell; positive.
        fixed: Cells that have to be published.
    """

    relations: Relations
    values: Floats
    floor: Floats
    protection: Protection
    costs: Floats
    fixed: Mask

    @cached_property
    def room(self) -> Floats:
        """Largest amount by which each cell can be below its value."""
        return np.maximum(self.values - self.floor, 0.0)

    @cached_property
    def needs(self) -> tuple[Need, ...]:
        """All needs, those of the most demanding cells first."""
        found = []
        levels = (("up", self.protection.upper), ("down", self.protection.lower), ("both", self.protection.width))
        for cell in np.flatnonzero(self.protection.sensitive).tolist():
            known = {way: float(level[cell]) for way, level in levels}
            if known["up"] + known["down"] >= known["both"]:
                known["both"] = 0.0
            found += [Need(cell, way, level) for way, level in known.items() if level > 0]
        return tuple(sorted(found, key=lambda need: (-need.level, need)))

    def cost(self, pattern: Mask) -> float:
        """Cost of a pattern."""
        return float(self.costs[pattern].sum())

    def reach(self, s: Floats, need: Need) -> Reach:
        """Return how far the interval of a cell reaches under a pattern, which may be fractional."""
        if need.way != "both":
            return self._one(s, need.cell, 1 if need.way == "up" else -1, need.level)
        up = self._one(s, need.cell, 1, need.level)
        if up.share >= 1 - MARGIN:
            return up
        down = self._one(s, need.cell, -1, need.level)
        share = min(1.0, up.share + down.share)
        return Reach(share, np.minimum(1.0, up.cut + down.cut), up.used | down.used)

    def _one(self, s: Floats, cell: int, sign: int, level: float) -> Reach:
        """Solve max sign * y_cell, in units of the level."""
        open_ = np.flatnonzero(s > 1e-9)
        if not s[cell] > 1e-9:
            raise InternalError("a sensitive cell is not suppressed", field="pattern")
        room = np.minimum(self.room / level, _FAR)
        target = int(np.searchsorted(open_, cell))
        goal = np.zeros(len(open_))
        goal[target] = -sign
        integral = bool((s[open_] > 1 - 1e-9).all())
        high = np.full(len(open_), _FAR) if integral else s[open_]
        bounds = np.column_stack([-room[open_] * s[open_], high])
        if sign > 0:
            bounds[target, 1] = min(bounds[target, 1], 1.0)
        else:
            bounds[target, 0] = max(bounds[target, 0], -1.0)
        part = self.relations.columns[:, open_]
        touched = np.flatnonzero(np.diff(sparse.csr_array(part).indptr))
        found = linprog(
            goal, A_eq=sparse.csc_array(sparse.csr_array(part)[touched]), b_eq=np.zeros(len(touched)), bounds=bounds
        )
        if found.x is None:
            raise InternalError(f"the solver stopped: {found.message}", field="attacker")
        multipliers = np.zeros(self.relations.matrix.shape[0])
        multipliers[touched] = found.eqlin.marginals
        q = self.relations.columns.T @ multipliers
        q[cell] += sign
        cut = np.where(q > _SMALL, 1.0, np.minimum(1.0, np.maximum(-q, 0.0) * room))
        cut[np.abs(q) <= _SMALL] = 0.0
        used = np.zeros(len(s), bool)
        used[open_] = np.abs(found.x) > 1e-9
        return Reach(float(-found.fun), cut, used)
