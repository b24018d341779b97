import math

import numpy as np
import pytest

from tacita.errors import InvalidInput
from tacita.noise import SecureSource, SeededSource
from tacita.privacy.selection import noisy_max


def flip_law(scores, epsilon, sensitivity):
    """Law of permute-and-flip by its definition: random order, accept i with probability exp(-(max - q_i) eps / 2D)."""
    import itertools

    accept = [math.exp(-(max(scores) - q) * epsilon / (2 * sensitivity)) for q in scores]
    law = np.zeros(len(scores))
    for order in itertools.permutations(range(len(scores))):
        left = 1.0
        for i in order:
            law[i] += left * accept[i]
            left *= 1 - accept[i]
    return law / math.factorial(len(scores))


@pytest.mark.parametrize("source", [SecureSource(), SeededSource(2)], ids=["opendp", "simulated"])
def test_choice_follows_the_law(source):
    scores, epsilon = [0.0, 1.0, 3.0], 1.5
    draws = 4000
    seen = np.bincount(
        [noisy_max(scores, sensitivity=1, epsilon=epsilon, source=source) for _ in range(draws)], minlength=3
    )
    law = flip_law(scores, epsilon, 1)
    assert np.abs(seen / draws - law).max() < 5 * 0.5 / draws**0.5


def test_exact_law_is_private():
    """Every neighbouring pair of score vectors (each score moves by at most 1) on a small grid."""
    import itertools

    epsilon = 0.8
    for scores in itertools.product([0, 1, 2], repeat=3):
        for moves in itertools.product([-1, 0, 1], repeat=3):
            other = [q + m for q, m in zip(scores, moves, strict=True)]
            ratio = flip_law(scores, epsilon, 1) / flip_law(other, epsilon, 1)
            assert np.log(ratio).max() <= epsilon + 1e-9


@pytest.mark.parametrize(
    "bad",
    [{"epsilon": 0}, {"epsilon": math.nan}, {"sensitivity": -1}, {"scores": []}, {"scores": [math.inf]}],
)
def test_bad_input(bad):
    arguments = {"scores": [1.0], "sensitivity": 1.0, "epsilon": 1.0, "source": SeededSource(1)} | bad
    with pytest.raises(InvalidInput, match=next(iter(bad))):
        noisy_max(arguments.pop("scores"), **arguments)
