"""Renyi divergences against sums over all outputs, and against an accountant that is not ours."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.privacy_accountant import NeighboringRelation
from dp_accounting.rdp import rdp_privacy_accountant

from tacita.privacy.accountant import epsilon_at
from tacita.privacy.event import (
    Approximate,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    NonPrivate,
    Parallel,
    Pure,
    Repeated,
    SampledGaussian,
    Sequence,
    Zcdp,
)
from tacita.privacy.renyi import divergences
from tacita.privacy.unit import Neighbours

ADD = Neighbours.ADD_REMOVE
ORDERS = (1.03, 1.5, 2.0, 5.0, 32.0, 400.0)


def plain(event, orders=ORDERS, neighbours=ADD):
    return np.array(divergences(event, neighbours, orders, 1e-8).plain)


def by_definition(log_p, log_q, order):
    log_p, log_q = log_p - np.logaddexp.reduce(log_p), log_q - np.logaddexp.reduce(log_q)
    top = order * log_p + (1 - order) * log_q
    return (top.max() + math.log(np.exp(top - top.max()).sum())) / (order - 1)


@pytest.mark.parametrize(("scale", "shift"), [(10, 1), (1, 1), (Fraction(1, 3), 1), (5, 2), (40, 7)])
@pytest.mark.parametrize("order", ORDERS)
def test_laplace_noise_has_the_divergence_of_its_definition(scale, shift, order):
    x = np.arange(-int(80 * max(1, scale)), int(80 * max(1, scale)) + 1)
    true = by_definition(-np.abs(x) / float(scale), -np.abs(x - shift) / float(scale), order)
    (found,) = plain(DiscreteLaplaceNoise(scale=Fraction(scale), sensitivity=shift), (order,))
    assert true * (1 - 1e-9) - 1e-14 <= found <= true * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("epsilon", [1e-4, 0.02, 0.5, 3.0, 30.0])
def test_a_pure_event_is_bounded_by_randomized_response(epsilon):
    theirs = rdp_privacy_accountant.RdpAccountant([2.0, 5.0, 32.0], NeighboringRelation.REPLACE_ONE)
    theirs.compose(dp_event.RandomizedResponseDpEvent(2 / (1 + math.exp(epsilon)), 2))
    for found, known in zip(plain(Pure(epsilon=epsilon), (2.0, 5.0, 32.0)), theirs._rdp, strict=True):
        assert known * (1 - 1e-6) <= found <= known * (1 + 1e-6)


@pytest.mark.parametrize("epsilon", [60.0, 900.0])
def test_a_large_pure_event_is_bounded_by_its_epsilon(epsilon):
    assert (plain(Pure(epsilon=epsilon)) == epsilon).all()


@pytest.mark.parametrize("order", [2.0, 5.0, 32.0])
def test_discrete_gaussian_noise_is_bounded_by_its_rho(order):
    x = np.arange(-300, 301).astype(float)
    true = by_definition(-(x**2) / 40, -((x - 3) ** 2) / 40, order)
    (found,) = plain(DiscreteGaussianNoise(sigma2=Fraction(20), sensitivity=3), (order,))
    assert true <= found <= true * 1.0001


def test_plans_add_up_and_parallel_parts_do_not():
    one, two = Pure(epsilon=0.3), Zcdp(rho=0.02)
    assert np.allclose(plain(Sequence(events=(one, two))), plain(one) + plain(two))
    assert np.allclose(plain(Repeated(event=one, count=5)), 5 * plain(one), rtol=1e-6)
    assert np.allclose(plain(Parallel(events=(one, one))), plain(one))
    replaced = plain(Parallel(events=(one, one)), neighbours=Neighbours.REPLACE_ONE)
    assert np.allclose(replaced, plain(Pure(epsilon=0.6)))


def test_what_fails_outright_says_how_often():
    found = divergences(Approximate(epsilon=0.5, delta=1e-7), ADD, ORDERS, 1e-8)
    assert found.failing == 1e-7
    assert np.allclose(found.plain, 0.5)
    none = divergences(NonPrivate(reason="raw"), ADD, ORDERS, 1e-8)
    assert set(none.plain) == {math.inf}
    assert none.failing == 1


def test_sampled_steps_agree_with_their_accountant():
    orders = (2.0, 4.0, 9.0, 20.0)
    theirs = rdp_privacy_accountant.RdpAccountant(list(orders))
    theirs.compose(
        dp_event.SelfComposedDpEvent(dp_event.PoissonSampledDpEvent(0.01, dp_event.GaussianDpEvent(1.0)), 50)
    )
    assert np.allclose(
        plain(Repeated(event=SampledGaussian(noise_multiplier=1.0, rate=0.01), count=50), orders), theirs._rdp
    )


def test_cutting_rare_outputs_bounds_delta():
    """A cut divergence and the probability that was cut give a delta that is not below the true one, and near it."""
    event = Repeated(event=SampledGaussian(noise_multiplier=1.0, rate=0.01), count=200)
    found = divergences(event, ADD, (9.0, 20.0), 1e-7)
    assert found.cutting == 1e-7
    for order, amount, whole in zip((9.0, 20.0), found.cut, found.plain, strict=True):
        assert amount < whole
        left = 1e-5 - found.cutting
        epsilon = amount + (-math.log(left) + (order - 1) * math.log1p(-1 / order) - math.log(order)) / (order - 1)
        true = epsilon_at(event, 1e-5, ADD)
        assert true <= epsilon <= 2 * true
