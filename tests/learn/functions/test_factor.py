import numpy as np
import pytest

from tacita.learn.functions.factor import _BLOCK, Factor


def lower(size, seed=0):
    """A triangle as Cholesky factors are: the diagonal is felt."""
    rng = np.random.default_rng(seed)
    return np.tril(rng.normal(size=(size, size)) / size, -1) + np.diag(rng.uniform(0.5, 2, size))


def grown(triangle, parts=(1, 5, 300)):
    factor, at = Factor(), 0
    while at < len(triangle):
        for part in parts:
            factor.append(triangle[at : at + part])
            at += part
    return factor


@pytest.mark.parametrize("size", [1, 7, _BLOCK - 1, _BLOCK, _BLOCK + 1, 3 * _BLOCK + 11])
@pytest.mark.parametrize("shape", [(), (1,), (4,)])
def test_it_solves_what_numpy_solves(size, shape):
    triangle, right = lower(size), np.random.default_rng(1).normal(size=(size, *shape))
    found = grown(triangle).solve(right)
    assert found.shape == right.shape
    assert triangle @ found == pytest.approx(right, abs=1e-10)


def test_nothing_is_solved_before_there_are_rows():
    assert Factor().solve(np.empty((0, 3))).shape == (0, 3)


@pytest.mark.parametrize("size", [0, 1, _BLOCK, _BLOCK + 3, 2 * _BLOCK])
def test_what_is_cut_can_grow_anew(size):
    triangle, other = lower(2 * _BLOCK + 40), lower(2 * _BLOCK + 40, seed=5)
    factor = grown(triangle)
    factor.cut(size)
    assert factor.size == size
    mixed = np.concatenate([triangle[:size], other[size:]])
    factor.append(mixed[size:])
    right = np.random.default_rng(2).normal(size=len(mixed))
    assert mixed @ factor.solve(right) == pytest.approx(right, abs=1e-10)
