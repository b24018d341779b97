"""Selection of private keys: exact enumeration of what it reveals, and its draws."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from tacita.errors import InvalidInput
from tacita.noise import SeededSource
from tacita.privacy.accountant import epsilon_at
from tacita.privacy.event import Approximate, Repeated
from tacita.privacy.partitions import KeySelection
from tacita.privacy.unit import Neighbours, Unit

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
CASES = [(1.0, 1e-5), (0.1, 1e-3), (3.0, 1e-9), (0.01, 0.05), (25.0, 1e-12), (800.0, 1e-9)]


def hockey_stick(one, two, epsilon):
    """Largest of P(S) - e^epsilon Q(S), over kept sets of independent keys, in exact ratios; e^epsilon from below."""
    grown = Fraction(math.exp(min(epsilon, 700.0))) * (1 - Fraction(1, 1 << 50))
    worst = Fraction(0)
    for kept in itertools.product((True, False), repeat=len(one)):
        p, q = Fraction(1), Fraction(1)
        for keep, a, b in zip(kept, one, two, strict=True):
            p, q = p * (a if keep else 1 - a), q * (b if keep else 1 - b)
        worst += max(p - grown * q, Fraction(0))
    return worst


@pytest.mark.parametrize(("epsilon", "delta"), CASES)
def test_no_neighbour_loses_more_than_was_claimed_and_the_claim_is_reached(epsilon, delta):
    selection = KeySelection(epsilon=epsilon, delta=delta)
    chances = [selection.probability(n) for n in range(min(len(selection.thresholds), 400))]
    losses = [
        max(hockey_stick([a], [b], epsilon), hockey_stick([b], [a], epsilon)) for a, b in itertools.pairwise(chances)
    ]
    assert max(losses) <= Fraction(delta)
    assert max(losses) >= Fraction(delta) * (1 - Fraction(1, 10**6))
    assert chances[0] == 0
    assert all(a <= b for a, b in itertools.pairwise(chances))


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-5), (0.1, 1e-3), (2.0, 1e-8)])
def test_probabilities_are_the_largest_that_the_guarantee_allows(epsilon, delta):
    selection, chance = KeySelection(epsilon=epsilon, delta=delta), 0.0
    for n in range(1, 200):
        chance = min(math.exp(epsilon) * chance + delta, 1 - math.exp(-epsilon) * (1 - chance - delta), 1.0)
        assert float(selection.probability(n)) == pytest.approx(chance, rel=1e-9)
    half = math.log1p(math.expm1(epsilon) / (2 * delta)) / epsilon
    assert selection.at_least(0.5) == pytest.approx(half, abs=1.5)


@pytest.mark.parametrize("neighbours", [ADD, REPLACE])
@pytest.mark.parametrize("rows", [1, 2])
def test_a_person_in_several_keys_costs_their_composition(rows, neighbours):
    selection, unit = KeySelection(epsilon=0.4, delta=0.01), Unit.of_person("who", max_rows=rows)
    event = selection.event(unit, neighbours)
    times = rows * (2 if neighbours is REPLACE else 1)
    base = Approximate(epsilon=0.4, delta=0.01)
    assert event == (base if times == 1 else Repeated(event=base, count=times))
    worst = Fraction(0)
    for counts in itertools.product(range(0, 9, 2), repeat=times):
        # a person leaves up to `rows` keys, and joins as many others if replaced
        joins = [1] * rows if neighbours is ADD else [1] * rows + [-1] * rows
        if any(n + move < 0 for n, move in zip(counts, joins, strict=True)):
            continue
        one = [selection.probability(n) for n in counts]
        two = [selection.probability(n + move) for n, move in zip(counts, joins, strict=True)]
        worst = max(worst, hockey_stick(one, two, times * 0.4), hockey_stick(two, one, times * 0.4))
    assert worst <= Fraction(times) * Fraction(0.01)
    assert epsilon_at(event, 0.01 * times + 1e-12, neighbours) == pytest.approx(0.4 * times)


def test_draws_follow_the_probabilities():
    selection, draws = KeySelection(epsilon=0.5, delta=0.01), 20_000
    for units in (0, 1, 3, 5, 8, 40):
        kept = sum(selection.choose([units] * draws, SeededSource(units)))
        p = float(selection.probability(units))
        assert abs(kept - draws * p) <= 6 * math.sqrt(draws * p * (1 - p))


def test_keys_of_no_one_are_never_named():
    assert not any(KeySelection(epsilon=5.0, delta=0.5).choose([0] * 1000, SeededSource(1)))
    assert KeySelection(epsilon=5.0, delta=0.5).choose([], SeededSource(1)) == []


@pytest.mark.parametrize(("epsilon", "delta"), [(0, 0.1), (1, 0), (1, 1), (-1, 0.1), (np.nan, 0.1)])
def test_parameters_are_checked(epsilon, delta):
    with pytest.raises(InvalidInput):
        KeySelection(epsilon=epsilon, delta=delta)
