import math

import numpy as np
import pytest
from scipy import integrate
from tests.assess.decisions.released import counted

from tacita.assess.decisions.paper import WRONG, paper_flip
from tacita.errors import InvalidInput
from tacita.noise import DiscreteGaussian, DiscreteLaplace


def test_the_published_integral_is_computed_as_published_and_is_no_probability():
    release = counted([560, 440, 440, 560], DiscreteLaplace.at_least(20))
    found = paper_flip(release, rng=np.random.default_rng(1))

    def density(x):
        return 0.1 / 4 * math.exp(-0.1 * abs(x) / 2)

    for count, term in zip((560, 440), found.cells[:2], strict=True):
        crossing = count * (1 - math.exp(-3.841458820694124 / (2 * count)))  # 2 w ln(w / (w - x)) = 3.84
        reach = 9 * math.sqrt(2) * 20
        by_hand = integrate.quad(density, -reach, 0)[0] + integrate.quad(density, 0, crossing)[0]
        assert term == pytest.approx(by_hand, abs=1e-3)
    assert found.value > 1  # a sum of four, which the text calls a probability
    assert found.correct.probability < 0.05
    assert found.as_dict()["valid"] is False
    assert found.wrong == WRONG


def test_chebyshev_at_nine_standard_deviations():
    assert pytest.approx(0.9515, abs=5e-5) == (1 - 1 / 81) ** 4
    exact = (1 - math.exp(-9 * math.sqrt(2))) ** 4
    assert 1 - exact == pytest.approx(1.2e-5, rel=0.02)
    assert any("95.15" in line and "91.53" in line for line in WRONG)


def test_other_tables_are_refused():
    with pytest.raises(InvalidInput, match="Laplace"):
        paper_flip(counted([5, 5, 5, 5], DiscreteGaussian.at_least(3)), rng=np.random.default_rng(1))
