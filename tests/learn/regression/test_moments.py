import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from tacita.domain import Boolean, Categorical, Domain, Numeric
from tacita.errors import InvalidInput
from tacita.learn.feature_map import FeatureMap, Points
from tacita.learn.regression.moments import MomentNoise, _least_sigma2, _root, _sigma2
from tacita.learn.regression.monomials import ExactMoments, Monomials, functional_sensitivity
from tacita.noise import SeededSource
from tacita.privacy.accountant import cost
from tacita.privacy.budget import Budget, exact
from tacita.privacy.unit import Neighbours, Unit

ADD, REPLACE, ROW = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE, Unit.row()
BUDGETS = [
    ("laplace", Budget.pure(1.0)),
    ("laplace", Budget.approx(0.5, 1e-6)),
    ("gaussian", Budget.approx(1.0, 1e-5)),
    ("gaussian", Budget.zcdp(0.1)),
]


def design(numbers=2, levels=3, bounds=(-1.0, 1.0)):
    attributes = [Numeric(name=f"x{i}", bounds=bounds, bins=2) for i in range(numbers)]
    if levels:
        attributes.append(Categorical(name="kind", levels=tuple(f"l{i}" for i in range(levels))))
    attributes.append(Numeric(name="y", bounds=(-1, 1), bins=2))
    domain = Domain(attributes=attributes)
    return FeatureMap(domain=domain, features=tuple(a.name for a in attributes[:-1]), target="y")


def adversarial(shape, seed=0):
    """Corners of the box with every level and none, and rows inside."""
    rng = np.random.default_rng(seed)
    lone, levels = sum(w == 1 for w in shape.widths), max(shape.widths)
    numbers = np.concatenate([list(itertools.product([-1.0, 0.0, 1.0], repeat=lone)), rng.uniform(-1, 1, (60, lone))])
    x = []
    for row in numbers:
        for level in range(levels + 1) if levels > 1 else (0,):
            one = np.eye(levels + 1)[level][:-1] if levels > 1 else np.zeros(0)
            x += [np.concatenate([row, one])]
    x = np.repeat(x, 3, axis=0)
    return Points(x=x, y=np.tile([-1.0, 0.37, 1.0], len(x) // 3), outside=0)


def coefficients(noise, points):
    """What the noise is added to, for each row by itself: the brute force that the claim is held against."""
    rows = []
    for x, y in zip(points.x, points.y, strict=True):
        sums = ExactMoments.of(noise.monomials, [Points(x=x[None], y=np.array([y]), outside=0)], noise.bits)
        mask = noise.monomials.released
        first, second = np.nonzero(mask)
        product = np.where(first == second, 1.0, 2.0 if noise.noise == "laplace" else math.sqrt(2))
        rows.append(sums.matrix[mask] * noise.monomials.weights[mask] * product)
    return np.array(rows)


def test_golden_sensitivities():
    assert [functional_sensitivity(d) for d in (4, 8, 11)] == [50, 162, 288]
    assert functional_sensitivity(8, constant=False) == 160
    assert functional_sensitivity(9, ball=True) == 2 * (1 + 3) ** 2


@pytest.mark.parametrize("columns", [1, 4, 8, 11])
@pytest.mark.parametrize("ball", [False, True])
def test_the_published_sensitivity_is_a_case_of_ours(columns, ball):
    monomials = Monomials(
        design=design(columns, 0), intercept=False, constant=True, linear_weight=1, norm=1.0 if ball else None
    )
    assert 2 * monomials.l1 == pytest.approx(functional_sensitivity(columns, ball=ball), rel=1e-7)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("neighbours", [ADD, REPLACE])
@pytest.mark.parametrize("norm", [None, 1.0, 0.6])
@pytest.mark.parametrize(
    ("intercept", "constant", "linear_weight"), [(True, False, 3), (False, True, 1), (True, True, 2)]
)
def test_no_neighbour_moves_the_monomials_further_than_claimed(
    noise, neighbours, norm, intercept, constant, linear_weight
):
    monomials = Monomials(
        design=design(), norm=norm, intercept=intercept, constant=constant, linear_weight=linear_weight
    )
    plan = MomentNoise.calibrate(
        monomials, noise, Budget.zcdp(0.5) if noise == "gaussian" else Budget.pure(1.0), unit=ROW, neighbours=neighbours
    )
    rows = coefficients(plan, adversarial(monomials.design))
    if neighbours is REPLACE:
        pairs = np.random.default_rng(1).integers(0, len(rows), (4000, 2))
        rows = rows[pairs[:, 0]] - rows[pairs[:, 1]]
    moved = np.abs(rows).sum(axis=1) if noise == "laplace" else np.sqrt((rows**2).sum(axis=1))
    assert moved.max() <= plan.moved
    if neighbours is ADD and norm is None:
        assert moved.max() == pytest.approx(plan.moved, rel=1e-6)  # the bound is reached: it could not be smaller


@pytest.mark.parametrize("neighbours", [ADD, REPLACE])
def test_levels_move_no_further_than_claimed(neighbours):
    plan = MomentNoise.calibrate(
        Monomials(design=design()), "laplace", Budget.pure(1.0), unit=ROW, neighbours=neighbours
    )
    points = adversarial(design())
    one = np.array(
        [
            ExactMoments.of(plan.monomials, [Points(x=x[None], y=np.array([y]), outside=0)], plan.bits).levels
            for x, y in zip(points.x, points.y, strict=True)
        ]
    )
    moved = one if neighbours is ADD else one[:, None] - one[None, :]
    assert np.abs(moved).sum(axis=-1).max() <= plan.levels_moved


@pytest.mark.parametrize(("noise", "budget"), BUDGETS, ids=str)
@pytest.mark.parametrize("neighbours", [ADD, REPLACE])
@pytest.mark.parametrize("unit", [ROW, Unit(person="p", max_rows=3)])
def test_what_is_charged_is_the_budget_and_no_more(noise, budget, neighbours, unit):
    plan = MomentNoise.calibrate(Monomials(design=design()), noise, budget, unit=unit, neighbours=neighbours)
    spent = cost([(plan.event, 1)], budget, neighbours)
    assert 0.99 * exact(budget.amount) < spent <= exact(budget.amount)


def test_a_larger_unit_gets_as_much_more_noise():
    small, large = (
        MomentNoise.calibrate(
            Monomials(design=design()),
            "laplace",
            Budget.pure(1.0),
            unit=Unit(person="p", max_rows=rows),
            neighbours=ADD,
        )
        for rows in (1, 5)
    )
    assert large.std == pytest.approx(5 * small.std, rel=1e-4)


@pytest.mark.parametrize("bounds", [(0.0, 1.0), (-1.0, 0.0), (0.0, 1e-6), (-1e9, 1e9), (5.0, 6.0)])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("noise", "budget"), BUDGETS, ids=str)
def test_nothing_leaves_without_noise_whatever_the_bounds(bounds, intercept, noise, budget):
    """The flaw of a peer: with bounds that start at 0 and no intercept, squares left as they were."""
    shape = design(2, 3, bounds)
    plan = MomentNoise.calibrate(
        Monomials(design=shape, intercept=intercept, constant=True), noise, budget, unit=ROW, neighbours=ADD
    )
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.uniform(-1, 1, (50, 2)), np.eye(3)[rng.integers(0, 3, 50)]])
    sums = ExactMoments.of(plan.monomials, [Points(x=x, y=rng.uniform(-1, 1, 50), outside=7)], plan.bits)
    draws = [plan.release(sums, SeededSource(seed)) for seed in range(12)]
    matrices = np.array([draw.matrix for draw in draws])
    leaves = plan.monomials.released.copy()
    leaves[0, 0] = leaves[0, -1] = True
    assert (matrices.std(axis=0)[leaves] > 0).all()
    never = ~(leaves | leaves.T)
    assert (matrices[:, never] == 0).all()
    assert np.std([draw.outside[0] for draw in draws]) > 0


@pytest.mark.parametrize(("noise", "budget"), BUDGETS, ids=str)
def test_measured_error_is_predicted_error(noise, budget):
    plan = MomentNoise.calibrate(Monomials(design=design()), noise, budget, unit=ROW, neighbours=ADD)
    sums = ExactMoments.of(plan.monomials, [Points(x=np.zeros((0, 5)), y=np.zeros(0), outside=0)], plan.bits)
    draws = [plan.release(sums, SeededSource(seed)) for seed in range(300)]
    matrices = np.array([draw.matrix for draw in draws])
    own = plan.monomials.design.owners
    products = np.zeros_like(matrices[0], bool)
    products[1:-1, 1:-1] = np.triu(own[:, None] != own[None, :])
    assert matrices[:, products].std() == pytest.approx(draws[0].std, rel=0.1)
    assert matrices[:, 1:-1, -1].std() == pytest.approx(draws[0].linear_std, rel=0.1)
    assert matrices[:, 0, 0].std() == pytest.approx(draws[0].rows_std, rel=0.2)
    assert np.std([draw.outside[0] for draw in draws]) == pytest.approx(draws[0].outside[1], rel=0.2)


def test_sums_are_exact_whatever_the_batches():
    rng = np.random.default_rng(3)
    x = np.column_stack([rng.uniform(-1, 1, (1000, 2)), np.eye(3)[rng.integers(0, 3, 1000)]])
    y = rng.uniform(-1, 1, 1000)
    whole = np.trunc(np.column_stack([np.ones(1000), x, y]) * 1024).astype(object)
    parts = [Points(x=x[a : a + 333], y=y[a : a + 333], outside=1) for a in range(0, 1000, 333)]
    sums = ExactMoments.of(Monomials(design=design()), parts, 10)
    assert (sums.matrix == whole.T @ whole).all()
    assert sums.outside == 4


def test_tiny_budgets_take_a_coarser_grid():
    plan = MomentNoise.calibrate(
        Monomials(design=design()), "laplace", Budget.pure(0.001), unit=ROW, neighbours=REPLACE
    )
    assert plan.bits < 10
    assert cost([(plan.event, 1)], Budget.pure(0.001), REPLACE) <= exact(0.001)


def test_what_cannot_be():
    with pytest.raises(InvalidInput, match="pure"):
        MomentNoise.calibrate(Monomials(design=design()), "gaussian", Budget.pure(1), unit=ROW, neighbours=ADD)
    for norm in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(InvalidInput, match="norm"):
            Monomials(design=design(), norm=norm)
    with pytest.raises(InvalidInput, match="linear_weight"):
        Monomials(design=design(), linear_weight=0)
    with pytest.raises(InvalidInput, match="two levels"):
        FeatureMap(
            domain=Domain(attributes=[Categorical(name="a", levels=("1", "2", "3")), Boolean(name="b")]),
            features=("b",),
            target="a",
            task="logistic",
        )


def test_noise_on_products_is_charged_on_the_grid_that_it_is_drawn_on():
    """Squares and products round their variance up on grids of their own; the charge is that of the narrower."""
    narrower = 0
    for step in range(1, 400):
        size = Fraction(step, 7)
        square, product = _sigma2(size), 2 * _sigma2(size / _root(Fraction(2)))
        assert _least_sigma2(size) <= min(square, product)
        narrower += product < square
    assert narrower, "no size was tried where it makes a difference"
