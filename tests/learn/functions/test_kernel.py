"""Kernels, their integrals and the features that stand for them."""

import numpy as np
import pytest

from tacita.errors import InvalidInput, UnknownName
from tacita.learn.functions.features import Features
from tacita.learn.functions.kernel import KERNELS, Kernel


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_is_a_kernel(name) -> None:
    points = np.random.default_rng(1).random((60, 3))
    matrix = Kernel(name=name, bandwidth=0.5)(points, points)
    assert np.diag(matrix) == pytest.approx(1)
    assert matrix.min() >= 0
    assert np.linalg.eigvalsh(matrix).min() > -1e-12


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("dimensions", [1, 2])
def test_the_integral(name, dimensions) -> None:
    line = np.linspace(-4, 4, 1601)
    grid = np.stack(np.meshgrid(*[line] * dimensions, indexing="ij"), axis=-1).reshape(-1, dimensions)
    kernel = Kernel(name=name, bandwidth=0.3)
    added = kernel(np.zeros((1, dimensions)), grid).sum() * (line[1] - line[0]) ** dimensions
    assert kernel.integral(dimensions) == pytest.approx(added, rel=1e-3)


def test_a_smooth_kernel_by_hand() -> None:
    value = Kernel(bandwidth=0.5)(np.array([[0.0, 0.0]]), np.array([[0.3, 0.4]]))[0, 0]
    assert value == pytest.approx(np.exp(-0.5))
    assert Kernel(bandwidth=0.5, bias=True)(np.zeros((1, 2)), np.zeros((1, 2)))[0, 0] == 2


@pytest.mark.parametrize("name", KERNELS)
def test_features_stand_for_the_kernel(name) -> None:
    points = np.random.default_rng(2).random((30, 2))
    kernel = Kernel(name=name, bandwidth=0.4, bias=True)
    features = Features(kernel=kernel, dimensions=2, count=4096)
    columns = features(points)
    assert columns.shape == (30, features.size)
    assert np.sum(columns**2, axis=1) == pytest.approx(2)  # exactly of the length that sensitivities are stated for
    assert np.abs(columns @ columns.T - kernel(points, points)).max() < 0.08


def test_the_seed_is_all_there_is_to_features() -> None:
    one, same, other = (Features(kernel=Kernel(), dimensions=2, count=8, seed=seed) for seed in (1, 1, 2))
    assert (one.frequencies == same.frequencies).all()
    assert (one.frequencies != other.frequencies).all()


def test_bad_input() -> None:
    with pytest.raises(UnknownName, match="gaussian"):
        Kernel(name="gausian")
    with pytest.raises(InvalidInput, match="bandwidth"):
        Kernel(bandwidth=float("nan"))
    with pytest.raises(InvalidInput, match="features"):
        Features(kernel=Kernel(), dimensions=1, count=0)
