"""Shrinkage against the law that it assumes, by simulation, and against James and Stein's formula."""

import numpy as np
import pytest

from tacita.collect.estimating.empirical import _towards_mean, kept_shares, shrink_singles, shrunk_parameters
from tacita.collect.estimating.interactions import Interactions
from tacita.domain import Categorical, Domain


def test_equal_variances_give_james_and_stein():
    values = np.random.default_rng(1).normal(0, 0.3, 12)
    centred = np.stack([values, -values], axis=1)
    found = _towards_mean(centred, np.full(12, 0.02))
    # the sum of squares over both levels is that of one free number with the same variance
    rest = centred - centred.mean(axis=0)
    kept = max(0.0, 1 - (11 - 2) * 0.02 / (rest**2).sum())
    np.testing.assert_allclose(found, centred.mean(axis=0) + kept * rest, atol=1e-9)


def test_it_is_nearer_to_the_truth_whatever_the_truth_is():
    rng = np.random.default_rng(2)
    for spread in (0.0, 0.05, 0.5):
        plain = shrunk = 0.0
        for _ in range(200):
            truth = rng.normal(0.1, spread, 8)
            noise = rng.uniform(0.05, 0.15, 8)
            seen = truth + rng.normal(0, noise)
            both = np.stack([seen, -seen], axis=1) / np.sqrt(2)
            found = _towards_mean(both, noise**2)[:, 0] * np.sqrt(2)
            plain += ((seen - truth) ** 2).sum()
            shrunk += ((found - truth) ** 2).sum()
        assert shrunk < plain * (0.5 if spread == 0 else 1.01)


def test_only_attributes_with_the_same_labels_are_shrunk_together():
    alike = [Categorical(name=f"x{i}", levels=["no", "yes"]) for i in range(6)]
    domain = Domain(attributes=[*alike, Categorical(name="y", levels=["u", "v", "w"])])
    measured = Interactions.empty(domain)
    measured.singles[:] = np.random.default_rng(3).normal(0, 0.1, 15)
    measured.single_precision[:] = 50.0
    found = shrink_singles(measured)
    np.testing.assert_array_equal(found.singles[12:], measured.singles[12:])
    assert np.ptp(found.singles[:12:2]) < np.ptp(measured.singles[:12:2])


def test_noise_alone_is_dropped_and_few_large_rests_are_kept():
    rng = np.random.default_rng(4)
    noise = rng.normal(size=100)
    assert kept_shares(noise**2, [1] * 100, [1.0] * 100).mean() < 0.1
    rests = noise.copy()
    rests[:8] += 8
    kept = kept_shares(rests**2, [1] * 100, [1.0] * 100)
    assert kept[:8].min() > 0.9
    assert np.median(kept[8:]) < 0.1


def test_kept_shares_are_the_posterior_mean():
    """With as many rests as there are here, the error is that of the mean under the true law."""
    rng = np.random.default_rng(5)
    size, share, spread = 5000, 0.3, 4.0
    truth = np.where(rng.random(size) < share, rng.normal(0, np.sqrt(spread), size), 0.0)
    seen = truth + rng.normal(size=size)
    found = kept_shares(seen**2, [1] * size, [1.0] * size) * seen
    slab = share * np.exp(-0.5 * seen**2 / (1 + spread)) / np.sqrt(1 + spread)
    best = slab / (slab + (1 - share) * np.exp(-0.5 * seen**2)) * spread / (1 + spread) * seen
    assert ((found - truth) ** 2).mean() == pytest.approx(((best - truth) ** 2).mean(), rel=0.02)


def test_shrunk_parameters_are_what_shrinkage_follows_less_of_the_noise():
    rng, count, noise = np.random.default_rng(8), 40, 0.03
    domain = Domain(attributes=[Categorical(name=f"x{i}", levels=["no", "yes"]) for i in range(count)])
    truth, saved, followed = rng.normal(0, 0.03, count), [], []
    for _ in range(200):
        measured = Interactions.empty(domain)
        error = rng.normal(0, noise, count)  # of one free number: half of it on each level has variance noise^2 / 2
        moved = (truth + error) / np.sqrt(2)
        measured.singles[:] = np.stack([moved, -moved], axis=1).reshape(-1)
        measured.single_precision[:] = 1 / noise**2
        off = np.sqrt(2) * shrink_singles(measured).singles.reshape(count, 2)[:, 0] - truth
        followed.append(count - float(error @ off) / noise**2)
        saved.append(shrunk_parameters(measured))
    assert 0.1 * count < np.mean(saved) < 0.9 * count
    assert np.mean(followed) == pytest.approx(np.mean(saved), rel=0.15)
