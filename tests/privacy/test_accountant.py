"""Costs against slower, independent computations: brute-force pairs, direct sums, and mpmath quadrature-free bounds."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import logsumexp

from tacita.errors import InvalidInput
from tacita.noise import DiscreteGaussian, DiscreteLaplace
from tacita.privacy.accountant import INFINITE, cost, epsilon_at, pure_epsilon, zcdp_rho
from tacita.privacy.budget import Budget, exact
from tacita.privacy.event import (
    Approximate,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Group,
    NonPrivate,
    Nothing,
    Parallel,
    Pure,
    Repeated,
    Sequence,
    Zcdp,
    event_from_dict,
)
from tacita.privacy.unit import Neighbours

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
X = np.arange(-4000, 4001)


def delta_of_shift(law, shift, epsilon):
    """sum_x max(0, P(x) - e^epsilon P(x + shift)), straight from the definition."""
    return float(np.clip(law.pmf(X) - math.exp(epsilon) * law.pmf(X + shift), 0, None).sum())


def test_pure_epsilon_of_noise_is_the_largest_log_ratio():
    for scale, shift in itertools.product([Fraction(1, 2), Fraction(10, 7), Fraction(9)], [1, 3]):
        law = DiscreteLaplace(scale=scale)
        near = np.arange(-30, 31)
        ratio = np.log(law.pmf(near) / law.pmf(near + shift)).max()
        assert ratio == pytest.approx(
            float(pure_epsilon(DiscreteLaplaceNoise(scale=scale, sensitivity=shift), ADD)), rel=1e-12
        )


def test_zcdp_of_gaussian_noise_bounds_every_renyi_divergence():
    for sigma2, shift in itertools.product([0.5, 4.0, 30.0], [1, 2]):
        law = DiscreteGaussian.at_least(sigma2)
        rho = float(zcdp_rho(DiscreteGaussianNoise(sigma2=law.sigma2, sensitivity=shift), ADD))
        log_p, log_q = (math.log(law.pmf(0)) - at**2 / (2 * float(law.sigma2)) for at in (X, X + shift))
        for order in (1.01, 1.5, 2, 4, 16):
            divergence = logsumexp(order * log_p + (1 - order) * log_q) / (order - 1)
            assert divergence <= rho * order + 1e-9


@pytest.mark.parametrize("shift", [2, 7, 64, 65, 150])
@pytest.mark.parametrize("scale", [Fraction(20), Fraction(200)])
def test_a_shift_of_many_steps_costs_what_the_definition_says(scale, shift):
    """Never less, and for what fits the 64 steps hardly more."""
    law = DiscreteLaplace(scale=scale)
    for delta in (1e-2, 1e-4):
        epsilon = epsilon_at(DiscreteLaplaceNoise(scale=scale, sensitivity=shift), delta, ADD)
        assert delta_of_shift(law, shift, epsilon) <= delta * (1 + 1e-9)
        assert epsilon == 0 or delta_of_shift(law, shift, 0.97 * epsilon - 3e-4) > delta


def test_a_finer_grid_never_costs_more():
    costs = [
        epsilon_at(Repeated(event=DiscreteLaplaceNoise(scale=Fraction(10 * g), sensitivity=g), count=100), 1e-6, ADD)
        for g in (1, 2, 8, 64, 4096, 1 << 20)
    ]
    assert costs == sorted(costs, reverse=True)
    assert costs[0] > 4.77
    assert costs[-1] <= 4.70


def test_two_fine_shifts_compose_as_the_definition_says():
    law, shift, x = DiscreteLaplace(scale=Fraction(8)), 5, np.arange(-200, 201)
    p, q = law.pmf(x), law.pmf(x - shift)
    event = Repeated(event=DiscreteLaplaceNoise(scale=law.scale, sensitivity=shift), count=2)
    for delta in (1e-1, 1e-3):
        epsilon = epsilon_at(event, delta, ADD)
        lost = np.clip(np.multiply.outer(p, p) - math.exp(epsilon) * np.multiply.outer(q, q), 0, None).sum()
        assert 0.8 * delta < lost <= delta * (1 + 1e-9)


def test_no_history_of_pure_events_costs_more_than_their_sum():
    for event in (Pure(epsilon=0.00033), DiscreteLaplaceNoise(scale=Fraction(1000), sensitivity=3)):
        assert epsilon_at(event, 1e-6, ADD) <= float(pure_epsilon(event, ADD)) * (1 + 1e-12)


@pytest.mark.parametrize("delta", [1e-3, 1e-6])
@pytest.mark.parametrize("noise", [DiscreteLaplaceNoise(scale=Fraction(3)), DiscreteGaussianNoise(sigma2=Fraction(9))])
def test_epsilon_at_delta_is_never_too_small_and_nearly_tight(noise, delta):
    law = (
        DiscreteLaplace(scale=noise.scale)
        if isinstance(noise, DiscreteLaplaceNoise)
        else DiscreteGaussian(sigma2=noise.sigma2)
    )
    epsilon = epsilon_at(noise, delta, ADD)
    assert delta_of_shift(law, 1, epsilon) <= delta
    assert delta_of_shift(law, 1, epsilon - 0.01) > delta


def test_composition_of_two_against_the_product_law():
    """Two noisy counts of one person, from the definition over all pairs of outcomes."""
    law, delta = DiscreteLaplace(scale=Fraction(2)), 1e-3
    epsilon = epsilon_at(Repeated(event=DiscreteLaplaceNoise(scale=law.scale), count=2), delta, ADD)
    x = np.arange(-60, 61)
    p, q = np.outer(law.pmf(x), law.pmf(x)), np.outer(law.pmf(x + 1), law.pmf(x + 1))

    def spill(e):
        return np.clip(p - math.exp(e) * q, 0, None).sum()

    assert spill(epsilon) <= delta
    assert spill(epsilon - 0.01) > delta


def test_composition_is_cheaper_than_adding_up():
    many = Repeated(event=DiscreteLaplaceNoise(scale=Fraction(10)), count=100)
    assert pure_epsilon(many, ADD) == 10
    assert epsilon_at(many, 1e-6, ADD) < 4.8


def test_sequence_and_repeated_agree():
    noise = DiscreteGaussianNoise(sigma2=Fraction(25))
    assert epsilon_at(Sequence(events=(noise, noise, noise)), 1e-6, ADD) == epsilon_at(
        Repeated(event=noise, count=3), 1e-6, ADD
    )


# -- parallel, by brute force over neighbouring data sets --------------------------------------------------------------


def brute_force_parallel(epsilons, neighbours):
    """Two parts, each releasing a histogram of two values; largest loss over all neighbours."""
    worst = 0.0
    units = [None, *itertools.product((0, 1), (0, 1))]  # absent, or (part, value)
    for before, after in itertools.product(units, units):
        if neighbours is ADD and (before is None) == (after is None):
            continue
        if neighbours is REPLACE and (before is None or after is None):
            continue
        cells = [cell for cell in units[1:] if (before == cell) != (after == cell)]
        worst = max(worst, sum(epsilons[part] for part, _ in cells))
    return worst


@pytest.mark.parametrize("neighbours", [ADD, REPLACE])
@pytest.mark.parametrize("epsilons", [(0.5, 0.5), (0.25, 1.0)])
def test_parallel(neighbours, epsilons):
    parts = Parallel(events=tuple(Pure(epsilon=e) for e in epsilons))
    assert float(pure_epsilon(parts, neighbours)) == brute_force_parallel(epsilons, neighbours)
    # at a delta the bound must not fall below what the definition allows, nor above the pure sum
    assert epsilon_at(parts, 1e-9, neighbours) <= brute_force_parallel(epsilons, neighbours) + 1e-3


def test_parallel_of_unlike_gaussians_is_bounded_by_zcdp():
    parts = Parallel(events=(DiscreteGaussianNoise(sigma2=Fraction(4)), DiscreteGaussianNoise(sigma2=Fraction(16))))
    assert zcdp_rho(parts, ADD) == Fraction(1, 8)
    assert epsilon_at(parts, 1e-6, ADD) >= epsilon_at(parts.events[0], 1e-6, ADD)


# -- groups ------------------------------------------------------------------------------------------------------------


def test_group_against_shifts_by_many():
    for size in (2, 3):
        noise = DiscreteLaplaceNoise(scale=Fraction(5))
        assert pure_epsilon(Group(event=noise, size=size), ADD) == Fraction(size, 5)
        gauss = DiscreteGaussianNoise(sigma2=Fraction(50))
        assert zcdp_rho(Group(event=gauss, size=size), ADD) == Fraction(size**2, 100)
        law = DiscreteGaussian(sigma2=Fraction(50))
        assert delta_of_shift(law, size, epsilon_at(Group(event=gauss, size=size), 1e-6, ADD)) <= 1e-6


def test_groups_are_refused_under_replace_one():
    """Replacing somebody by somebody with more rows is not a chain of row replacements."""
    for currency in (pure_epsilon, zcdp_rho, lambda event, notion: epsilon_at(event, 1e-6, notion)):
        with pytest.raises(InvalidInput, match="chain"):
            currency(Group(event=Pure(epsilon=0.1), size=2), REPLACE)


def test_what_has_no_guarantee_stays_infinite_inside_anything():
    raw = NonPrivate(reason="raw")
    inside = [
        Group(event=raw, size=2),
        Parallel(events=(raw, Pure(epsilon=0.1))),
        Repeated(event=raw, count=3),
        Group(event=Sequence(events=(raw,)), size=2),
    ]
    for event in inside:
        for budget in (Budget.pure(1000), Budget.zcdp(1000), Budget.approx(1000, 1e-6)):
            assert cost([(event, 1)], budget, ADD) >= INFINITE


def test_extreme_amounts_are_accounted_quickly_and_never_too_low():
    assert epsilon_at(Pure(epsilon=900.0), 1e-6, ADD) == pytest.approx(900)
    assert epsilon_at(DiscreteLaplaceNoise(scale=Fraction(10**7)), 1e-6, ADD) <= 1e-3
    wide = DiscreteGaussianNoise(sigma2=Fraction(10**9))
    epsilon = epsilon_at(wide, 1e-6, ADD)
    assert 0 < epsilon < 1e-3


def test_the_better_of_both_accountants_is_taken():
    just_narrow, just_wide = (
        epsilon_at(Repeated(event=DiscreteGaussianNoise(sigma2=Fraction(10**6 + more)), count=1000), 1e-6, ADD)
        for more in (0, 1)
    )
    assert just_narrow == pytest.approx(just_wide, rel=1e-3)
    assert epsilon_at(DiscreteGaussianNoise(sigma2=Fraction(10**6), sensitivity=100_000), 1e-6, ADD) > 100
    assert epsilon_at(Group(event=Approximate(epsilon=400.0, delta=1e-9), size=3), 1e-6, ADD) == math.inf


def test_groups_inside_parallel_parts_are_stated_for_add_remove():
    parts = Parallel(events=(Group(event=Pure(epsilon=0.5), size=3), Pure(epsilon=0.1)))
    assert pure_epsilon(parts, REPLACE) == 3
    assert epsilon_at(parts, 1e-9, REPLACE) <= 3.001


def test_group_of_approximate():
    grown = Group(event=Approximate(epsilon=0.1, delta=1e-8), size=3)
    delta = 1e-8 * (1 + math.exp(0.1) + math.exp(0.2))
    assert epsilon_at(grown, delta * 1.001, ADD) == pytest.approx(0.3)
    assert epsilon_at(grown, delta * 0.999, ADD) == math.inf


def test_zcdp_conversion_against_the_exact_gaussian():
    """rho-zCDP of a Gaussian with that rho: never below the exact curve, and within a tenth of it."""
    rho, delta = 0.1, 1e-6
    law = DiscreteGaussian.at_least(1 / (2 * rho))
    epsilon = epsilon_at(Zcdp(rho=rho), delta, ADD)
    assert delta_of_shift(law, 1, epsilon) <= delta
    assert delta_of_shift(law, 1, 0.85 * epsilon) > delta


def test_mixtures_pay_for_everything():
    mixed = Sequence(events=(Zcdp(rho=0.01), Pure(epsilon=0.2), Approximate(epsilon=0.3, delta=1e-7), Nothing()))
    total = epsilon_at(mixed, 1e-6, ADD)
    assert total > epsilon_at(Zcdp(rho=0.01), 1e-6, ADD) + 0.2 + 0.3 - 1e-3
    assert epsilon_at(mixed, 1e-7, ADD) == math.inf


# -- currencies --------------------------------------------------------------------------------------------------------


def test_costs_are_exact_decimals():
    assert cost([(Pure(epsilon=0.1), 7), (Pure(epsilon=0.3), 1)], Budget.pure(1), ADD) == 1
    assert cost([(Zcdp(rho=0.25), 2), (Pure(epsilon=1.0), 1)], Budget.zcdp(9), ADD) == 1
    assert exact(0.1) == Fraction(1, 10)


def test_what_a_currency_cannot_hold_is_refused_not_free():
    with pytest.raises(InvalidInput, match="pure"):
        cost([(Zcdp(rho=0.1), 1)], Budget.pure(1), ADD)
    with pytest.raises(InvalidInput, match="zcdp"):
        cost([(Approximate(epsilon=0.1, delta=1e-6), 1)], Budget.zcdp(1), ADD)
    for budget in (Budget.pure(1), Budget.zcdp(1), Budget.approx(1, 1e-6)):
        assert cost([(NonPrivate(reason="raw"), 1)], budget, ADD) >= INFINITE


EVENTS = [
    Nothing(),
    NonPrivate(reason="x"),
    Pure(epsilon=0.5),
    Pure(epsilon=Fraction(3, 7)),
    Approximate(epsilon=0.5, delta=1e-6),
    Zcdp(rho=0.1),
    DiscreteLaplaceNoise(scale=Fraction(10, 7)),
    DiscreteGaussianNoise(sigma2=Fraction(3), sensitivity=2),
    Sequence(events=(Pure(epsilon=0.5), Zcdp(rho=0.1))),
    Repeated(event=Pure(epsilon=0.5), count=3),
    Parallel(events=(Pure(epsilon=0.5), Pure(epsilon=0.1))),
    Group(event=Pure(epsilon=0.5), size=3),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda e: e.kind)
def test_events_round_trip(event):
    assert event_from_dict(event.as_dict()) == event
    assert event_from_dict(event.as_dict()).to_json() == event.to_json()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Pure(epsilon=0),
        lambda: Pure(epsilon=math.nan),
        lambda: Pure(epsilon=True),
        lambda: Zcdp(rho=-1),
        lambda: Approximate(epsilon=1, delta=1),
        lambda: Repeated(event=Nothing(), count=0),
        lambda: Group(event=Nothing(), size=1.5),
        lambda: Parallel(events=()),
        lambda: event_from_dict({"kind": "magic"}),
        lambda: event_from_dict({"kind": "pure", "eps": 1}),
        lambda: event_from_dict({"kind": "pure", "epsilon": "1/0"}),
        lambda: event_from_dict({"kind": "discrete-laplace", "scale": "wide"}),
        lambda: DiscreteLaplaceNoise(scale=Fraction(0)),
    ],
)
def test_bad_events_are_refused(make):
    with pytest.raises(InvalidInput):
        make()
