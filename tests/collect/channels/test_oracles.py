"""The choice of an oracle: by predicted variance, and the prediction comes true."""

import numpy as np
import pytest

from tacita.collect.channels.oracles import best_oracle, choose_oracle, oracle_candidates
from tacita.collect.channels.protocol import Channel
from tacita.errors import InvalidInput
from tacita.testing.channel import error_over_theory


@pytest.mark.parametrize(("levels", "epsilon"), [(2, 0.1), (2, 8.0), (12, 1.0), (100, 2.0), (1000, 1.0), (5000, 6.0)])
def test_the_choice_is_near_the_least_variance_and_says_why(levels, epsilon):
    choice = choose_oracle(levels, epsilon, 1000)
    least = min(one.variance for one in choice.candidates)
    assert least <= choice.best.variance <= 1.03 * least
    assert choice.best.name in choice.why
    assert choose_oracle(levels, epsilon, 1000, tolerance=0).best.variance == least
    for one in choice.candidates:
        assert isinstance(one.channel, Channel)
        assert one.channel.levels == levels
        assert one.channel.epsilon_upper <= epsilon


def test_known_cases():
    names = {(k, e): choose_oracle(k, e, 10**6).best.name for k in (3, 1000) for e in (0.1, 1.0, 4.0)}
    assert names[3, 4.0] == "randomized response"
    assert names[1000, 1.0] == names[1000, 4.0] == "optimised local hashing"
    # at a small epsilon one bit is all there is to tell, and Hadamard tells it in the shortest way
    assert names[1000, 0.1] == "Hadamard response"


def test_randomized_response_gives_way_where_the_literature_says():
    # k < 3 e^eps + 2 against unary encoding
    for levels, first in ((9, "randomized response"), (12, "optimised unary encoding")):
        found = [one.name for one in oracle_candidates(levels, 1.0, 10)]
        both = [name for name in found if name in ("randomized response", "optimised unary encoding")]
        assert both[0] == first


def test_variance_falls_with_respondents_and_is_kept():
    one, many = best_oracle(50, 1.0, 100), oracle_candidates(50, 1.0, 10_000)
    assert one.levels == 50
    assert many[0].variance == pytest.approx(oracle_candidates(50, 1.0, 100)[0].variance / 100)
    for candidate in many:
        assert 0.9 < error_over_theory(candidate.channel, people=3000, runs=60) < 1.1, candidate.name


@pytest.mark.parametrize(
    ("arguments", "field"),
    [((1, 1.0, 10), "levels"), ((5, 0.0, 10), "epsilon"), ((5, 1.0, 0), "respondents"), ((5, np.inf, 10), "epsilon")],
)
def test_bad_requests_are_named(arguments, field):
    with pytest.raises(InvalidInput) as caught:
        best_oracle(*arguments)
    assert caught.value.field == field


def test_an_epsilon_beyond_one_oracle_leaves_the_others():
    names = [one.name for one in oracle_candidates(4, 20.0, 10)]
    assert "optimised local hashing" not in names
    assert "randomized response" in names
