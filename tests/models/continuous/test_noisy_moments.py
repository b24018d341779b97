"""Released moments: the noise of figures against many draws, positive matrices, and a score that counts noise."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from tacita.errors import InvalidInput
from tacita.models.continuous import GaussianBIC, Moments, NoisyBIC, NoisyMoments
from tacita.models.search import Search, total_score

ENDS = np.array([[-8.0, 12.0], [0.0, 5.0], [-100.0, 50.0]])


def exact_matrix(rows=4000, seed=1):
    rng = np.random.default_rng(seed)
    z = rng.multivariate_normal([0.1, -0.2, 0.0], [[0.06, 0.03, 0.01], [0.03, 0.08, 0.03], [0.01, 0.03, 0.05]], rows)
    longer = np.column_stack([np.ones(rows), z])
    columns = dict(zip("abc", (ENDS.mean(axis=1) + z * (ENDS[:, 1] - ENDS[:, 0]) / 2).T, strict=True))
    return longer.T @ longer, columns


def with_noise(matrix, std, rng):
    upper = np.triu(rng.normal(0, std, matrix.shape))
    return NoisyMoments(names=tuple("abc"), matrix=matrix + upper + np.triu(upper, 1).T, std=std, ends=ENDS)


def test_without_noise_they_are_the_moments_of_the_rows():
    matrix, columns = exact_matrix()
    found = NoisyMoments(names=tuple("abc"), matrix=matrix, std=0.0, ends=ENDS).moments
    expected = Moments.of(columns)
    assert found.count == 4000
    assert found.mean == pytest.approx(expected.mean)
    assert found.covariance == pytest.approx(expected.covariance, rel=1e-6)
    score, plain = (
        NoisyBIC(noisy=NoisyMoments(names=tuple("abc"), matrix=matrix, std=0.0, ends=ENDS)),
        GaussianBIC(moments=expected),
    )
    assert score("a", ("b", "c")) == pytest.approx(plain("a", ("b", "c")))
    assert score.inflation == 1.0


def test_the_noise_of_products_correlations_and_coefficients_is_as_stated():
    matrix, columns = exact_matrix()
    rng, std, runs = np.random.default_rng(2), 4.0, 3000
    u, w = np.array([0.3, 1.0, -0.5, 0.0]), np.array([-0.2, 0.4, 0.7, 1.0])
    products, partial, weights = [], [], []
    for _ in range(runs):
        noisy = with_noise(matrix, std, rng)
        products.append(u @ (noisy.matrix - matrix) @ w)
        partial.append(noisy.moments.partial_correlation("a", "c", ("b",)))
        weights.append(noisy.moments.weights("c", ("a", "b"))[0])
    noisy = NoisyMoments(names=tuple("abc"), matrix=matrix, std=std, ends=ENDS)
    expected = Moments.of(columns)
    close = 6 / math.sqrt(2 * runs)
    assert np.std(products) == pytest.approx(noisy.product_std(u, w), rel=close)
    assert np.std(weights) == pytest.approx(noisy.coefficient_std("a", "c", ("b",)), rel=close + 0.02)
    assert np.mean(weights) == pytest.approx(expected.weights("c", ("a", "b"))[0], abs=6 * np.std(weights) / 50)
    # of a pair without a dependence: here it is small
    assert np.var(partial) == pytest.approx(noisy.link_noise("a", "c", ("b",)), rel=2 * close + 0.05)


@pytest.mark.parametrize("std", [0.0, 1.0, 30.0, 1e3, 1e6])
def test_moments_are_such_as_rows_can_have(std):
    matrix, _ = exact_matrix(200)
    for seed in range(20):
        noisy = with_noise(matrix, std, np.random.default_rng(seed))
        found = noisy.moments
        assert np.linalg.eigvalsh(found.correlation)[0] > 0
        assert found.count >= 3
        assert (np.diag(noisy.scaled.covariance) > 0).all()
        score = NoisyBIC(noisy=noisy)
        assert all(math.isfinite(score(name, tuple(o for o in "abc" if o != name))) for name in "abc")
        assert 0 <= score.test("a", "b", ("c",)) <= 1


def test_p_values_count_the_noise():
    rng, found = np.random.default_rng(5), []
    for _ in range(400):
        z = rng.normal(0, 0.3, (500, 3))
        longer = np.column_stack([np.ones(500), z])
        found.append(NoisyBIC(noisy=with_noise(longer.T @ longer, 5.0, rng)).test("a", "b", ("c",)))
    assert stats.kstest(found, "uniform").pvalue > 1e-4


def test_links_of_noise_alone_are_not_added_and_strong_ones_are():
    rng, wrong, without = np.random.default_rng(6), 0, 0
    for _ in range(40):
        z = rng.normal(0, 0.3, (2000, 3))
        longer = np.column_stack([np.ones(2000), z])
        noisy = with_noise(longer.T @ longer, 40.0, rng)
        wrong += sum(map(len, Search().run("abc", NoisyBIC(noisy=noisy)).values()))
        without += sum(map(len, Search().run("abc", GaussianBIC(moments=noisy.moments)).values()))
    assert wrong <= 4
    assert without > 60
    matrix, _ = exact_matrix(40_000)
    found = Search().run("abc", NoisyBIC(noisy=with_noise(matrix, 40.0, rng)))
    assert sum(map(len, found.values())) >= 2


def test_equivalent_structures_score_alike_and_noise_only_raises_costs():
    matrix, _ = exact_matrix()
    noisy = NoisyBIC(noisy=with_noise(matrix, 10.0, np.random.default_rng(1)))
    orders = [
        total_score(noisy, {name: tuple(sorted(order[:place])) for place, name in enumerate(order)})
        for order in itertools.permutations("abc")
    ]
    assert orders == pytest.approx([orders[0]] * 6)
    assert noisy.inflation > 1
    assert noisy.effective < 4000


def test_it_is_read_back():
    matrix, _ = exact_matrix()
    noisy = with_noise(matrix, 10.0, np.random.default_rng(1))
    again = NoisyMoments.from_dict(noisy.as_dict())
    assert again.as_dict() == noisy.as_dict()
    assert again.moments.covariance == pytest.approx(noisy.moments.covariance)


def test_bad_input():
    matrix, _ = exact_matrix()
    for change in ({"matrix": np.eye(3)}, {"ends": ENDS[:2]}, {"std": -1.0}, {"ends": ENDS[:, ::-1]}):
        with pytest.raises(InvalidInput):
            NoisyMoments(**{"names": tuple("abc"), "matrix": matrix, "std": 1.0, "ends": ENDS} | change)
