"""Coordinates, the norm of a row's gradient, and even draws from its unit ball."""

import itertools

import numpy as np
import pytest

from tacita.domain import Categorical, Domain, Numeric
from tacita.learn.feature_map import FeatureMap, Points
from tacita.learn.regression.contrasts import Contrasts, draw_in_block, zero_sum_basis
from tacita.noise import SeededSource


def norm_of(levels, block):
    """N of one block, in the columns of the levels: by its definition."""
    return float(np.abs(block).max()) if levels == 1 else float(np.abs(block - np.median(block)).sum())


def hull_norm(levels, block):
    """The same by linear programming: the least total weight of vertices that add up to the block."""
    from scipy.optimize import linprog

    vertices = np.eye(levels) - 1 / levels
    both = np.concatenate([vertices, -vertices]).T
    return float(linprog(np.ones(2 * levels), A_eq=both, b_eq=block, bounds=(0, None)).fun)


@pytest.mark.parametrize("levels", [2, 3, 4, 7])
def test_the_norm_of_a_block_is_that_of_the_hull_of_its_vertices(levels):
    rng = np.random.default_rng(levels)
    for _ in range(10):
        block = rng.normal(size=levels)
        block -= block.mean()
        assert norm_of(levels, block) == pytest.approx(hull_norm(levels, block), rel=1e-9)
    for vertex in np.eye(levels) - 1 / levels:
        assert norm_of(levels, vertex) == pytest.approx(1.0)
    basis = zero_sum_basis(levels)
    assert basis.shape == (levels, levels - 1)
    assert basis.T @ basis == pytest.approx(np.eye(levels - 1))
    assert basis.sum(axis=0) == pytest.approx(np.zeros(levels - 1))


@pytest.mark.parametrize("levels", [1, 2, 3, 4, 5])
def test_draws_from_a_block_are_even(levels):
    """N(draw)^dimension is uniform, and moments are those of points of a box that fell into the ball."""
    dimension, draws = max(1, levels - 1), 10_000
    source = SeededSource(levels)
    found = np.array([draw_in_block(levels, source) for _ in range(draws)])
    sizes = np.array([norm_of(levels, each) for each in found])
    assert sizes.max() <= 1 + 1e-12
    for q in (0.2, 0.5, 0.8):
        assert np.mean(sizes**dimension <= q) == pytest.approx(q, abs=0.025)
    basis = np.eye(1) if levels == 1 else zero_sum_basis(levels)
    box = np.random.default_rng(0).uniform(-1, 1, (200_000, dimension)) @ basis.T
    inside = box if levels == 1 else _inside(box)
    for moment in (2, 4):
        assert np.mean(found**moment) == pytest.approx(np.mean(inside**moment), rel=0.06)
    assert np.mean(found[:, 0] * found[:, -1]) == pytest.approx(np.mean(inside[:, 0] * inside[:, -1]), abs=0.012)


def _inside(box):
    return box[np.abs(box - np.median(box, axis=1, keepdims=True)).sum(axis=1) <= 1]


def mixed():
    levels = Categorical(name="c", levels=("p", "q", "r"))
    yes = Categorical(name="y", levels=("no", "yes"))
    domain = Domain(attributes=[Numeric(name="a", bounds=(-1, 1), bins=2), levels, yes])
    return FeatureMap(domain=domain, features=("a", "c"), target="y", task="logistic")


def test_rows_and_coefficients_are_those_of_the_design():
    design, rng = mixed(), np.random.default_rng(1)
    at = Contrasts.of(design, intercept=True)
    assert (at.size, at.blocks) == (4, (1, 1, 3))
    x = np.column_stack([rng.uniform(-1, 1, 30), np.eye(4)[rng.integers(0, 4, 30)][:, :3]])
    rows = at.rows(Points(x=x, y=np.ones(30), outside=0))
    assert (np.linalg.norm(rows[:, 1:], axis=1) ** 2 <= at.reach + 1e-12).all()
    found = rng.normal(size=4)
    coefficients, intercept = at.coefficients(found)
    assert coefficients[1:].sum() == pytest.approx(0.0)
    known = x[:, 1:].sum(axis=1) > 0  # a row without a level gets 0, which is the mean of the levels
    assert x @ coefficients + intercept == pytest.approx(rows @ found)
    assert known.any()
    assert not known.all()


@pytest.mark.parametrize("intercept", [True, False])
def test_no_row_has_a_longer_gradient_than_1(intercept):
    at = Contrasts.of(mixed(), intercept=intercept)
    corners = itertools.product([-1.0, 1.0, 0.3], [(1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 0, 0)])
    for number, levels in corners:
        x = np.array([[number, *levels]])
        row = at.rows(Points(x=x, y=np.ones(1), outside=0))[0]
        block = zero_sum_basis(3) @ row[int(intercept) + 1 :]
        assert abs(row[int(intercept)]) <= 1
        assert norm_of(3, block) <= 1 + 1e-12


@pytest.mark.parametrize("widths", [(1,), (2, 1), (3, 4), (1, 5, 2, 2)])
def test_the_mean_squared_length_is_that_of_draws(widths):
    at, source = Contrasts(widths=widths, intercept=True), SeededSource(3)
    drawn = np.array([at.draw_in_ball(source) for _ in range(5_000)])
    assert drawn.shape[1] == at.size
    assert (drawn**2).sum(axis=1).mean() == pytest.approx(at.squared_length, rel=0.04)
