"""The solver stops where its duality gap is what the sensitivity allows, and not where rounding hides it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tacita.learn.functions.expansion import Space
from tacita.learn.functions.features import Features
from tacita.learn.functions.kernel import Kernel
from tacita.learn.functions.sensitivity import gap_allowed
from tacita.learn.functions.svm import _gap, _solve

KERNEL = Kernel(bias=True)


def exact_gap(matrix, signs, alpha, c):
    """Primal minus dual in whole ratios."""
    k = [[Fraction(x) for x in row] for row in matrix]
    a, y = [Fraction(x) for x in alpha], [Fraction(x) for x in signs]
    f = [sum(a[j] * y[j] * k[i][j] for j in range(len(a))) for i in range(len(a))]
    square = sum(a[i] * y[i] * f[i] for i in range(len(a)))
    return square + Fraction(c) * sum(max(Fraction(0), 1 - y[i] * f[i]) for i in range(len(a))) - sum(a)


def problem(rows=40, seed=0):
    rng = np.random.default_rng(seed)
    points = rng.random((rows, 2))
    return points, np.where(points[:, 0] + 0.3 * rng.standard_normal(rows) > 0.5, 1.0, -1.0)


@pytest.mark.parametrize("c", [10.0, 1e-2, 2e-5, 2e-9])
@pytest.mark.parametrize("form", ["gram", "features", "points"])
def test_the_gap_is_allowed_however_small_c_is(c, form):
    points, signs = problem()
    features = Features(kernel=KERNEL, dimensions=2, count=32, seed=1) if form == "features" else None
    space = Space(kernel=KERNEL, features=features)
    matrix = features(points) if features is not None else space.gram(points, points)
    alpha = _solve(points, None if form == "points" else matrix, signs, c, space)
    gram = matrix @ matrix.T if form == "features" else matrix
    assert exact_gap(gram, signs, alpha, c) <= Fraction(gap_allowed(c, space.height)) * Fraction(1001, 1000)


def test_the_gap_is_seen_where_a_difference_of_sums_would_hide_it():
    """All rows but one at their bound: primal and dual are near c n, and their difference is near c^2."""
    points, signs = problem(30)
    space, c = Space(kernel=KERNEL, features=None), 2e-9
    matrix = space.gram(points, points)
    alpha = np.full(30, c)
    alpha[3] = c * (1 - 1e-6)
    true = float(exact_gap(matrix, signs, alpha, c))
    found = _gap(signs, alpha, matrix @ (alpha * signs), c)
    assert found == pytest.approx(true, rel=1e-6)
    assert true > gap_allowed(c, space.height)
