"""Repeated collection: against the exact sum over all outcomes of independent bits."""

import math

import pytest

from tacita.collect.channels.channel import RandomizedResponse
from tacita.collect.channels.repeated import repeated_loss
from tacita.collect.channels.subset import SubsetSelection
from tacita.errors import InvalidInput


def delta_of_bits(local, reports, epsilon):
    """Hockey-stick divergence of the number of ones among `reports` bits, by summation."""
    p = math.exp(local) / (math.exp(local) + 1)
    total = 0.0
    for ones in range(reports + 1):
        first = math.comb(reports, ones) * p**ones * (1 - p) ** (reports - ones)
        second = math.comb(reports, ones) * (1 - p) ** ones * p ** (reports - ones)
        total += max(first - math.exp(epsilon) * second, 0.0)
    return total


@pytest.mark.parametrize(("local", "reports", "known"), [(1.0, 30, 29.99), (0.5, 100, 33.3)])
def test_exact_composition_of_one_bit(local, reports, known):
    found = repeated_loss(RandomizedResponse.k_ary(levels=2, epsilon=local), reports, 1e-6)
    assert found.epsilon == pytest.approx(known, abs=0.05)
    # never too small, and not far from the edge: losses are rounded up to a grid of 1e-4 for each report
    assert delta_of_bits(local, reports, found.epsilon) <= 1e-6
    assert delta_of_bits(local, reports, found.epsilon - 2e-4 * reports) > 1e-6


def test_keeping_the_report_is_what_rescues():
    channel = SubsetSelection.of(levels=10, epsilon=1.0)
    found = repeated_loss(channel, 365, 1e-6)
    assert found.memoised == channel.epsilon_upper
    assert 100 * found.memoised < found.epsilon <= found.added_up
    assert found.event.as_dict()["count"] == 365


def test_one_report_costs_what_it_costs():
    channel = RandomizedResponse.k_ary(levels=2, epsilon=0.7)
    assert repeated_loss(channel, 1, 1e-9).epsilon <= channel.epsilon_upper


def test_refusals():
    with pytest.raises(InvalidInput):
        repeated_loss(RandomizedResponse.k_ary(levels=2, epsilon=1.0), 0, 1e-6)
