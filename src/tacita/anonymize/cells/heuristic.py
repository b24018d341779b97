"""A valid pattern by one linear program for each need, and the removal of cells that nothing needs.

For each need in turn, the cheapest change of the table that reaches its level decides which further cells are
suppressed; cells that are suppressed already cost nothing [Kelly, Golden, Assad 1992]:

    min  sum_i c_i |y_i|      A y = 0,  y_k = level,  y_i >= -room_i,  y_i = 0 where i has to be published

What counts is whether a cell changes, not by how much. So the program is solved again with c_i / (|y_i| + d), which
concentrates the change on few cells [Candes, Wakin, Boyd 2008]. Then each secondary cell is published again if every
need still holds, the costliest first.

Cost: one program for each need, and one for each need that a removed cell served.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

from tacita.anonymize.cells.attacker import MARGIN, Need, Problem
from tacita.errors import InvalidInput

__all__ = ["Work", "complete", "prune"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
_FAR = 1e4  # levels by which a cell may change
_AGAIN = 4  # programs with other weights for one need
_SPREAD = 0.1


@dataclass
class Work:
    """Work that a search has left: linear programs and nodes of branch and bound, never seconds.

    Attributes:
        programs: Linear programs that are left.
        nodes: Nodes of branch and bound that are left.
    """

    programs: int
    nodes: int
    _spent: dict[str, int] = field(default_factory=lambda: {"programs": 0, "nodes": 0})

    def program(self, many: int = 1) -> None:
        """Count linear programs."""
        self.programs -= many
        self._spent["programs"] += many

    def node(self, many: int) -> None:
        """Count nodes."""
        self.nodes -= many
        self._spent["nodes"] += many

    @property
    def spent(self) -> dict[str, int]:
        """Work done."""
        return dict(self._spent)


def complete(problem: Problem, pattern: Mask, work: Work, costs: Floats | None = None) -> Mask:
    """Return a pattern that contains this one and meets every need.

    Refuses a table in which some need cannot be met, however many cells are suppressed.

    Args:
        problem: Cells, needs and costs.
        pattern: Cells that are suppressed in any case.
        work: Counts what is done.
        costs: Other costs that lead the choice; those of the problem by default.
    """
    costs = problem.costs if costs is None else costs
    found = pattern | problem.protection.sensitive
    for need in problem.needs:
        if need.way == "both":
            _widen(problem, found, need, work, costs)
        elif not _push(problem, found, need, 1 if need.way == "up" else -1, need.level, work, costs):
            raise _impossible()
    return found


def _widen(problem: Problem, found: Mask, need: Need, work: Work, costs: Floats) -> None:
    s = found.astype(np.float64)
    work.program(2)
    if problem.reach(s, need).share >= 1 - MARGIN:
        return
    down = problem.reach(s, Need(need.cell, "down", need.level)).share
    left = need.level * (1 - down)
    if _push(problem, found, need, 1, left, work, costs):
        return
    # neither end reaches so far alone: as much upwards as any pattern allows, and the rest downwards
    every = (~problem.fixed | problem.protection.sensitive).astype(np.float64)
    work.program()
    up = problem.reach(every, Need(need.cell, "up", need.level)).share * (1 - MARGIN / 2)
    ways = [(sign, share * need.level) for sign, share in ((1, up), (-1, 1 - up)) if share > MARGIN]
    if not all(_push(problem, found, need, sign, level, work, costs) for sign, level in ways):
        raise _impossible()


def _push(problem: Problem, found: Mask, need: Need, sign: int, level: float, work: Work, costs: Floats) -> bool:
    """Suppress the cells of the cheapest change of a cell by a level; False if there is none."""
    free = np.flatnonzero(~problem.fixed | problem.protection.sensitive)
    room = np.minimum(problem.room[free] / level, _FAR)
    at = int(np.searchsorted(free, need.cell))
    if sign < 0 and room[at] < 1 - MARGIN:
        return False
    cost = np.where(found[free], 0.0, costs[free])
    cost /= max(cost.max(initial=0.0), 1e-300)
    up, down = np.column_stack([np.zeros(len(free)), np.full(len(free), _FAR)]), np.column_stack([0 * room, room])
    up[at], down[at] = ((1, 1), (0, 0)) if sign > 0 else ((0, 0), (1, 1))
    matrix = sparse.csc_array(problem.relations.columns[:, free])
    both = sparse.hstack([matrix, -matrix], format="csc")
    best, chosen, leading = np.inf, None, cost
    for _ in range(_AGAIN):
        work.program()
        solved = linprog(
            np.concatenate([leading, leading]),
            A_eq=both,
            b_eq=np.zeros(matrix.shape[0]),
            bounds=np.vstack([up, down]),
        )
        if solved.x is None or solved.status != 0:
            break
        change = np.abs(solved.x[: len(free)] - solved.x[len(free) :])
        used = change > 1e-9
        total = float(cost[used].sum())
        if total >= best:
            break
        best, chosen = total, used
        leading = cost / (change + _SPREAD)
        leading /= max(leading.max(), 1e-300)
    if chosen is None:
        return False
    found[free[chosen]] = True
    return True


def prune(problem: Problem, pattern: Mask, work: Work) -> Mask:
    """Publish secondary cells again while every need holds; stops when the work is used up."""
    found = pattern.copy()
    witness = {}
    s = found.astype(np.float64)
    for need in problem.needs:
        work.program()
        witness[need] = problem.reach(s, need).used
    secondary = np.flatnonzero(found & ~problem.protection.sensitive)
    for cell in secondary[np.argsort(-problem.costs[secondary], kind="stable")].tolist():
        if work.programs <= 0:
            break
        s[cell] = 0.0
        changed = {}
        for need in problem.needs:
            if not witness[need][cell]:
                continue
            work.program()
            reach = problem.reach(s, need)
            if reach.share < 1 - MARGIN:
                break
            changed[need] = reach.used
        else:
            witness |= changed
            found[cell] = False
            continue
        s[cell] = 1.0
    return found


def _impossible() -> InvalidInput:
    return InvalidInput(
        "cannot be protected: however many cells are suppressed, a sensitive cell can be computed",
        field="by",
        hint="Merge levels, allow that margins are suppressed, or ask for less protection",
    )
