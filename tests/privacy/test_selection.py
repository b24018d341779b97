import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from tacita.errors import InvalidInput
from tacita.noise import SecureSource, SeededSource
from tacita.privacy.event import Pure, Zcdp
from tacita.privacy.selection import GRID, ExponentialMechanism, _choose


def law(scores, sensitivity, epsilon):
    """The exponential mechanism by its definition, on the grid."""
    steps = np.rint(np.asarray(scores, float) / sensitivity * GRID)
    weights = np.exp((steps - steps.max()) * float(epsilon) / (2 * (GRID + 1)))
    return weights / weights.sum()


@pytest.mark.parametrize("source", [SecureSource(), SeededSource(3)], ids=["secure", "simulated"])
def test_draws_follow_the_law(source):
    scores, choice, draws = [0.0, 2.0, 5.0, 4.5], ExponentialMechanism.pure(Fraction(3, 2)), 4000
    seen = np.bincount([choice.draw(scores, sensitivity=2.0, source=source) for _ in range(draws)], minlength=4)
    assert np.abs(seen / draws - law(scores, 2.0, 1.5)).max() < 5 * 0.5 / draws**0.5


def test_the_compiled_law_is_exact_on_all_tapes():
    """Every tape of eight words of two bits: what is decided lies within what the law allows, and little is not."""
    behind = np.array([0, 1, 2], np.uint64)
    decided = np.zeros(3)
    tapes = list(itertools.product(range(4), repeat=8))
    for tape in tapes:
        index, _ = _choose(np.array(tape, np.uint64), 2, behind, np.uint64(1), np.uint64(2))
        if index >= 0:
            decided[index] += 1 / len(tapes)
    exact = np.exp(-np.array([0, 0.5, 1.0]))
    exact /= exact.sum()
    left = 1 - decided.sum()
    assert left < 0.25
    assert (decided <= exact + 1e-12).all()
    assert (exact <= decided + left + 1e-12).all()


def test_the_exact_law_is_private_and_its_log_odds_move_by_at_most_epsilon():
    """Scores that move by up to the sensitivity in any direction: not monotone, so the factor 2 is needed."""
    epsilon, worst = 0.8, 0.0
    for scores in itertools.product([0, 1, 2], repeat=3):
        for moves in itertools.product([-1, 0.3, 1], repeat=3):
            one, two = law(scores, 1, epsilon), law(np.add(scores, moves), 1, epsilon)
            loss = np.log(one / two)
            assert np.abs(loss).max() <= epsilon
            assert loss.max() - loss.min() <= epsilon + 1e-9  # bounded range: what makes it epsilon^2/8-zCDP
            worst = max(worst, loss.max() - loss.min())
    assert worst > 0.99 * epsilon, "the claim is not wasteful"


def test_zcdp_of_the_exact_law_is_at_most_what_is_charged():
    choice = ExponentialMechanism.zcdp(0.05)
    rho = float(choice.event.rho)
    for moves in itertools.product([-1, 1], repeat=3):
        one = law([0.0, 1.0, 3.0], 1, choice.epsilon)
        two = law(np.add([0.0, 1.0, 3.0], moves), 1, choice.epsilon)
        for order in (1.01, 1.5, 2, 5, 20, 100):
            renyi = math.log(np.sum(one**order * two ** (1 - order))) / (order - 1)
            assert renyi <= rho * order + 1e-12


def test_the_cost_is_never_above_what_was_asked():
    for amount in (1e-6, 0.003, 0.7, 10.0):
        pure, zcdp = ExponentialMechanism.pure(amount), ExponentialMechanism.zcdp(amount)
        assert isinstance(pure.event, Pure)
        assert isinstance(zcdp.event, Zcdp)
        assert 0.999 * amount < float(pure.event.epsilon) <= amount
        assert 0.999 * amount < float(zcdp.event.rho) <= amount


def test_far_behind_is_never_drawn_and_overflows_nothing():
    choice, source = ExponentialMechanism.pure(1.0), SeededSource(1)
    assert {choice.draw([-1e12, 0.0, -1e9], sensitivity=1, source=source) for _ in range(50)} == {1}


@pytest.mark.parametrize("bad", [{"scores": []}, {"scores": [math.nan]}, {"sensitivity": 0.0}])
def test_bad_input(bad):
    arguments = {"scores": [1.0], "sensitivity": 1.0} | bad
    with pytest.raises(InvalidInput, match=next(iter(bad))):
        ExponentialMechanism.pure(1.0).draw(**arguments, source=SeededSource(1))
    with pytest.raises(InvalidInput, match="epsilon"):
        ExponentialMechanism(epsilon=Fraction(0))
