"""The heuristic: valid patterns, without a cell that could be published."""

from __future__ import annotations

import numpy as np
import pytest
from tests.anonymize.cells.cases import problem_of, protects

from tacita.anonymize.cells.heuristic import Work, complete, prune
from tacita.errors import InvalidInput


@pytest.mark.parametrize("seed", range(4))
def test_patterns_protect_and_are_minimal(seed: int) -> None:
    problem = problem_of(np.random.default_rng(seed).negative_binomial(1, 0.15, (4, 5)))
    work = Work(10_000, 0)
    wide = complete(problem, problem.protection.sensitive, work)
    found = prune(problem, wide, work)
    assert protects(problem, wide)
    assert protects(problem, found)
    assert not (found & ~wide).any()
    assert work.spent["programs"] > 0
    for cell in np.flatnonzero(found & ~problem.protection.sensitive):
        less = found.copy()
        less[cell] = False
        assert not protects(problem, less)


def test_pruning_stops_when_the_work_is_used_up() -> None:
    problem = problem_of(np.random.default_rng(0).negative_binomial(1, 0.15, (4, 4)))
    every = ~problem.fixed
    assert (prune(problem, every, Work(0, 0)) == every).all()


def test_a_table_that_cannot_be_protected_is_refused() -> None:
    """Both empty cells are published, so the only others are equal to their margins."""
    problem = problem_of(np.array([[2, 0], [0, 9]]), margins=False)
    with pytest.raises(InvalidInput, match="cannot be protected"):
        complete(problem, problem.protection.sensitive, Work(100, 0))
