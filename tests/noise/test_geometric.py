import itertools
import math

import numpy as np
import pytest

from tacita.errors import InvalidInput
from tacita.noise import SecureSource, SeededSource
from tacita.noise.geometric import truncated_geometric


def law(value, scale, low, high):
    q = math.exp(-1 / scale)
    wide = np.arange(-400, 401)
    p = (1 - q) / (1 + q) * q ** np.abs(wide)
    out = np.clip(value + wide, low, high) - low
    return np.bincount(out, weights=p, minlength=high - low + 1)


@pytest.mark.parametrize("source", [SecureSource(), SeededSource(2)], ids=["opendp", "simulated"])
def test_law(source):
    draws = [truncated_geometric(1, scale=1.5, low=0, high=4, source=source) for _ in range(4000)]
    seen = np.bincount(draws, minlength=5) / 4000
    assert np.abs(seen - law(1, 1.5, 0, 4)).max() < 5 * 0.5 / 4000**0.5


def test_exact_law_is_private():
    laws = [law(value, 1.5, 0, 4) for value in range(5)]
    steps = [np.log(a / b).max() for a, b in itertools.pairwise(laws)]
    assert max(steps) == pytest.approx(1 / 1.5, abs=1e-9)


def test_bounds_must_rise():
    with pytest.raises(InvalidInput, match="bounds"):
        truncated_geometric(1, scale=1.0, low=3, high=3, source=SeededSource(1))
