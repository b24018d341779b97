"""Exact figures of finite mechanisms, against their formulas."""

import math

import numpy as np
import pytest

from tacita.assess.audit import exact_delta, exact_epsilon, matrix_epsilon


def test_exact_figures():
    assert exact_epsilon([0.75, 0.25], [0.25, 0.75]) == pytest.approx(math.log(3))
    assert exact_epsilon([0.5, 0.5, 0.0], [0.5, 0.4, 0.1]) == math.inf
    assert exact_epsilon([0.5, 0.5, 0.0], [0.5, 0.4, 0.1], delta=0.1) == pytest.approx(0, abs=1e-9)
    assert exact_epsilon([0.3, 0.7], [0.3, 0.7]) == 0
    p, q = np.array([0.6, 0.3, 0.1]), np.array([0.1, 0.3, 0.6])
    for delta in (0.01, 0.1, 0.3):
        epsilon = exact_epsilon(p, q, delta)
        assert exact_delta(p, q, epsilon) == pytest.approx(delta, abs=1e-9)
    # geometric noise, cut far out: epsilon is that of its ratio
    k = np.arange(-200, 202)
    law = 0.4 ** np.abs(k)
    assert exact_epsilon(law / law.sum(), np.roll(law, 1) / law.sum()) > 0
    assert matrix_epsilon([[0.7, 0.2, 0.1], [0.1, 0.7, 0.2], [0.2, 0.1, 0.7]]) == pytest.approx(math.log(7))
    assert matrix_epsilon([[1.0, 0.0], [0.5, 0.5]]) == math.inf
    assert matrix_epsilon([[0.9, 0.1], [0.1, 0.9]], delta=0.8) == 0
