"""The audit: against enumeration of all tables that agree with what is published."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from tests.anonymize.cells.cases import CLASSIC, cells_of

from tacita.anonymize.cells.audit import audit, unprotected
from tacita.anonymize.cells.rules import Protection


def _enumerated(inner: np.ndarray, suppressed: np.ndarray, floor: int) -> tuple[np.ndarray, np.ndarray]:
    """Smallest and largest value of each inner cell over all whole tables that agree with the published cells."""
    relations, values = cells_of(inner)
    hidden = np.flatnonzero(suppressed)
    matrix = relations.matrix.toarray()
    side = -matrix @ np.where(suppressed, 0, values)
    top = int(values[1:].max())
    guesses = np.array(list(product(range(floor, top + 1), repeat=len(hidden))))
    good = guesses[(guesses @ matrix[:, hidden].T == side).all(axis=1)]
    low, high = values.copy(), values.copy()
    low[hidden], high[hidden] = good.min(axis=0), good.max(axis=0)
    return low, high


@pytest.mark.parametrize("shape", [(2, 3), (2, 2, 2)])
@pytest.mark.parametrize("floor", [0, 1])
def test_intervals_are_those_of_all_whole_tables(shape: tuple[int, ...], floor: int) -> None:
    rng = np.random.default_rng(len(shape))
    for _ in range(3):
        inner = rng.integers(1, 4, shape)
        relations, values = cells_of(inner)
        is_inner = np.flatnonzero((relations.codes >= 0).all(axis=1))
        suppressed = np.zeros(len(values), bool)
        suppressed[rng.choice(is_inner, 4, replace=False)] = True
        floors = np.full(len(values), float(floor))
        found = audit(relations, values, suppressed, floors, integer=True)
        low, high = _enumerated(inner, suppressed, floor)
        assert found.whole
        np.testing.assert_allclose(found.low, low, atol=1e-6)
        np.testing.assert_allclose(found.high, high, atol=1e-6)
        loose = audit(relations, values, suppressed, floors)
        assert (loose.low <= found.low + 1e-6).all()
        assert (loose.high >= found.high - 1e-6).all()


def test_the_published_example() -> None:
    relations, values = cells_of(CLASSIC)
    hidden = np.array([code in ([1, 0], [1, 2], [2, 0], [2, 2]) for code in relations.codes.tolist()])
    found = audit(relations, values, hidden, np.zeros(len(values)))
    at = relations.codes.tolist().index([1, 2])
    assert (found.low[at], found.high[at]) == pytest.approx((5, 30))


def test_a_cell_that_can_be_subtracted_is_found() -> None:
    """The breach: one suppressed cell in a row, whose value is the margin less the others."""
    relations, values = cells_of(CLASSIC)
    secret = (relations.codes == [1, 2]).all(axis=1)
    found = audit(relations, values, secret, np.zeros(len(values)))
    assert found.low[secret] == found.high[secret] == 22
    needed = Protection(sensitive=secret, lower=0.0 * secret, upper=1.0 * secret, width=0.0 * secret)
    assert unprotected(values, needed, found).tolist() == np.flatnonzero(secret).tolist()


def test_a_small_cell_beside_large_ones_is_found() -> None:
    """The breach: a subtraction within the second row gives 58, which is below the solver's tolerance at 10^14."""
    large = np.array(
        [
            [48607907993420, 3, 13],
            [1182495808702, 58, 7],
            [2, 3505868509179, 7349355978221],
            [71015108904308, 1, 31499425328987],
        ]
    )
    relations, values = cells_of(large)
    hidden = [[0, -1], [2, -1], [3, -1], [-1, 0], [-1, 2], [1, 1], [2, 2], [3, 0]]
    suppressed = np.array([code in hidden for code in relations.codes.tolist()])
    found = audit(relations, values, suppressed, np.zeros(len(values)))
    secret = (relations.codes == [1, 1]).all(axis=1)
    assert (found.low[secret], found.high[secret]) == (58, 58)
    assert (found.low[suppressed] >= 0).all()
    needed = Protection(sensitive=secret, lower=6.0 * secret, upper=0.0 * secret, width=0.0 * secret)
    assert unprotected(values, needed, found).tolist() == np.flatnonzero(secret).tolist()


def test_an_unbounded_cell() -> None:
    relations, values = cells_of(np.array([[1, 2], [3, 4]]))
    found = audit(relations, values, np.ones(len(values), bool), np.zeros(len(values)))
    assert np.isinf(found.high).all()
    assert not found.low.any()
