"""The filter of accounts with a delta: the adaptive adversary is played exactly, and gains nothing."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np
import opendp.prelude as dp
import pytest

from tacita.privacy.accountant import INFINITE, cost, epsilon_at
from tacita.privacy.budget import Budget, exact
from tacita.privacy.event import (
    Approximate,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    NonPrivate,
    Nothing,
    Pure,
    Repeated,
    SampledGaussian,
    Zcdp,
)
from tacita.privacy.filter import filter_cost, orders_of
from tacita.privacy.unit import Neighbours
from tacita.testing.adversary import best_strategy, composed_delta, lattice_event, random_strategy

ADD = Neighbours.ADD_REMOVE
STEP = Fraction(1, 10)
SMALL, LAPLACE = Pure(epsilon=STEP), DiscreteLaplaceNoise(scale=Fraction(5), sensitivity=2)
GAUSSIAN, LARGE = DiscreteGaussianNoise(sigma2=Fraction(5)), Pure(epsilon=Fraction(2))

GRIDS = [
    ((SMALL, LAPLACE, GAUSSIAN), 1.0, 1e-2),
    ((SMALL, LAPLACE, GAUSSIAN), 2.0, 1e-2),
    ((SMALL, Pure(epsilon=Fraction(1, 2)), GAUSSIAN), 2.0, 1e-3),
    ((SMALL, LARGE, GAUSSIAN), 3.0, 1e-2),
    ((SMALL, Approximate(epsilon=0.2, delta=1e-2 / 64), GAUSSIAN), 2.0, 1e-2),
]


def rules(events, epsilon, delta):
    """The filter, and the rule before it: loss distributions as if all had been fixed beforehand."""
    laws = [lattice_event(event, STEP) for event in events]
    budget = Budget.approx(epsilon, delta)

    @cache
    def filtered(counts):
        return filter_cost(zip(events, counts, strict=True), budget, ADD) <= exact(epsilon)

    @cache
    def composed(counts):
        return composed_delta(laws, counts, STEP, epsilon) <= delta

    return laws, filtered, composed


@pytest.mark.parametrize(("events", "epsilon", "delta"), GRIDS)
def test_no_adaptive_strategy_exceeds_delta(events, epsilon, delta):
    laws, filtered, composed = rules(events, epsilon, delta)
    assert best_strategy(laws, filtered, STEP, epsilon, 200) <= delta
    # the adversary is able to win: against the rule for fixed events it does
    assert best_strategy(laws, composed, STEP, epsilon, 200) > 1.1 * delta


def test_random_strategies_exceed_nothing():
    events, epsilon, delta = GRIDS[0]
    laws, filtered, _ = rules(events, epsilon, delta)
    rng = np.random.default_rng(14)
    assert max(random_strategy(laws, filtered, STEP, epsilon, rng, 6) for _ in range(100)) <= delta


def test_the_rule_for_fixed_events_is_what_loss_distributions_give():
    events, _, delta = GRIDS[0]
    laws, *_ = rules(events, 1.0, delta)
    together = [(SMALL, 3), (LAPLACE, 1), (GAUSSIAN, 1)]
    priced = float(cost(together, Budget.approx(1.0, delta), ADD))
    assert math.isclose(composed_delta(laws, (3, 1, 1), STEP, priced), delta, rel_tol=2e-3)


@pytest.mark.parametrize("delta", [1e-12, 1e-6, 1e-2])
@pytest.mark.parametrize("epsilon", [0.01, 0.5, 3.0, 40.0])
def test_a_history_never_costs_less_than_the_same_events_fixed_beforehand(epsilon, delta):
    budget = Budget.approx(epsilon, delta)
    for event, count in ((Pure(epsilon=epsilon / 20), 50), (Zcdp(rho=epsilon / 1000), 7), (GAUSSIAN, 4)):
        fixed = epsilon_at(Repeated(event=event, count=count), delta, ADD)
        assert float(filter_cost([(event, count)], budget, ADD)) >= fixed * (1 - 1e-9)


def test_more_charges_never_cost_less():
    budget, before = Budget.approx(2.0, 1e-6), Fraction(0)
    for count in range(1, 30):
        now = filter_cost([(GAUSSIAN, count), (SMALL, count // 2)], budget, ADD)
        assert now >= before
        before = now


def test_one_plan_costs_its_loss_distribution_and_free_events_cost_nothing():
    budget, plan = Budget.approx(5.0, 1e-6), Repeated(event=Pure(epsilon=0.1), count=100)
    alone = filter_cost([(plan, 1), (Nothing(), 3)], budget, ADD)
    assert math.isclose(float(alone), epsilon_at(plan, 1e-6, ADD))
    assert filter_cost([(Nothing(), 3)], budget, ADD) == 0
    # asked one by one, each may depend on the answers before: dearer, and far below the sum of 10
    assert 1.05 * alone < filter_cost([(Pure(epsilon=0.1), 100)], budget, ADD) < Fraction(21, 4)


def test_few_pure_events_cost_their_sum():
    assert filter_cost([(Pure(epsilon=0.1), 7), (Pure(epsilon=0.3), 1)], Budget.approx(1, 1e-9), ADD) == 1


def test_a_raised_budget_moves_no_order():
    history = [(GAUSSIAN, 5)]
    opened = filter_cost(history, Budget.approx(3.0, 1e-6), ADD)
    assert filter_cost(history, Budget.approx(9.0, 1e-6), ADD, opened=3.0) == opened
    assert filter_cost(history, Budget.approx(9.0, 1e-6), ADD) != opened


def test_what_fails_outright_has_a_share_of_delta():
    budget = Budget.approx(5.0, 1e-6)
    rare, often = Approximate(epsilon=0.1, delta=1e-8), Approximate(epsilon=0.1, delta=5e-7)
    assert filter_cost([(rare, 3)], budget, ADD) < 5
    assert filter_cost([(often, 2)], budget, ADD) == INFINITE
    assert filter_cost([(often, 1)], budget, ADD) == exact(0.1)
    assert filter_cost([(NonPrivate(reason="raw"), 1), (rare, 1)], budget, ADD) == INFINITE


def test_sampled_plans_are_cut_until_their_share_of_delta_is_used():
    budget, plan = Budget.approx(8.0, 1e-5), Repeated(event=SampledGaussian(noise_multiplier=1.0, rate=0.01), count=100)
    few, many = (float(filter_cost([(plan, count)], budget, ADD)) for count in (8, 9))
    assert few < 1.5 * epsilon_at(Repeated(event=plan, count=8), 1e-5, ADD)
    assert few < many < math.inf


def test_cuts_and_failures_have_shares_of_their_own():
    """A history that goes on without its cuts has spent their share: failing events must not get it too."""
    budget, plan = Budget.approx(8.0, 1e-5), Repeated(event=SampledGaussian(noise_multiplier=1.0, rate=0.01), count=100)
    for count in (8, 9):
        assert filter_cost([(plan, count), (Approximate(epsilon=0.1, delta=1e-5 / 16), 1)], budget, ADD) < INFINITE
        assert filter_cost([(plan, count), (Approximate(epsilon=0.1, delta=1e-5 / 8), 1)], budget, ADD) == INFINITE


@pytest.mark.parametrize(
    ("budget", "measure", "mechanism", "event"),
    [
        (
            Budget.pure(1.01),
            dp.max_divergence(),
            lambda space: dp.m.make_laplace(*space, scale=10.0),
            DiscreteLaplaceNoise(scale=Fraction(10)),
        ),
        (
            Budget.zcdp(0.101),
            dp.zero_concentrated_divergence(),
            lambda space: dp.m.make_gaussian(*space, scale=10.0),
            DiscreteGaussianNoise(sigma2=Fraction(100)),
        ),
    ],
    ids=["pure", "zcdp"],
)
def test_opendp_has_the_same_filter(budget, measure, mechanism, event):
    dp.enable_features("contrib")
    space = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    odometer = dp.c.make_fully_adaptive_composition(*space, measure)
    queryable = dp.c.make_privacy_filter(odometer, d_in=1, d_out=float(budget.amount))(5)
    accepted = 0
    with pytest.raises(dp.OpenDPException, match="exhausted"):
        while True:
            queryable(mechanism(space))
            accepted += 1
    costs = [filter_cost([(event, count)], budget, ADD) for count in (accepted, accepted + 1)]
    assert costs[0] <= exact(budget.amount) < costs[1]


def test_orders_lie_around_the_best_one():
    for epsilon, delta in ((1e-4, 1e-6), (1.0, 1e-6), (1000.0, 1e-15)):
        orders = orders_of(epsilon, delta)
        assert sorted(set(orders)) == list(orders)
        assert orders[0] > 1
    # enough orders to bear one Gaussian event of the whole budget within a tenth
    plan = DiscreteGaussianNoise(sigma2=Fraction(30))
    epsilon = epsilon_at(Repeated(event=plan, count=4), 1e-6, ADD)
    assert filter_cost([(plan, 4)], Budget.approx(epsilon, 1e-6), ADD) < 1.2 * exact(epsilon)
