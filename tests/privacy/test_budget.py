import math

import pytest

from tacita.errors import InvalidInput
from tacita.privacy.budget import Budget


def test_currencies():
    assert Budget.pure(1).currency == "pure"
    assert Budget.approx(1, 1e-6).currency == "approx"
    assert Budget.zcdp(0.1).currency == "zcdp"
    assert str(Budget.approx(0.5, 1e-6)) == "epsilon 0.5 at delta 1e-06"


@pytest.mark.parametrize("budget", [Budget.pure(1), Budget.approx(1, 1e-6), Budget.zcdp(0.1)])
def test_round_trip(budget):
    assert Budget.from_dict(budget.as_dict()) == budget


@pytest.mark.parametrize("value", [0, -1, math.inf, math.nan, True, "1", None])
def test_epsilon_is_positive_and_finite(value):
    with pytest.raises(InvalidInput):
        Budget.pure(value)
    with pytest.raises(InvalidInput):
        Budget.zcdp(value)


@pytest.mark.parametrize("value", [1e-310, 1e-5, 1e4])
def test_epsilon_lies_in_a_sensible_range(value):
    with pytest.raises(InvalidInput, match="between"):
        Budget.pure(value)


@pytest.mark.parametrize("delta", [-1e-9, 1, 0.5, 1e-300, math.nan, True])
def test_delta(delta):
    with pytest.raises(InvalidInput, match="delta"):
        Budget.approx(1, delta)


def test_one_currency_at_a_time():
    for data in ({"epsilon": 1, "rho": 1}, {"rho": 1, "delta": 0.1}, {}, {"eps": 1}):
        with pytest.raises(InvalidInput):
            Budget.from_dict(data)


@pytest.mark.parametrize("number", [10**400, -(10**400), 10**5000, float("inf"), float("nan")], ids="abcde")
def test_numbers_that_no_float_can_hold_are_refused(number):
    for parts in ({"epsilon": number}, {"rho": number}, {"epsilon": 1.0, "delta": number}):
        with pytest.raises(InvalidInput):
            Budget(**parts)
