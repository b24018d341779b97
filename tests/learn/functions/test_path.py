"""The law of the noise path: exactly what runs, at points that are far, near and nearly the same."""

from __future__ import annotations

import numpy as np
import pytest

from tacita.errors import Conflict
from tacita.learn.functions import path as module
from tacita.learn.functions.kernel import KERNELS, Kernel
from tacita.learn.functions.path import OWN, WIDER, Path
from tacita.noise import SecureSource, SeededSource


def covariance(monkeypatch, kernel: Kernel, points: np.ndarray, split: int | None = None) -> np.ndarray:
    """Of the noise at these points, exactly: the noise is linear in the normal numbers, so each is put in alone."""
    tape, used = np.zeros(0), 0

    def one_by_one(count: int, _source: object) -> np.ndarray:
        nonlocal used
        used += count
        return tape[used - count : used]

    monkeypatch.setattr(module, "normals", one_by_one)
    columns = []
    for place in range(2 * len(points)):
        tape, used = np.eye(2 * len(points))[place], 0
        path = Path(kernel, points.shape[1])
        cut = len(points) if split is None else split
        parts = [path.draw(part, SeededSource(0)).noise for part in (points[:cut], points[cut:]) if len(part)]
        columns.append(np.concatenate(parts)[:, 0])
    return np.array(columns).T @ np.array(columns)


def hard_points() -> np.ndarray:
    """Far, near, nearly repeated, and on a line that few points span."""
    rng = np.random.default_rng(1)
    far = rng.random((6, 2))
    near = far[:3] + 1e-4
    twice = np.concatenate([far[:3] + 2.0**-30, far[:3] - 2.0**-30])
    line = np.stack([np.linspace(0, 0.01, 25), np.full(25, 0.5)], axis=1)
    return np.concatenate([far, near, twice, line])


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("split", [None, 3, 20])
@pytest.mark.parametrize("way", [1, -1])
def test_the_covariance_that_runs_is_that_of_the_kernel_and_hardly_below(monkeypatch, name, split, way) -> None:
    kernel, points = Kernel(name=name, bandwidth=0.3), hard_points()[::way]
    found = covariance(monkeypatch, kernel, points, split)
    truth = kernel(points, points)
    assert np.abs(found - truth - OWN * np.eye(len(points))).max() < 1e-4
    assert np.linalg.eigvalsh(WIDER**2 * found - truth).min() >= 0  # which is what the claim needs


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("way", [1, -1])
def test_the_factor_is_enough_for_the_most_points(monkeypatch, name, way) -> None:
    """At the limit of the claim: so few points allowed that each may be neglected by as much as the factor bears."""
    kernel, points = Kernel(name=name, bandwidth=0.3), hard_points()[::way]
    monkeypatch.setattr(module, "_LEAST", (WIDER**2 - 1) * OWN / (2 * len(points)))
    found = covariance(monkeypatch, kernel, points)
    assert np.linalg.eigvalsh(WIDER**2 * found - kernel(points, points)).min() >= 0


def test_what_may_be_neglected_fits_the_factor() -> None:
    """For all points that may be asked, with as much again for arithmetic: see the claim."""
    assert 2 * module.MOST_POINTS * module._LEAST <= (WIDER**2 - 1) * OWN * (1 + 1e-12)


def test_without_noise_of_their_own_nearly_repeated_points_would_leak(monkeypatch) -> None:
    """The test above can fail: what is neglected is not covered by anything then."""
    monkeypatch.setattr(module, "OWN", 0.0)
    monkeypatch.setattr(module, "_LEAST", 1e-4)
    kernel, points = Kernel(bandwidth=0.3), hard_points()
    found = covariance(monkeypatch, kernel, points)
    assert np.linalg.eigvalsh(WIDER**2 * found - kernel(points, points)).min() < 0


def test_the_order_does_not_matter(monkeypatch) -> None:
    points = hard_points()
    order = np.random.default_rng(3).permutation(len(points))
    kernel = Kernel(bandwidth=0.2)
    one, other = covariance(monkeypatch, kernel, points), covariance(monkeypatch, kernel, points[order])
    assert np.abs(one[np.ix_(order, order)] - other).max() < 1e-4


def test_answers_in_two_orders_have_one_law() -> None:
    """With the numbers that are drawn: all second moments, over many paths."""
    points = np.array([[0.1], [0.15], [0.1501], [0.9]])
    kernel = Kernel(bandwidth=0.1)
    source, trials = SeededSource(11), 2000
    sums = []
    for order in ([0, 1, 2, 3], [3, 2, 0, 1]):
        draws = np.empty((trials, 4))
        for trial in range(trials):
            path = Path(kernel, 1)
            draws[trial, order] = np.concatenate([path.draw(points[[at]], source).noise[:, 0] for at in order])
        sums.append(draws.T @ draws / trials)
    truth = kernel(points, points) + OWN * np.eye(4)
    spread = 5 * np.sqrt(2 / trials)
    assert np.abs(sums[0] - truth).max() < spread
    assert np.abs(sums[1] - truth).max() < spread


def test_independent_noise_at_each_point_would_be_seen() -> None:
    """The trap: with fresh noise there is no covariance, and near points average it away."""
    points = np.array([[0.1], [0.1001]])
    path_of = [Path(Kernel(bandwidth=0.1), 1) for _ in range(2000)]
    source = SeededSource(12)
    apart = np.array([np.diff(path.draw(points, source).noise[:, 0])[0] for path in path_of])
    assert apart.std() < 0.3  # not sqrt(2)


def test_smooth_noise_is_known_from_few_points() -> None:
    path, rng = Path(Kernel(bandwidth=0.2), 1), np.random.default_rng(4)
    for _ in range(10):
        path.draw(rng.random((100, 1)), SecureSource())
    assert path.kept < 40


def test_what_others_drew_is_taken_up() -> None:
    """Two processes: the second goes on from what the first has kept, and knows the path where it was asked."""
    rng = np.random.default_rng(5)
    points = rng.random((700, 3))  # more than a block
    first, second = Path(Kernel(bandwidth=0.5), 3, 2), Path(Kernel(bandwidth=0.5), 3, 2)
    drawn = first.draw(points, SecureSource())
    second.remember(points[drawn.kept], drawn.hidden)
    assert second.kept == first.kept
    near = points[:50] + 2.0**-30
    apart = second.draw(near, SecureSource()).noise - drawn.noise[:50]
    assert np.abs(apart).max() < 10 * np.sqrt(OWN)


def test_what_was_not_written_down_is_forgotten() -> None:
    rng = np.random.default_rng(6)
    points = rng.random((600, 4))
    path = Path(Kernel(name="matern12", bandwidth=0.5), 4)
    path.draw(points[:300], SeededSource(1))
    path.draw(points[300:], SeededSource(2))
    path.forget(300)
    again = path.draw(points[300:], SeededSource(3)).noise
    other = Path(Kernel(name="matern12", bandwidth=0.5), 4)
    other.draw(points[:300], SeededSource(1))
    assert again == pytest.approx(other.draw(points[300:], SeededSource(3)).noise)


def test_it_keeps_only_so_much(monkeypatch) -> None:
    monkeypatch.setattr(module, "MOST_KEPT", 5)
    path = Path(Kernel(name="matern12", bandwidth=0.1), 1)
    with pytest.raises(Conflict, match="random features"):
        path.draw(np.random.default_rng(7).random((6, 1)), SecureSource())
