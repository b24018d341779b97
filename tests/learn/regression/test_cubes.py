import math
from fractions import Fraction

import numpy as np
import pytest

from tacita.errors import InvalidInput
from tacita.learn import Regression
from tacita.learn.feature_map import Points
from tacita.learn.regression.cubes import CubeNoise, parts_of
from tacita.learn.regression.methods.functional import FromMoments, functional
from tacita.learn.regression.monomials import ExactMoments, Monomials
from tacita.noise import DiscreteCube, SeededSource
from tacita.privacy.accountant import cost
from tacita.privacy.budget import Budget, exact
from tacita.privacy.unit import Neighbours, Unit

from .test_moments import adversarial, design

ADD, REPLACE, ROW = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE, Unit.row()
ONE = Budget.pure(1.0)
SHAPES = {"both": (3, 4), "numbers": (4, 0), "levels": (0, 3)}


def noise_of(shape=(3, 4), *, budget=ONE, unit=ROW, neighbours=ADD, bounds=(-1.0, 1.0), **more):
    monomials = Monomials(design=design(*shape, bounds), linear_weight=1, **more)
    return CubeNoise.calibrate(monomials, budget, unit=unit, neighbours=neighbours)


def sums_of(noise, points):
    return ExactMoments.of(noise.monomials, [points], noise.bits)


def each_alone(noise, points):
    """The sums of every row by itself."""
    rows = (Points(x=x[None], y=np.array([y]), outside=0) for x, y in zip(points.x, points.y, strict=True))
    return [sums_of(noise, row) for row in rows]


# -- what one unit can do ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("neighbours", [ADD, REPLACE])
@pytest.mark.parametrize("norm", [None, 1.0, 0.6])
@pytest.mark.parametrize("intercept", [True, False])
def test_no_neighbour_moves_a_part_further_than_claimed(shape, neighbours, norm, intercept):
    noise = noise_of(shape, neighbours=neighbours, norm=norm, intercept=intercept)
    alone = each_alone(noise, adversarial(noise.monomials.design))
    pairs = np.random.default_rng(1).integers(0, len(alone), (4000, 2))
    for part, law in zip(noise.parts, noise.laws, strict=True):
        rows = np.array([sums.matrix[part.cells] for sums in alone])
        rows = rows if neighbours is ADD else rows[pairs[:, 0]] - rows[pairs[:, 1]]
        moved = np.abs(rows).max(axis=1) if isinstance(law, DiscreteCube) else np.abs(rows).sum(axis=1)
        assert moved.max() <= noise.moved(part)
        if neighbours is ADD and norm is None:
            assert moved.max() == noise.moved(part)  # it could not be smaller


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("neighbours", [ADD, REPLACE])
def test_no_neighbour_loses_more_than_is_charged(shape, neighbours):
    """All parts together, by the laws themselves: log densities at what leaves, moved by every pair of rows."""
    noise = noise_of(shape, neighbours=neighbours)
    alone = each_alone(noise, adversarial(noise.monomials.design))
    charged = cost([(noise.event, 1)], ONE, neighbours)
    rng, worst = np.random.default_rng(2), Fraction(0)
    for _ in range(3000):
        one, other = (alone[place] for place in rng.integers(0, len(alone), 2))
        lost = Fraction(0)
        for part, law in zip(noise.parts, noise.laws, strict=True):
            move = one.matrix[part.cells] - (0 if neighbours is ADD else other.matrix[part.cells])
            # the density falls fastest where the noise points along the move: there each part loses all it can
            size = np.abs(move).max() if isinstance(law, DiscreteCube) else np.abs(move).sum()
            lost += int(size) / law.scale
        levels = one.levels - (0 if neighbours is ADD else other.levels)
        lost += int(np.abs(levels).sum()) / noise._levels_law.scale
        lost += (1 if neighbours is ADD else 2) / noise._outside_law.scale
        worst = max(worst, lost)
    assert worst <= charged <= 1
    assert worst > 0.9 * charged or neighbours is REPLACE


def test_parts_cover_what_leaves_once():
    for intercept in (True, False):
        for shape in SHAPES.values():
            monomials = Monomials(design=design(*shape), linear_weight=1, intercept=intercept)
            covered = sum(part.cells.astype(int) for part in parts_of(monomials))
            assert np.array_equal(covered == 1, monomials.released)
            assert covered.max() == 1


# -- what is charged --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [Budget.pure(1.0), Budget.pure(0.07), Budget.approx(0.5, 1e-6)], ids=str)
@pytest.mark.parametrize("neighbours", [ADD, REPLACE])
@pytest.mark.parametrize("unit", [ROW, Unit(person="p", max_rows=3)])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_what_is_charged_is_epsilon_and_no_more(budget, neighbours, unit, shape):
    noise = noise_of(shape, budget=budget, unit=unit, neighbours=neighbours)
    spent = cost([(noise.event, 1)], Budget.pure(budget.epsilon), neighbours)
    assert 0.999 * exact(budget.epsilon) < spent <= exact(budget.epsilon)
    assert cost([(noise.event, 1)], budget, neighbours) <= exact(budget.amount)


def test_a_larger_unit_gets_as_much_more_noise():
    small, large = (noise_of(unit=Unit(person="p", max_rows=rows)) for rows in (1, 5))
    assert large.std == pytest.approx(5 * small.std, rel=1e-4)
    assert large.linear_std == pytest.approx(5 * small.linear_std, rel=1e-4)


def test_tiny_budgets_take_a_coarser_grid():
    noise = noise_of(budget=Budget.pure(1e-4), neighbours=REPLACE)
    assert noise.bits < 10
    assert cost([(noise.event, 1)], Budget.pure(1e-4), REPLACE) <= exact(1e-4)


# -- what leaves ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bounds", [(0.0, 1.0), (0.0, 1e-6), (-1e9, 1e9), (5.0, 6.0)])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_nothing_leaves_without_noise_whatever_the_bounds(bounds, intercept, shape):
    noise = noise_of(shape, bounds=bounds, intercept=intercept)
    points = adversarial(noise.monomials.design)
    draws = [noise.release(sums_of(noise, points), SeededSource(seed)) for seed in range(12)]
    matrices = np.array([draw.matrix for draw in draws])
    leaves = noise.monomials.released.copy()
    leaves[0, 0] = leaves[0, -1] = True
    assert (matrices.std(axis=0)[leaves] > 0).all()
    assert (matrices[:, ~(leaves | leaves.T)] == 0).all()
    assert np.std([draw.outside[0] for draw in draws]) > 0


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_measured_error_is_predicted_error(shape):
    noise = noise_of(shape)
    columns = noise.monomials.design.columns
    sums = sums_of(noise, Points(x=np.zeros((0, columns)), y=np.zeros(0), outside=0))
    draws = [noise.release(sums, SeededSource(seed)) for seed in range(800)]
    matrices = np.array([draw.matrix for draw in draws])
    assert np.sqrt((matrices**2).mean(axis=0))[1:-1, 1:-1] == pytest.approx(
        np.sqrt(noise._variances[1:-1, 1:-1]), rel=0.2
    )
    worst = math.sqrt((matrices[:, 1:-1, 1:-1] ** 2).mean(axis=(0, 1)).max())
    assert worst == pytest.approx(noise.std, rel=0.15)
    assert math.sqrt((matrices[:, 1:-1, -1] ** 2).mean()) == pytest.approx(noise.linear_std, rel=0.1)
    assert matrices[:, 0, 0].std() == pytest.approx(draws[0].rows_std, rel=0.15)
    assert np.std([draw.outside[0] for draw in draws]) == pytest.approx(draws[0].outside[1], rel=0.15)


def test_rows_and_targets_are_read_off_the_levels():
    noise = noise_of(budget=Budget.pure(1000.0))
    points = adversarial(noise.monomials.design)
    found = noise.release(sums_of(noise, points), SeededSource(1))
    whole = np.column_stack([np.ones(len(points)), points.x, points.y])
    assert found.matrix[0, 0] == pytest.approx(len(points), abs=0.3)
    assert found.matrix[0, -1] == pytest.approx(points.y.sum(), abs=0.5)
    released = noise.monomials.released
    assert found.matrix[released] == pytest.approx((whole.T @ whole)[released], abs=1)


# -- how epsilon is shared --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(3, 4), (12, 0), (2, 9)])
@pytest.mark.parametrize("norm", [None, 0.5])
def test_no_other_shares_blur_less(shape, norm):
    noise = noise_of(shape, norm=norm)
    # what the noise that is drawn blurs at its share, so at a share of 1
    stds = np.array([law.std for law in noise.laws]) * np.array(noise.shares, float)
    blurs = np.array([part.many * part.weight for part in noise.parts]) * stds**2

    def blurred(shares):
        return (blurs / np.array(shares, float) ** 2).sum()

    best = blurred(noise.shares)
    for place in range(len(blurs)):
        for other in range(len(blurs)):
            shares = np.array(noise.shares, float)
            shares[place], shares[other] = shares[place] * 1.05, shares[other] - 0.05 * shares[place]
            assert place == other or blurred(shares) > best


def test_numbers_get_less_than_half_of_laplace_noise():
    from tacita.learn.regression.moments import MomentNoise

    noise = noise_of((12, 0))
    laplace = MomentNoise.calibrate(
        Monomials(design=design(12, 0), linear_weight=3), "laplace", Budget.pure(1.0), unit=ROW, neighbours=ADD
    )
    assert noise.std < 0.5 * laplace.std
    assert noise.linear_std < 0.5 * laplace.linear_std


def test_where_a_cube_would_take_too_long_laplace_noise_is_used():
    setting = (
        Regression(target="y", features=design(150, 0).features, method="functional")
        .calibrate(design(150, 0).domain, Budget.pure(1000.0), unit=ROW, neighbours=ADD)
        .setting
    )
    with pytest.raises(InvalidInput, match="dimensions"):
        FromMoments.plan(setting, "cube")
    assert functional(setting).noise.noise == "laplace"


def test_what_cannot_be():
    with pytest.raises(InvalidInput, match="epsilon"):
        noise_of(budget=Budget.zcdp(0.1))
    with pytest.raises(InvalidInput, match="monomials"):
        noise_of(constant=True)
    with pytest.raises(InvalidInput, match="wide enough"):
        noise_of(budget=Budget.pure(1e-4), unit=Unit(person="p", max_rows=10**6))
