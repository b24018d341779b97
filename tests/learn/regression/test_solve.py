import numpy as np
import pytest

from tacita.domain import Domain, Numeric
from tacita.errors import InvalidInput
from tacita.learn.feature_map import FeatureMap
from tacita.learn.regression.moments import NoisyMoments
from tacita.learn.regression.solve import Penalty, coordinate_descent, solve_moments


def moments(x, y, std=0.0, noise=0.0):
    names = tuple(f"x{i}" for i in range(x.shape[1]))
    domain = Domain(attributes=[Numeric(name=n, bounds=(-1, 1), bins=2) for n in (*names, "y")])
    longer = np.column_stack([np.ones(len(x)), x, y])
    return NoisyMoments(
        design=FeatureMap(domain=domain, features=names, target="y"),
        matrix=longer.T @ longer + noise,
        std=std,
        linear_std=std,
        rows_std=0.0,
        outside=(0.0, 1.0),
    )


def rows(count=500, columns=4, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (count, columns))
    return x, x @ np.linspace(-0.4, 0.4, columns) + 0.1 + 0.05 * rng.normal(size=count)


@pytest.mark.parametrize("convexify", ["floor", "trim", "ridge"])
def test_without_noise_it_is_least_squares(convexify):
    x, y = rows()
    solved = solve_moments(moments(x, y), convexify=convexify)
    expected = np.linalg.lstsq(np.column_stack([np.ones(len(x)), x]), y, rcond=None)[0]
    assert np.append(solved.intercept, solved.coefficients) == pytest.approx(expected, abs=1e-9)
    assert not solved.diagnosis.indefinite


def test_ridge_has_its_closed_form():
    x, y = rows()
    solved = solve_moments(moments(x, y), penalty=Penalty(size=50.0))
    centred, target = x - x.mean(axis=0), y - y.mean()
    expected = np.linalg.solve(centred.T @ centred + 50 * np.eye(4), centred.T @ target)
    assert solved.coefficients == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_lasso_and_elastic_net_minimise_what_they_say(alpha):
    x, y = rows()
    quadratic, linear, penalty = x.T @ x, x.T @ y, Penalty(size=60.0, alpha=alpha)
    found = coordinate_descent(quadratic, linear, penalty, np.zeros(4))

    def value(b):
        squares, absolute = penalty.alpha * (b @ b), (1 - penalty.alpha) * np.abs(b).sum()
        return b @ quadratic @ b - 2 * linear @ b + penalty.size * (squares + absolute)

    rng = np.random.default_rng(1)
    assert all(value(found) <= value(found + step) for step in rng.normal(0, 0.05, (500, 4)))
    if alpha == 0:
        assert (found == 0).any()
        assert (coordinate_descent(quadratic, linear, Penalty(size=1e6, alpha=0.0), found) == 0).all()


@pytest.mark.parametrize("convexify", ["floor", "trim", "ridge"])
@pytest.mark.parametrize("penalty", [Penalty(), Penalty(size=3.0, alpha=0.0)])
def test_an_indefinite_objective_still_gives_finite_coefficients(convexify, penalty):
    x, y = rows(20)
    noise = np.zeros((6, 6))
    noise[1:5, 1:5] = -100 * np.eye(4)
    solved = solve_moments(moments(x, y, std=20.0, noise=noise), convexify=convexify, penalty=penalty)
    assert solved.diagnosis.indefinite
    assert solved.diagnosis.convexified
    assert np.isfinite(solved.coefficients).all()


def test_singular_designs_and_fewer_rows_than_columns():
    x, y = rows(3)
    assert np.isfinite(solve_moments(moments(x, y, std=1.0)).coefficients).all()
    twins = np.column_stack([x[:, 0], x[:, 0], x[:, 1]])
    assert np.isfinite(solve_moments(moments(twins, y, std=0.5)).coefficients).all()
    assert np.isfinite(solve_moments(moments(np.zeros((0, 2)), np.zeros(0), std=1.0)).coefficients).all()


def test_where_all_is_noise_the_mean_is_predicted():
    x, y = rows(50)
    solved = solve_moments(moments(x, y, std=1000.0))
    assert solved.diagnosis.stretch == 0
    assert (solve_moments(moments(x, y, std=1000.0), penalty=Penalty(size=1.0, alpha=0.5)).coefficients == 0).all()
    assert solved.intercept == pytest.approx(y.mean(), abs=1e-9)


def test_what_cannot_be():
    for size, alpha in ((-1.0, 1.0), (float("inf"), 1.0), (1.0, 1.5), (float("nan"), 1.0)):
        with pytest.raises(InvalidInput):
            Penalty(size=size, alpha=alpha)
    with pytest.raises(InvalidInput, match="floor"):
        solve_moments(moments(*rows()), convexify="hope")
