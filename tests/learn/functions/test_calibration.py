"""Golden values, and the exact trade-off of Gaussian noise against an independent computation."""

import math

import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from tacita.domain import Domain, Numeric
from tacita.errors import InvalidInput
from tacita.learn.functions import Kernel, ReleaseFunction
from tacita.learn.functions.calibration import classical_constant, gaussian_event, noise_multiplier, sigma_of
from tacita.privacy.accountant import cost
from tacita.privacy.budget import Budget, exact
from tacita.privacy.unit import Neighbours, Unit

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE


def exact_delta(multiplier: float, epsilon: float) -> float:
    a = 1 / multiplier
    return norm.cdf(a / 2 - epsilon / a) - math.exp(epsilon) * norm.cdf(-a / 2 - epsilon / a)


def test_golden_values() -> None:
    assert classical_constant(1e-3) == pytest.approx(3.8989492, abs=5e-8)
    assert classical_constant(1e-4) == pytest.approx(4.4505, abs=5e-5)


@pytest.mark.parametrize("neighbours", [ADD, REPLACE])
@pytest.mark.parametrize(("epsilon", "published"), [(0.4, 5.559), (1.0, 2.575)])
def test_analytic_calibration_is_exact(epsilon, published, neighbours) -> None:
    """Under replace-one as well: its zCDP guarantee would take 15 % more noise than the exact trade-off."""
    found = noise_multiplier(Budget.approx(epsilon, 1e-3), neighbours)
    best = brentq(lambda x: exact_delta(x, epsilon) - 1e-3, 0.5, 50)
    assert best == pytest.approx(published, abs=1e-3)
    assert best <= found < best * 1.001  # never less noise than it takes, and hardly more


@pytest.mark.parametrize("neighbours", [ADD, REPLACE])
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 6.0])
def test_noise_is_enough(neighbours, epsilon) -> None:
    budget = Budget.approx(epsilon, 1e-4)
    for how in ("analytic", "classical"):
        multiplier = noise_multiplier(budget, neighbours, how)
        assert exact_delta(multiplier, epsilon) <= 1e-4
        assert cost([(gaussian_event(multiplier), 1)], budget, neighbours) <= exact(epsilon)


@pytest.mark.parametrize(("delta", "fails"), [(1e-3, 8.6), (1e-4, 9.1), (1e-5, 9.5)])
def test_the_classical_constant_is_refused_where_it_fails(delta, fails) -> None:
    assert exact_delta(classical_constant(delta) / fails, fails) > delta
    with pytest.raises(InvalidInput, match="classical"):
        noise_multiplier(Budget.approx(fails, delta), ADD, "classical")


def test_reference_noise_of_the_thesis() -> None:
    """(0.4, 1e-3), n = 5000: a histogram's bin and a density of bandwidth 0.3 in one dimension."""
    domain = Domain(attributes=[Numeric(name="x", bounds=(0, 1), bins=20)])
    budget, n = Budget.approx(0.4, 1e-3), 5000
    parts = {"features": ("x",), "kernel": Kernel(bandwidth=0.3), "calibration": "classical"}
    histogram = ReleaseFunction(kind="histogram", **parts).calibrate(
        domain, budget, unit=Unit.row(), neighbours=REPLACE
    )
    assert histogram.table.laws[0].std / n == pytest.approx(0.00276, abs=5e-6)
    density = ReleaseFunction(kind="density", **parts).calibrate(domain, budget, unit=Unit.row(), neighbours=REPLACE)
    sigma = sigma_of(math.sqrt(2), density.multiplier)
    assert sigma / n / Kernel(bandwidth=0.3).integral(1) == pytest.approx(0.00367, abs=5e-6)


def test_bad_budgets() -> None:
    with pytest.raises(InvalidInput, match="delta"):
        noise_multiplier(Budget.pure(1.0), ADD)
    with pytest.raises(InvalidInput, match="classical"):
        noise_multiplier(Budget.zcdp(0.1), ADD, "classical")
    with pytest.raises(InvalidInput, match="analytic"):
        noise_multiplier(Budget.approx(1, 1e-5), ADD, "best")


def test_room_is_kept_for_arithmetic() -> None:
    assert sigma_of(2.0, 5.0) > 10.0
    with pytest.raises(InvalidInput, match="floating point"):
        sigma_of(1.0, 1e6)
