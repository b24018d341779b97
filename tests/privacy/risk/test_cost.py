import math

import numpy as np
import pytest

from tacita.errors import InvalidInput
from tacita.privacy.risk.cost import CostModel

CENTRE = CostModel(compensation=5500, people=100)
"""The health centre: 34 of 99 people are obese, then 35 of 100; a count, off by at most 2 on average."""


def test_the_health_centre():
    price = CENTRE.price(0.5)
    assert round(price.plain, 4) == 74434.4058
    exact, one_sided, bessel = price.optima
    assert (round(bessel.epsilon, 7), round(bessel.budget, 4), round(bessel.confidence, 7)) == (
        0.2741153,
        37805.8567,
        0.6093374,
    )
    assert round(bessel.saving, 3) == 36628.549
    assert (round(exact.epsilon, 3), round(exact.budget)) == (0.286, 67979)
    assert (round(one_sided.epsilon, 3), round(one_sided.budget)) == (0.156, 43479)
    assert "not a privacy guarantee" in bessel.note
    assert not exact.note


@pytest.mark.parametrize(
    ("noise", "plain", "budget", "epsilon"),
    [
        (0.2, 3705.87, 1348.31, 0.1396),
        (0.3, 19620.70, 8422.56, 0.1906),
        (1.0, 202333.69, 120148.89, 0.4212),
        (2.0, 333591.86, 213701.11, 0.5891),
    ],
)
def test_golden_optima(noise, plain, budget, epsilon):
    assert round(CENTRE.budget(noise), 2) == plain
    best = CENTRE.optimum(noise, "bessel")
    assert (round(best.budget, 2), round(best.epsilon, 4)) == (budget, epsilon)


@pytest.mark.parametrize(("k", "budget", "epsilon"), [(2, 40675.75, 0.2835), (5, 41258.73, 0.2850)])
def test_golden_optima_of_more_dimensions(k, budget, epsilon):
    best = CENTRE.optimum(0.5, "bessel", dimensions=k)
    assert (round(best.budget, 2), round(best.epsilon, 4)) == (budget, epsilon)


@pytest.mark.parametrize("c", [0.25, 1.0, 4.0])
def test_the_minimum_solves_its_equation(c):
    """c/e - ln(1 + c (exp(e) - 1) / e^2) = c/e0, where the derivative vanishes; E_min drops out."""
    for least in (0.0, 800.0):
        model = CostModel(compensation=5500, people=1, steepness=c, least=least)
        for noise in (0.3, 1.0, 5.0):
            e = model.optimum(noise, "bessel").epsilon
            assert c / e - math.log1p(c * math.expm1(e) / e**2) == pytest.approx(c / noise, rel=1e-5)


@pytest.mark.parametrize("calculus", ["exact", "exact-one-sided", "bessel"])
def test_no_epsilon_is_cheaper(calculus):
    model = CostModel(compensation=100, people=3, steepness=2.0, least=10.0)
    for noise in (0.2, 1.0, 8.0):
        best = model.optimum(noise, calculus)
        tried = [3 * model.each_at_risk(e, noise, calculus) for e in np.linspace(noise / 1e4, noise, 3000)]
        assert best.budget <= min(tried) * (1 + 1e-9)
        assert best.saving == pytest.approx(model.budget(noise) - best.budget)


def test_compensation_stays_between_its_ends():
    """Also with a least amount, where the published form passes the whole compensation."""
    model = CostModel(compensation=100, people=1, least=40)
    values = [model.each(epsilon) for epsilon in (0, 0.01, 0.5, 3, 1e9)]
    assert values == sorted(values)
    assert values[0] == 40
    assert values[-1] == pytest.approx(100)
    assert max(values) <= 100


def test_releases_add_up():
    twice = CENTRE.price(0.5, releases=2)
    assert (twice.composed, twice.plain) == (1.0, CENTRE.budget(1.0))
    assert [each.calculus for each in twice.optima] == ["exact", "exact-one-sided"]
    assert all(CENTRE.budget(0.5) < each.budget <= twice.plain for each in twice.optima)
    assert CENTRE.most_releases(0.5, money=CENTRE.budget(1.5)) == 3
    assert CENTRE.most_releases(0.5, money=CENTRE.budget(1.49)) == 2
    assert CostModel(compensation=5, people=1, least=2).most_releases(0.1, money=1.0) == 0


def test_the_range():
    found = CENTRE.feasible(0.5, money=40_000, error=2.0, calculus="bessel")
    assert found.noise_at_least == 0.5  # the error is set by the noise level, not by epsilon
    assert found.feasible
    assert found.epsilon_low < 0.2741 < found.epsilon_high
    for epsilon, inside in ((found.epsilon_low, True), (found.epsilon_high, True), (found.epsilon_high + 0.01, False)):
        assert (100 * CENTRE.each_at_risk(epsilon, 0.5, "bessel") <= 40_000) is inside
    assert not CENTRE.feasible(0.5, money=30_000, error=2.0, calculus="bessel").feasible


def test_noise_that_is_too_much_is_not_feasible():
    found = CENTRE.feasible(0.2, money=40_000, error=2.0)
    assert found.epsilon_low is not None
    assert not found.feasible


def test_inputs_near_their_limits_can_be_changed():
    found = CostModel(compensation=100, people=1, least=95).sensitivity_to_inputs(0.5)
    assert all(low <= high for low, high in (found["compensation"], found["least"]))


def test_what_the_figure_hangs_on():
    found = CENTRE.sensitivity_to_inputs(0.5, calculus="bessel")
    assert set(found) == {"compensation", "steepness", "noise"}
    low, high = found["compensation"]
    assert (low, high) == pytest.approx((0.9 * 37805.8567, 1.1 * 37805.8567))
    assert found["steepness"][0] > found["steepness"][1]  # steeper is cheaper at small epsilon


@pytest.mark.parametrize(
    "bad",
    [
        lambda: CostModel(compensation=-5, people=1),
        lambda: CostModel(compensation=5, people=0),
        lambda: CostModel(compensation=5, people=1, least=6),
        lambda: CostModel(compensation=5, people=1, least=-1),
        lambda: CostModel(compensation=5, people=1, steepness=0),
        lambda: CENTRE.each(-1),
        lambda: CENTRE.optimum(0.0),
        lambda: CENTRE.optimum(0.5, "magic"),
        lambda: CENTRE.price(0.5, releases=0),
        lambda: CENTRE.optimum(0.5, "bessel", releases=2),
        lambda: CENTRE.most_releases(0.5, money=-1),
        lambda: CENTRE.most_releases(0.5, money=1e9),
        lambda: CENTRE.feasible(0.5, money=-1, error=1),
    ],
)
def test_bad_input(bad):
    with pytest.raises(InvalidInput):
        bad()
