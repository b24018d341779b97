"""The cheapest pattern by mixed integer programming, with inequalities from attackers [Fischetti, Salazar 2001].

    min  sum_i c_i s_i      s_i = 1 for sensitive cells, 0 for fixed ones, s binary
         sum_i cut_i s_i >= 1             for each inequality of `attacker`
         sum_(j in r, j != i) s_j >= s_i    for each relation r: a cell that is suppressed alone is known

Inequalities are added where the solution breaks them, first for the relaxation, then for whole solutions. If no need
is broken, the pattern is proven best. Work is counted in linear programs and nodes; when it is used up, the best known
pattern is returned with the bound that was proven. Both do not depend on how fast the machine is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from tacita.anonymize.cells.attacker import MARGIN, Problem
from tacita.anonymize.cells.heuristic import Work, complete, prune

__all__ = ["NODES", "PROGRAMS", "Pattern", "search"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

PROGRAMS, NODES = 20_000, 500
"""Default work of a search."""
_RELAXED = 12  # rounds with fractional solutions
_SCALE = 1e4  # largest cost that the solver sees
_SLOW = 1e-3  # share by which a round has to raise the bound
_CLOSE = 1e-6


@dataclass(frozen=True, kw_only=True, eq=False)
class Pattern:
    """Suppressed cells, and how good they are.

    Attributes:
        suppressed: Whether a cell is suppressed.
        cost: Cost of all of them.
        bound: Cost that no valid pattern is below.
        how: "optimal" where this is proven; "heuristic" where the work was used up before.
        work: Linear programs and nodes that were used.
    """

    suppressed: Mask
    cost: float
    bound: float
    how: str
    work: dict[str, int]

    @property
    def gap(self) -> float:
        """Largest share by which a better pattern could be cheaper."""
        return max(0.0, 1 - self.bound / self.cost) if self.cost > 0 else 0.0


def search(problem: Problem, *, programs: int = PROGRAMS, nodes: int = NODES) -> Pattern:
    """Return the cheapest pattern that meets every need, or a valid one with a bound if the work does not suffice.

    Args:
        problem: Cells, needs and costs.
        programs: Most linear programs of attackers.
        nodes: Most nodes of branch and bound. With 0 only the heuristic runs.
    """
    work = Work(programs, nodes)
    if not problem.needs:
        only = problem.protection.sensitive.copy()
        return Pattern(
            suppressed=only, cost=problem.cost(only), bound=problem.cost(only), how="optimal", work=work.spent
        )
    best = prune(problem, complete(problem, problem.protection.sensitive, work), work)
    state = _Search(problem, work, best)
    proven = nodes > 0 and state.run()
    cost = problem.cost(state.best)
    bound = cost if proven else min(cost, state.bound)
    how = "optimal" if proven else "heuristic"
    return Pattern(suppressed=state.best, cost=cost, bound=bound, how=how, work=work.spent)


class _Search:
    def __init__(self, problem: Problem, work: Work, best: Mask) -> None:
        self.problem, self.work, self.best = problem, work, best
        self.scale = _SCALE / float(problem.costs.max())
        self.costs = problem.costs * self.scale
        sensitive = problem.protection.sensitive
        self.low = sensitive.astype(np.float64)
        self.high = np.where(problem.fixed & ~sensitive, 0.0, 1.0)
        self.rows: list[Any] = [_alone(problem)]
        self.sides: list[Floats] = [np.zeros(self.rows[0].shape[0])]
        self.bound = problem.cost(sensitive)

    def run(self) -> bool:
        """Search; True if the best pattern is proven best."""
        for _ in range(_RELAXED):
            found = linprog(
                self.costs, A_ub=-self._matrix(), b_ub=-self._side(), bounds=np.column_stack([self.low, self.high])
            )
            self.work.program()
            if found.x is None:
                break
            before, self.bound = self.bound, max(self.bound, float(found.fun) / self.scale)
            if self._closed():
                return True
            relaxed = np.clip(found.x, self.low, self.high)
            if not self._cut(relaxed) or self.work.programs <= 0 or self.bound < before * (1 + _SLOW):
                break
        if found.x is not None:  # cells of the relaxation are the cheapest to add
            self._improve(self.problem.protection.sensitive, self.problem.costs * (1.001 - relaxed))
        while self.work.programs > 0 and self.work.nodes > 0:
            found = milp(
                self.costs,
                integrality=np.ones(len(self.costs)),
                bounds=Bounds(self.low, self.high),
                constraints=LinearConstraint(self._matrix(), self._side(), np.inf),
                options={"node_limit": self.work.nodes, "mip_rel_gap": 0.0},
            )
            self.work.node(max(1, int(found.mip_node_count or 0)))
            if found.mip_dual_bound is not None and np.isfinite(found.mip_dual_bound):
                self.bound = max(self.bound, float(found.mip_dual_bound) / self.scale)
            if self._closed():
                return True
            if found.x is None:
                return False
            pattern = found.x > 0.5
            broken = self._cut(pattern.astype(np.float64))
            if not broken and self.problem.cost(pattern) < self.problem.cost(self.best):
                self.best = pattern
            if found.status != 0 or not broken:
                return bool(found.status == 0)
            self._improve(pattern)
            if self._closed():
                return True
        return False

    def _closed(self) -> bool:
        """Whether the bound has reached the best pattern."""
        return self.problem.cost(self.best) <= self.bound * (1 + _CLOSE) + _CLOSE / self.scale

    def _improve(self, pattern: Mask, costs: Floats | None = None) -> None:
        """Complete a pattern that breaks a need, and keep it if it is cheaper than the best one."""
        made = prune(self.problem, complete(self.problem, pattern, self.work, costs), self.work)
        if self.problem.cost(made) < self.problem.cost(self.best):
            self.best = made

    def _cut(self, s: Floats) -> bool:
        """Add the inequalities that a solution breaks; False if it breaks none."""
        found = []
        for need in self.problem.needs:
            self.work.program(1 if need.way != "both" else 2)
            reach = self.problem.reach(s, need)
            if reach.share < 1 - MARGIN and reach.cut @ s < 1 - _CLOSE:
                found.append(reach.cut)
        if found:
            self.rows.append(sparse.csr_array(np.unique(np.array(found), axis=0)))
            self.sides.append(np.ones(self.rows[-1].shape[0]))
        return bool(found)

    def _matrix(self) -> Any:
        return sparse.vstack(self.rows, format="csc")

    def _side(self) -> Floats:
        return np.concatenate(self.sides)


def _alone(problem: Problem) -> Any:
    """Inequalities: where a cell of a relation is suppressed, another is too."""
    pattern = sparse.csr_array(abs(problem.relations.matrix))
    rows, columns, signs, row = [], [], [], 0
    for start, end in zip(pattern.indptr[:-1], pattern.indptr[1:], strict=True):
        cells = pattern.indices[start:end]
        cells = cells[~(problem.fixed & ~problem.protection.sensitive)[cells]]
        many = len(cells)
        rows.append(np.repeat(row + np.arange(many), many))
        columns.append(np.tile(cells, many))
        signs.append((1 - 2 * np.eye(many)).reshape(-1))
        row += many
    shape = (row, len(problem.values))
    return sparse.csr_array((np.concatenate(signs), (np.concatenate(rows), np.concatenate(columns))), shape)
