"""Averaging, solving, intersecting: what several releases give away together."""

import numpy as np
import pytest

from tacita.assess.attacks.intersection import intersect
from tacita.assess.attacks.reconstruction import average_releases, solve_subsets
from tacita.errors import InvalidInput


def test_fresh_noise_averages_out():
    rng = np.random.default_rng(1)
    truth = rng.poisson(8, 300)
    noisy = [truth + rng.laplace(scale=2, size=300) for _ in range(200)]
    few, many = average_releases(truth, noisy[:1]), average_releases(truth, noisy)
    assert many.right.share > 0.95
    assert few.right.share < 0.4
    assert many.blind.share < 0.3
    same = average_releases(truth, noisy[:1] * 200)  # the same answer again and again gives nothing more
    assert same.right.share == few.right.share


def test_many_subsets_give_everybody_away():
    rng = np.random.default_rng(2)
    secret = (rng.random(100) < 0.3).astype(int)
    subsets = rng.random((800, 100)) < 0.5
    little = solve_subsets(secret, subsets, subsets @ secret + rng.normal(scale=1, size=800))
    much = solve_subsets(secret, subsets, subsets @ secret + rng.normal(scale=60, size=800))
    assert little.right.share > 0.97
    assert much.right.share < 0.85
    assert little.blind.share == pytest.approx(1 - secret.mean())


def test_releases_laid_over_each_other():
    """Two 2-anonymous releases: in each there are two values, in both together there is one."""
    classes = [[0, 0, 1, 1, 2, 2], [0, 1, 0, 2, 1, 2]]
    sensitive = [0, 1, 2, 0, 1, 2]
    found = intersect(classes, sensitive)
    # by hand: values of both classes of each person
    left = []
    for person in range(6):
        sets = [{sensitive[other] for other in range(6) if side[other] == side[person]} for side in classes]
        left.append(set.intersection(*sets))
    assert found.certain.successes == sum(len(each) == 1 for each in left) > 0
    assert found.alone.successes == 2  # persons 1 and 4 share a class, and their value, in the second release
    assert found.candidates[1] == pytest.approx(np.mean([len(each) for each in left]))


def test_who_was_suppressed_loses_nothing_in_that_release():
    found = intersect([[-1, -1, 0, 0], [0, 0, 1, 1]], [0, 1, 0, 1])
    assert found.certain.successes == 0
    assert found.candidates == (2.0, 2.0)


def test_bad_input():
    for call in (
        lambda: average_releases([1, 2], []),
        lambda: average_releases([1, 2], [[1]]),
        lambda: solve_subsets([0, 2], [[1, 1]], [1]),
        lambda: solve_subsets([0, 1], [[1, 1, 1]], [1]),
        lambda: intersect([[0, 0]], [0, 1]),
        lambda: intersect([[0, 0], [0]], [0, 1]),
    ):
        with pytest.raises(InvalidInput):
            call()
