"""Tables for tests of cell suppression, and a search over all patterns."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from tacita.anonymize.cells.attacker import Problem
from tacita.anonymize.cells.audit import audit, unprotected
from tacita.anonymize.cells.contents import CellContents, contents_of
from tacita.anonymize.cells.relations import Relations, relations_of
from tacita.anonymize.cells.rules import Protection

CLASSIC = np.array([[20, 50, 10], [8, 19, 22], [17, 32, 12]])
"""Investment by activity and region; the cell (1, 2) is sensitive [Fischetti, Salazar 2001]."""


def cells_of(inner: Any, names: str = "abcd") -> tuple[Relations, Any]:
    """Relations and values of a table with all margins."""
    table = np.asarray(inner, np.float64)
    known = tuple(names[: table.ndim])
    relations = relations_of([known], dict(zip(known, table.shape, strict=True)))
    values = [table[tuple(slice(None) if code < 0 else code for code in row)].sum() for row in relations.codes]
    return relations, np.array(values)


def problem_of(inner: Any, protection: Protection | None = None, *, minimum: int = 3, margins: bool = True) -> Problem:
    """A table of counts, with cells below the minimum sensitive, or other protection."""
    relations, values = cells_of(inner)
    small = (values > 0) & (values < minimum)
    needed = protection or Protection(
        sensitive=small,
        lower=np.zeros(len(values)),
        upper=np.where(small, minimum - values, 0.0),
        width=np.where(small, float(minimum), 0.0),
    )
    is_inner = (relations.codes >= 0).all(axis=1)
    return Problem(
        relations=relations,
        values=values,
        floor=np.full(len(values), 1.0 if protection is None else 0.0),
        protection=needed,
        costs=np.maximum(values, 1.0),
        fixed=(values == 0) | (~is_inner & (not margins) & ~needed.sensitive),
    )


def contents(inner: Any, seed: int = 0) -> tuple[Relations, CellContents]:
    """Rows of a table of counts, in random order."""
    table = np.asarray(inner)
    relations, _ = cells_of(table)
    codes = np.repeat(np.indices(table.shape).reshape(table.ndim, -1), table.reshape(-1), axis=1)
    order = np.random.default_rng(seed).permutation(codes.shape[1])
    return relations, contents_of(relations, list(codes[:, order]))


def protects(problem: Problem, pattern: Any) -> bool:
    """Whether the audit finds every sensitive cell protected."""
    found = audit(problem.relations, problem.values, pattern, problem.floor)
    return not len(unprotected(problem.values, problem.protection, found))


def cheapest(problem: Problem) -> float:
    """Cost of the best pattern, over all of them by rising cost; infinite if there is none."""
    sensitive = problem.protection.sensitive
    free = np.flatnonzero(~sensitive & ~problem.fixed)
    base = problem.cost(sensitive)
    sets = [chosen for size in range(len(free) + 1) for chosen in combinations(free.tolist(), size)]
    costs = np.array([problem.costs[list(chosen)].sum() for chosen in sets])
    lines = abs(problem.relations.matrix).toarray() > 0
    for at in np.argsort(costs, kind="stable"):
        pattern = sensitive.copy()
        pattern[list(sets[at])] = True
        if ((lines & pattern).sum(axis=1) == 1).any():
            continue  # a cell that is alone in a sum is known
        if protects(problem, pattern):
            return float(base + costs[at])
    return float("inf")
