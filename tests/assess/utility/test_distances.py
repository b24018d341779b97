import math

import numpy as np
import pytest
from scipy.spatial import distance
from scipy.stats import entropy, wasserstein_distance

from tacita.assess.utility.distances import hellinger, js, kl, variation, wasserstein
from tacita.errors import InvalidInput


def test_they_are_what_others_call_so():
    rng = np.random.default_rng(1)
    for size in (2, 7, 40):
        p, q = rng.random(size), rng.random(size)
        a, b = p / p.sum(), q / q.sum()
        assert variation(p, q) == pytest.approx(np.abs(a - b).sum() / 2)
        assert js(p, q) == pytest.approx(distance.jensenshannon(a, b, base=2) ** 2)
        assert kl(p, q, 0.0) == pytest.approx(entropy(a, b))
        assert hellinger(p, q) == pytest.approx(np.linalg.norm(np.sqrt(a) - np.sqrt(b)) / math.sqrt(2))
        levels = np.arange(size) / (size - 1)
        assert wasserstein(p, q) == pytest.approx(wasserstein_distance(levels, levels, a, b))


def test_ends():
    for measure in (variation, hellinger, js, wasserstein):
        assert measure([1, 0, 0], [1, 0, 0]) == 0
        assert measure([1, 0, 0], [0, 0, 1]) == pytest.approx(1)
    assert kl([1, 1], [1, 0], 0.0) == math.inf
    assert kl([1, 1], [1, 0], 0.01) == pytest.approx(0.5 * math.log(0.5 / 0.995) + 0.5 * math.log(0.5 / 0.005))
    assert wasserstein([3], [5]) == 0


def test_bad_input():
    for one, other in (([1], [1, 2]), ([], []), ([0, 0], [1, 1]), ([-1, 2], [1, 1]), ([np.nan, 1], [1, 1])):
        with pytest.raises(InvalidInput):
            variation(one, other)
    with pytest.raises(InvalidInput):
        kl([1, 1], [1, 1], 1.0)
