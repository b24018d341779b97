"""The exact search: against all patterns of small tables, and a published example."""

from __future__ import annotations

import numpy as np
import pytest
from tests.anonymize.cells.cases import CLASSIC, cells_of, cheapest, problem_of, protects

from tacita.anonymize.cells.exact import search
from tacita.anonymize.cells.rules import Protection
from tacita.errors import InvalidInput


def test_the_published_example_is_solved() -> None:
    """The classic table: a rectangle of cost 59, in which the sensitive 22 lies between 5 and 30."""
    relations, values = cells_of(CLASSIC)
    secret = (relations.codes == [1, 2]).all(axis=1)
    needed = Protection(sensitive=secret, lower=secret * 5.0, upper=secret * 8.0, width=0.0 * secret)
    problem = problem_of(CLASSIC, needed)
    found = search(problem)
    assert (found.how, found.cost) == ("optimal", 59.0)
    assert found.cost == cheapest(problem)
    hidden = relations.codes[found.suppressed].tolist()
    assert hidden == [[1, 0], [1, 2], [2, 0], [2, 2]]
    assert sorted(values[found.suppressed].tolist()) == [8, 12, 17, 22]


@pytest.mark.parametrize("seed", range(12))
def test_two_attributes_against_all_patterns(seed: int) -> None:
    """With empty cells that are published, so that some tables cannot be protected at all."""
    inner = np.random.default_rng(seed).negative_binomial(1, 0.15, (3, 3))
    problem = problem_of(inner)
    if not np.isfinite(cheapest(problem)):
        with pytest.raises(InvalidInput, match="cannot be protected"):
            search(problem)
        return
    found = search(problem)
    assert found.how == "optimal"
    assert found.cost == pytest.approx(cheapest(problem))
    assert found.bound == pytest.approx(found.cost)
    assert protects(problem, found.suppressed)


@pytest.mark.parametrize("seed", range(5))
def test_three_attributes_against_all_patterns(seed: int) -> None:
    inner = np.random.default_rng(100 + seed).integers(0, 9, (3, 2, 2)) + 1
    problem = problem_of(inner, margins=False)
    best = cheapest(problem)
    if not np.isfinite(best):
        problem = problem_of(inner + 2, margins=False, minimum=4)
        best = cheapest(problem)
    found = search(problem)
    assert found.how == "optimal"
    assert found.cost == pytest.approx(best)


@pytest.mark.parametrize("seed", range(6))
def test_sums_against_all_patterns(seed: int) -> None:
    """Values of very different size, with lower and upper levels."""
    rng = np.random.default_rng(200 + seed)
    inner = rng.lognormal(3, 2, (3, 3))
    _, values = cells_of(inner)
    secret = np.zeros(len(values), bool)
    secret[rng.choice(np.arange(7, 16), 2, replace=False)] = True
    level = np.where(secret, values * 0.2, 0.0)
    problem = problem_of(inner, Protection(sensitive=secret, lower=level, upper=level, width=0 * level))
    found = search(problem)
    assert found.how == "optimal"
    assert found.cost == pytest.approx(cheapest(problem))


def test_the_work_is_limited_and_the_pattern_valid() -> None:
    inner = np.random.default_rng(5).negative_binomial(1, 0.1, (4, 4, 3))
    problem = problem_of(inner)
    quick, full = search(problem, nodes=0), search(problem, nodes=20)
    assert quick.how == "heuristic"
    assert quick.work["nodes"] == 0
    assert protects(problem, quick.suppressed)
    assert protects(problem, full.suppressed)
    assert full.bound <= full.cost <= quick.cost
    assert full.work == search(problem, nodes=20).work  # counted, so the same on every machine


def test_nothing_sensitive_suppresses_nothing() -> None:
    found = search(problem_of(np.full((3, 3), 9)))
    assert (found.how, found.cost, found.gap) == ("optimal", 0.0, 0.0)
    assert not found.suppressed.any()
