"""MDAV against a plain program, the univariate optimum against all partitions."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from tacita.anonymize.kernels.microaggregate import mdav_groups, optimal_groups


def slow_mdav(points: list[tuple[float, ...]], k: int) -> list[int]:
    """MDAV as it is written in the paper, on lists; ties go to the first."""

    def away(a: tuple[float, ...], b: tuple[float, ...]) -> float:
        return sum((x - y) ** 2 for x, y in zip(a, b, strict=True))

    def furthest(left: list[int], centre: tuple[float, ...]) -> int:
        return max(left, key=lambda i: (away(points[i], centre), -i))

    def take(left: list[int], centre: tuple[float, ...]) -> list[int]:
        near = sorted(left, key=lambda i: (away(points[i], centre), i))[:k]
        for i in near:
            groups[i] = number
        return [i for i in left if i not in near]

    groups, left, number = [-1] * len(points), list(range(len(points))), 0
    while len(left) >= 2 * k:
        size = len(left)
        centre = tuple(sum(points[i][j] for i in left) / size for j in range(len(points[0])))
        far = points[furthest(left, centre)]
        left = take(left, far)
        number += 1
        if size >= 3 * k:
            left = take(left, points[furthest(left, far)])
            number += 1
    for i in left:
        groups[i] = number
    return groups


@pytest.mark.parametrize("seed", range(25))
def test_mdav_is_the_plain_program(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 6))
    n, d = int(rng.integers(k, 60)), int(rng.integers(1, 4))
    # whole numbers make sums exact, so that ties are ties for both; few of them make many ties
    points = rng.integers(0, int(rng.choice([3, 1000])), (n, d)).astype(np.float64)
    found = mdav_groups(points, k)
    assert found.tolist() == slow_mdav([tuple(row) for row in points.tolist()], k)
    sizes = np.bincount(found)
    assert k <= sizes.min()
    assert sizes.max() <= 2 * k - 1


def test_equal_points_are_grouped() -> None:
    sizes = np.bincount(mdav_groups(np.ones((23, 3)), 5))
    assert sizes.sum() == 23
    assert sizes.min() >= 5
    assert sizes.max() <= 9


def partitions(n: int, k: int) -> Iterator[list[int]]:
    """All ways to put n things into groups of at least k."""
    for assignment in itertools.product(range(n // k), repeat=n):
        counts = np.bincount(assignment)
        if counts[counts > 0].min() >= k:
            yield list(assignment)


def squares(values: np.ndarray, groups: np.ndarray) -> float:
    return float(sum(((values[groups == g] - values[groups == g].mean()) ** 2).sum() for g in np.unique(groups)))


@pytest.mark.parametrize(("n", "k"), [(3, 2), (6, 2), (7, 2), (8, 3), (9, 4), (5, 5), (7, 3)])
def test_the_optimum_is_the_best_of_all_partitions(n: int, k: int) -> None:
    """Every partition is tried, also those whose groups are not consecutive or larger than 2k - 1."""
    every = [np.array(each) for each in partitions(n, k)]
    for seed in range(3):
        values = np.sort(np.random.default_rng(seed).normal(size=n) ** 3)
        found = optimal_groups(values - values.mean(), k)
        assert np.bincount(found).min() >= k
        assert squares(values, found) == pytest.approx(min(squares(values, each) for each in every), abs=1e-12)


@pytest.mark.parametrize(("n", "k"), [(40, 3), (101, 7), (64, 32)])
def test_the_optimum_is_no_worse_than_mdav(n: int, k: int) -> None:
    values = np.sort(np.random.default_rng(n).lognormal(size=n))
    best, mdav = optimal_groups(values, k), mdav_groups(values[:, None], k)
    assert squares(values, best) <= squares(values, mdav) + 1e-9
    sizes = np.bincount(best)
    assert k <= sizes.min()
    assert sizes.max() <= 2 * k - 1
    assert (np.diff(best) >= 0).all()
