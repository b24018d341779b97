"""Draws from densities on the simplex against their known moments."""

import numpy as np
import pytest

from tacita.assess.decisions.walk import Density, walk


def dirichlet(alpha):
    alpha = np.asarray(alpha, dtype=float)
    total = alpha.sum()
    mean = alpha / total
    covariance = (np.diag(mean) - np.outer(mean, mean)) / (total + 1)
    density = Density(
        matrix=np.eye(alpha.size),
        offset=np.zeros(alpha.size),
        log=lambda x: np.log(np.maximum(x, 1e-300)) @ (alpha - 1),
        centre=mean,
        root=np.linalg.cholesky(covariance + 1e-12 * np.eye(alpha.size)).T,
    )
    return density, mean, covariance


@pytest.mark.parametrize("alpha", [[1, 1], [1, 1, 1, 1], [30, 3, 1, 200], [500, 20, 20, 20, 3, 1]])
def test_moments_of_a_dirichlet_law(alpha):
    density, mean, covariance = dirichlet(alpha)
    draws = walk(density, 20_000, np.random.default_rng(1))
    np.testing.assert_allclose(draws.sum(axis=1), 1, atol=1e-9)
    assert (draws >= 0).all()
    error = np.sqrt(np.diag(covariance) / len(draws))
    assert (np.abs(draws.mean(axis=0) - mean) < 5 * error).all()
    np.testing.assert_allclose(draws.var(axis=0), np.diag(covariance), rtol=0.08)


def test_too_few_steps_would_be_noticed():
    """From a start that is far off, one step is not enough and the default is."""
    density, mean, _ = dirichlet([2, 2, 60, 60])
    far = Density(
        matrix=density.matrix,
        offset=density.offset,
        log=density.log,
        centre=np.array([1.0, 0, 0, 0]),
        root=density.root,
    )
    one = walk(far, 4000, np.random.default_rng(2), steps=1).mean(axis=0)
    many = walk(far, 4000, np.random.default_rng(2)).mean(axis=0)
    assert abs(one[0] - mean[0]) > 0.2
    assert abs(many[0] - mean[0]) < 0.003
