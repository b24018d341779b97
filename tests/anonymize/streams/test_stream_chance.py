"""The chance of k under z: against every case of the model, and against the world that the model is about."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacita.anonymize.streams.stream_chance import chance_of_k
from tacita.errors import InvalidInput


def at_least(n, p, least):
    return sum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(max(least, 0), n + 1))


def by_cases(shown, users, z, k):
    """The model, set by set."""
    total = 0.0
    terms = []
    for p in shown:
        g = at_least(users, p, z)
        mean = sum(i * math.comb(users, i) * p**i * (1 - p) ** (users - i) for i in range(z, users + 1))
        s = mean / g / users if g > 0 else 0.0
        terms.append([(1 - g, 1.0), (g * s, s), (g * (1 - s), 1 - s)])
    for case in itertools.product(*terms):
        weight = math.prod(chance for chance, _ in case)
        total += weight * at_least(users - 1, math.prod(q for _, q in case), k - 1)
    return total


@settings(max_examples=80, deadline=None)
@given(
    shown=st.lists(st.floats(0.02, 0.98), min_size=0, max_size=4),
    users=st.integers(1, 25),
    z=st.integers(1, 12),
    k=st.integers(1, 8),
)
def test_the_two_ends_hold_the_model_between_them(shown, users, z, k):
    low, high = chance_of_k(shown, users=users, z=z, k=k, step=0.01)
    exact = by_cases(shown, users, z, k)
    assert low <= exact + 1e-9
    assert exact <= high + 1e-9
    assert high - low < 0.1


@pytest.mark.parametrize(("z", "k"), [(1, 2), (1, 20), (10, 5), (20, 5), (20, 20), (40, 2)])
def test_simulated_users_are_as_often_alike_as_the_model_says(z, k):
    rng = np.random.default_rng(z * 100 + k)
    shown, users, worlds = np.array([0.5, 0.3, 0.1, 0.05, 0.02]), 400, 200
    shares = []
    for _ in range(worlds):
        sets = rng.random((users, len(shown))) < shown
        sets &= sets.sum(axis=0) >= z
        _, which, times = np.unique(sets @ (1 << np.arange(5)), return_inverse=True, return_counts=True)
        shares.append((times[which] >= k).mean())
    low, high = chance_of_k(shown, users=users, z=z, k=k)
    slack = 4 * np.std(shares) / math.sqrt(worlds) + 0.004  # the second part is for what the model leaves out
    assert low - slack <= np.mean(shares) <= high + slack


def test_more_z_and_less_k_are_likelier():
    shown = [0.4, 0.2, 0.1, 0.05, 0.03, 0.01] * 3
    by_z = [chance_of_k(shown, users=500, z=z, k=5)[0] for z in (1, 10, 60, 500)]
    assert by_z == sorted(by_z)
    assert by_z[0] < 0.9 < by_z[-1]
    assert chance_of_k(shown, users=500, z=10, k=2)[0] > chance_of_k(shown, users=500, z=10, k=9)[1]
    assert chance_of_k(shown, users=500, z=501, k=500) == pytest.approx((1, 1))
    assert chance_of_k(shown, users=4, z=1, k=5) == (0.0, 0.0)


def test_bad_input_is_refused():
    with pytest.raises(InvalidInput, match="shown: must be probabilities"):
        chance_of_k([0.5, 1.5], users=10, z=2, k=2)
    with pytest.raises(InvalidInput, match="z: must be a whole number"):
        chance_of_k([0.5], users=10, z=0, k=2)
    with pytest.raises(InvalidInput, match="step"):
        chance_of_k([0.5], users=10, z=1, k=2, step=0)
