import itertools

import numpy as np
import pytest

from tacita.domain import Categorical, Domain
from tacita.errors import InvalidInput
from tacita.noise import DiscreteLaplace
from tacita.tables.cells import Cells
from tacita.tables.uncertainty import (
    AdditiveNoise,
    Anchored,
    Binomial,
    Correlated,
    Covariance,
    Unknown,
    anchored,
    uncertainty_from_dict,
    wilson,
)

DOMAIN = Domain(attributes=[Categorical(name=n, levels=[str(i) for i in range(k)]) for n, k in (("a", 2), ("b", 3))])
ESTIMATE = Cells(DOMAIN, np.array([[0.1, 0.2, 0.1], [0.3, 0.2, 0.1]]))


def correlated(binomial=True):
    r = ESTIMATE.values.reshape(-1) * 0.5 + 1 / 12
    covariance = Covariance(diagonal=r / 250, vectors=(r / 250**0.5)[None, :], signs=np.array([1.0]))
    part = Binomial(trials=1000, slope=0.5, offset=np.full(6, 1 / 12)) if binomial else None
    return Correlated(covariance=covariance, binomial=part)


KINDS = [
    AdditiveNoise(law=DiscreteLaplace.at_least(3), terms=2),
    correlated(),
    correlated(binomial=False),
    Anchored(centre=ESTIMATE.values.reshape(-1) - 0.02, covariance=correlated().covariance),
    Unknown(),
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: type(k).__name__)
def test_round_trip(kind):
    again = uncertainty_from_dict(kind.as_dict())
    for ours, theirs in zip(kind.interval(ESTIMATE, 0.9), again.interval(ESTIMATE, 0.9), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: type(k).__name__)
@pytest.mark.parametrize("level", [0, 1, -0.5, 2])
def test_level(kind, level):
    with pytest.raises(InvalidInput, match="level"):
        kind.interval(ESTIMATE, level)


@pytest.mark.parametrize("names", [n for k in range(3) for n in itertools.permutations("ab", k)])
def test_projection_against_the_dense_covariance(names):
    kind = correlated()
    dense = kind.covariance.dense()
    projected = ESTIMATE.project(names)
    sums = np.stack(
        [
            Cells(DOMAIN, np.eye(6)[cell].reshape(2, 3)).project(names).values.reshape(-1).astype(float)
            for cell in range(6)
        ],
        axis=1,
    )
    expected = sums @ dense @ sums.T
    got = kind.project(DOMAIN, names)
    np.testing.assert_allclose(got.covariance.dense(), expected, atol=1e-15)
    np.testing.assert_allclose(got.std(projected).reshape(-1) ** 2, np.diag(expected).clip(0), atol=1e-15)


def test_additive_noise_adds_up():
    kind = AdditiveNoise(law=DiscreteLaplace.at_least(3))
    assert kind.project(DOMAIN, ("a",)).terms == 3
    assert kind.project(DOMAIN, ()).terms == 6
    assert kind.project(DOMAIN, ("b", "a")).terms == 1


def test_covariance_of_a_contrast():
    covariance = correlated().covariance
    contrast = np.array([1, 0, -2, 0, 0.5, 0])
    assert covariance.of(contrast) == pytest.approx(contrast @ covariance.dense() @ contrast)


def test_wilson_solves_its_equation():
    share, z, n = np.array([0.0, 0.02, 0.5, 1.0]), 1.96, 50
    for end in wilson(share, n, z):
        np.testing.assert_allclose((share - end) ** 2, z * z * end * (1 - end) / n, atol=1e-12)


def test_an_anchored_interval_is_that_of_the_unbiased_estimate_and_reaches_to_the_published_one():
    unbiased = Cells(DOMAIN, np.array([[-0.05, 0.3, 0.15], [0.3, 0.2, 0.1]]))
    behind = correlated(binomial=False)
    found = anchored(unbiased, behind)
    published = Cells(DOMAIN, np.array([[0.0, 0.29, 0.14], [0.29, 0.19, 0.09]]))
    low, high = found.interval(published, 0.95)
    plain_low, plain_high = behind.interval(unbiased, 0.95)
    np.testing.assert_allclose(low, np.clip(plain_low, 0, 1))
    np.testing.assert_allclose(high, np.maximum(plain_high, published.values))
    far = Cells(DOMAIN, np.full((2, 3), 0.9))
    assert (found.interval(far, 0.95)[1] == 0.9).all()
    np.testing.assert_allclose(found.std(published), behind.std(unbiased))
    assert isinstance(anchored(unbiased, Unknown()), Unknown)
    assert anchored(unbiased, found) is found


def test_an_anchored_interval_of_a_sum_is_that_of_the_sum():
    behind = correlated(binomial=False)
    found = anchored(ESTIMATE, behind).project(DOMAIN, ("b",))
    np.testing.assert_allclose(
        found.interval(ESTIMATE.project(("b",)), 0.9),
        np.clip(behind.project(DOMAIN, ("b",)).interval(ESTIMATE.project(("b",)), 0.9), 0, 1),
    )


def test_draws_have_the_covariance():
    covariance = correlated().covariance
    rng = np.random.default_rng(1)
    drawn = np.array([covariance.draw(rng) for _ in range(20_000)])
    np.testing.assert_allclose(np.cov(drawn.T), covariance.dense(), atol=0.06 * covariance.dense().max())
    np.testing.assert_allclose(covariance.times(np.eye(6)), covariance.dense())


def test_unknown_kind():
    with pytest.raises(InvalidInput, match=r"uncertainty\.kind"):
        uncertainty_from_dict({"kind": "hopeful"})
    with pytest.raises(InvalidInput, match="shape"):
        Covariance(diagonal=np.ones(3), vectors=np.ones((1, 2)), signs=np.ones(1))
