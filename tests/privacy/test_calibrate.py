from fractions import Fraction

import pytest

from tacita.errors import InvalidInput
from tacita.privacy.accountant import cost
from tacita.privacy.budget import Budget, exact
from tacita.privacy.calibrate import narrowest
from tacita.privacy.event import DiscreteGaussianNoise, DiscreteLaplaceNoise, NonPrivate
from tacita.privacy.unit import Neighbours

ADD = Neighbours.ADD_REMOVE


def gauss(x):
    return DiscreteGaussianNoise(sigma2=x)


def laplace(x):
    return DiscreteLaplaceNoise(scale=x)


@pytest.mark.parametrize("event", [gauss, laplace])
@pytest.mark.parametrize("budget", [Budget.approx(1, 1e-6), Budget.approx(0.05, 1e-9), Budget.zcdp(0.2)])
@pytest.mark.parametrize("start", [Fraction(1), Fraction(1000)])
def test_fits_and_is_narrow(event, budget, start):
    x = narrowest(event, budget, ADD, start=start)
    assert cost([(event(x), 1)], budget, ADD) <= exact(budget.amount)
    assert cost([(event(x * Fraction(99, 100)), 1)], budget, ADD) > exact(budget.amount)


def test_no_noise_is_enough():
    with pytest.raises(InvalidInput, match="budget"):
        narrowest(lambda x: NonPrivate(reason="raw"), Budget.zcdp(1), ADD)
