"""Words of a verdict."""

import math

import numpy as np

from tacita.assess.audit import audit, judge


def response(epsilon, size=4):
    """k-ary randomized response, as a mechanism."""
    truth = math.exp(epsilon) / (math.exp(epsilon) + size - 1)

    def run(value, times, rng):
        others = (value + rng.integers(1, size, times)) % size
        return np.where(rng.random(times) < truth, value, others)

    return run


def test_the_verdict():
    assert judge("x", 1.0, exact=1.0).word == "consistent"
    assert judge("x", 1.0, exact=1.1).word == "breach"
    assert judge("x", 1.0, exact=math.inf).as_dict()["exact"] == "infinite"
    found = audit(response(1.0), 0, 1, trials=10_000, rng=np.random.default_rng(9))
    verdict = judge("x", 2.0, exact=1.0, audited=found)
    assert verdict.reached == found.epsilon
    assert judge("x", math.inf, audited=found).word == "consistent"
