"""Refits on neighbours never move further than is stated, however the neighbours are chosen; and nearly as far."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from tacita.learn.functions.density import fit_density
from tacita.learn.functions.expansion import Fitted, Space
from tacita.learn.functions.features import Features
from tacita.learn.functions.gaussian_process import fit_mean
from tacita.learn.functions.kernel import KERNELS, Kernel
from tacita.learn.functions.svm import fit_machine
from tacita.privacy.unit import Neighbours, Unit

ROW = Unit.row()
ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE


def space_of(form: str, *, bandwidth: float = 0.2, bias: bool = False, name: str = "gaussian") -> Space:
    kernel = Kernel(name=name, bandwidth=bandwidth, bias=bias)
    return Space(
        kernel=kernel, features=Features(kernel=kernel, dimensions=2, count=32) if form == "features" else None
    )


def distance(space: Space, one: Fitted, other: Fitted) -> float:
    """Between functions, in the space of the kernel; all outputs together."""
    if space.features is not None:
        return float(np.linalg.norm(one.weights - other.weights))
    centres = np.concatenate([one.centres, other.centres])
    weights = np.concatenate([one.weights, -other.weights])
    return math.sqrt(max(0.0, float(np.einsum("ij,ik,kj->", weights, space.gram(centres, centres), weights))))


def climb(score: Callable[[np.ndarray], float], start: np.ndarray, rng: np.random.Generator, steps: int) -> float:
    """The highest that a search finds: an adversary who sees everything."""
    best, at = score(start), start
    for step in range(steps):
        size = 0.5 ** (1 + 6 * step / steps)
        move = rng.random(at.shape) < 0.4
        found = np.clip(at + move * rng.normal(0, size, at.shape), 0, 1)
        if (value := score(found)) > best:
            best, at = value, found
    return best


@pytest.mark.parametrize("form", ["path", "features"])
@pytest.mark.parametrize("neighbours", [ADD, REPLACE])
def test_density(form, neighbours) -> None:
    space, rng = space_of(form), np.random.default_rng(2)

    def fitted(points):
        return fit_density(points, space=space, divisor=9, volume=1, unit=ROW, neighbours=neighbours)

    def score(points):
        other = points[1:-1] if neighbours is ADD else np.concatenate([points[-1:], points[1:-1]])
        return distance(space, fitted(points[:-1]), fitted(other))

    found = max(climb(score, rng.random((9, 2)), rng, 150) for _ in range(4))
    bound = fitted(rng.random((3, 2))).sensitivity
    assert 0.8 * bound < found <= bound * (1 + 1e-12)


def test_features_need_more_than_the_root_of_two() -> None:
    """Their kernel may be negative: with the bound of a positive one, neighbours would be further apart than stated."""
    space, rng = space_of("features", bandwidth=0.1), np.random.default_rng(5)
    columns = space.features(rng.random((400, 2)))
    furthest = max(float(np.linalg.norm(columns - column, axis=1).max()) for column in columns)
    assert math.sqrt(2) < furthest <= 2


@pytest.mark.parametrize("form", ["path", "features"])
def test_gaussian_process(form) -> None:
    space, rng = space_of(form), np.random.default_rng(3)

    def fitted(points, responses):
        return fit_mean(points, responses, space=space, noise=0.2, ends=(-3.0, 5.0), unit=ROW)

    worst = 0.0
    for _ in range(6):
        points = rng.random((12, 2)) * rng.choice([0.05, 1.0])  # also all in a heap
        y = rng.uniform(-3, 5, 12)
        bound = fitted(points, y).sensitivity
        for place in range(12):
            for low, high in ((-3.0, 5.0), (np.nan, 5.0), (-100.0, 100.0)):
                one, other = y.copy(), y.copy()
                one[place], other[place] = low, high
                ratio = distance(space, fitted(points, one), fitted(points, other)) / bound
                worst = max(worst, ratio)
    assert 0.999 < worst <= 1 + 1e-9


@pytest.mark.parametrize("form", ["path", "features"])
@pytest.mark.parametrize("neighbours", [ADD, REPLACE])
@pytest.mark.parametrize("classes", [2, 3])
def test_kernel_machine(form, neighbours, classes) -> None:
    space, rng = space_of(form, bias=True), np.random.default_rng(4)
    c = 0.05

    def fitted(rows):
        codes = np.minimum((rows[:, 2] * classes).astype(np.int64), classes - 1)
        return fit_machine(
            rows[:, :2], codes, classes=classes, space=space, c=c, most=100, unit=ROW, neighbours=neighbours
        )

    def score(rows):
        other = rows[1:-1] if neighbours is ADD else np.concatenate([rows[-1:], rows[1:-1]])
        return distance(space, fitted(rows[:-1]), fitted(other))

    found = max(climb(score, rng.random((7, 3)), rng, 60) for _ in range(3))
    bound = fitted(rng.random((3, 3))).sensitivity
    assert 0.6 * bound < found <= bound


def test_the_machine_of_the_bound_is_the_one_of_the_sum() -> None:
    """2 C / n would be broken by the objective with C times the sum: nearly by a factor of n."""
    space, n, c = space_of("path", bias=True), 20, 0.01
    points = np.full((n, 2), 0.5)
    codes = np.zeros(n, np.int64)
    one = fit_machine(points, codes, classes=2, space=space, c=c, most=100, unit=ROW, neighbours=REPLACE)
    codes[0] = 1
    other = fit_machine(points, codes, classes=2, space=space, c=c, most=100, unit=ROW, neighbours=REPLACE)
    moved = distance(space, one, other)
    assert 2 * c * math.sqrt(2) / n < moved <= one.sensitivity
    assert moved == pytest.approx(2 * c * math.sqrt(2), rel=0.02)


@pytest.mark.parametrize("name", KERNELS)
def test_persons_with_several_rows(name) -> None:
    space, rng = space_of("path", name=name), np.random.default_rng(6)
    unit = Unit.of_person("who", max_rows=3)
    points = rng.random((5, 2))
    one, other = (
        fit_density(
            np.concatenate([points, np.full((3, 2), end)]),
            space=space,
            divisor=1,
            volume=1,
            unit=unit,
            neighbours=REPLACE,
        )
        for end in (0.0, 1.0)
    )
    assert 0.9 * one.sensitivity < distance(space, one, other) <= one.sensitivity * (1 + 1e-12)
