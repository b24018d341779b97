import numpy as np
import pytest
from scipy import stats

from tacita.assess.attacks.roc import Membership
from tacita.errors import InvalidInput


def scores(shift, n=400, m=500, seed=1):
    rng = np.random.default_rng(seed)
    return Membership(name="x", inside=rng.normal(shift, size=n).round(1), outside=rng.normal(size=m).round(1))


def test_auc_is_the_chance_of_the_right_order():
    found = scores(0.5)
    pairs = found.inside[:, None] - found.outside[None, :]
    assert found.auc == pytest.approx(((pairs > 0) + 0.5 * (pairs == 0)).mean())


def test_the_interval_of_the_auc_covers():
    truth = stats.norm.cdf(0.5 / np.sqrt(2))
    rng = np.random.default_rng(2)
    covered = 0
    for _ in range(800):
        found = Membership(name="x", inside=rng.normal(0.5, size=60), outside=rng.normal(size=90))
        low, high = found.auc_interval()
        covered += low <= truth <= high
    assert 0.92 < covered / 800 < 0.98


def test_tpr_at_few_false_alarms():
    found = scores(1.0)
    for fpr in (0.1, 0.01, 0.002):
        rate = found.tpr(fpr)
        reached = [
            np.mean(found.inside > threshold)
            for threshold in np.unique(np.r_[found.outside, found.inside, -99])
            if np.mean(found.outside > threshold) <= fpr
        ]
        assert rate.share == pytest.approx(max(reached))
    alike = Membership(name="x", inside=np.zeros(5), outside=np.zeros(100))
    assert alike.tpr(0.01).share == 0
    assert alike.auc == 0.5
    assert alike.advantage == 0


def covered(draw, truth, of, times=400):
    """How often an interval holds the truth."""
    rng, held = np.random.default_rng(4), 0
    for _ in range(times):
        inside, outside = draw(rng)
        low, high = of(Membership(name="x", inside=inside, outside=outside))
        held += low <= truth <= high
    return held / times


@pytest.mark.parametrize(("people", "fpr"), [(100, 0.01), (300, 0.01), (1000, 0.01), (1000, 0.001), (2000, 0.001)])
@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_the_interval_of_the_tpr_holds_the_spread_of_the_threshold(people, fpr, shift):
    truth = stats.norm.sf(stats.norm.isf(fpr) - shift)
    share = covered(
        lambda rng: (rng.normal(shift, size=people), rng.normal(size=people)),
        truth,
        lambda found: found.tpr_interval(fpr),
    )
    assert share >= 0.9


@pytest.mark.parametrize(("auc", "people"), [(0.5, 20), (0.95, 20), (0.99, 50), (0.999, 50)])
def test_the_interval_of_a_high_auc_covers(auc, people):
    shift = np.sqrt(2) * stats.norm.ppf(auc)
    share = covered(
        lambda rng: (rng.normal(shift, size=people), rng.normal(size=people)), auc, lambda found: found.auc_interval()
    )
    assert share >= 0.9


def test_a_share_that_is_nobody_cannot_be_told():
    found = scores(1.0, m=99)
    assert found.tpr(0.01) is None
    assert found.tpr_interval(0.01) == (0, 1)
    assert found.as_dict()["tpr"]["0.01"] == "cannot be estimated from 99 people"
    assert "cannot be estimated from 99 people" in found.tpr_words(0.01)
    told = scores(1.0, m=100)
    low, high = told.tpr_interval(0.01)
    assert low <= told.tpr(0.01).share <= high
    assert told.as_dict()["tpr"]["0.01"]["high"] == high
    assert f"{told.tpr(0.01).share:.2%}" in told.tpr_words(0.01)


def test_scores_without_an_overlap_leave_room():
    found = Membership(name="x", inside=np.ones(10), outside=np.zeros(10))
    low, high = found.auc_interval()
    assert 0.6 < low < 0.8
    assert high == 1


def test_advantage():
    found = scores(0.8)
    thresholds = np.unique(np.r_[found.inside, found.outside])
    expected = max(np.mean(found.inside >= t) - np.mean(found.outside >= t) for t in thresholds)
    assert found.advantage == pytest.approx(expected)


def test_plain_data_holds_nobodys_score():
    plain = scores(0.5).as_dict()
    assert set(plain["tpr"]) == {"0.01", "0.001"}
    assert not any(isinstance(value, np.ndarray) for value in plain.values())


def test_bad_input():
    for inside in ([], [np.nan]):
        with pytest.raises(InvalidInput):
            Membership(name="x", inside=np.array(inside), outside=np.zeros(1))
    with pytest.raises(InvalidInput):
        scores(0).tpr(0)


def test_the_epsilon_that_scores_imply():
    """Randomized response as a score: never above its epsilon, up to the confidence, and near it."""
    rng = np.random.default_rng(3)
    found = []
    for _ in range(100):
        inside, outside = rng.random(2000) < 0.75, rng.random(2000) < 0.25
        found.append(Membership(name="x", inside=inside, outside=outside).least_epsilon(0.9))
    assert np.mean(np.array(found) > np.log(3)) < 0.2
    assert np.mean(found) > 0.8 * np.log(3)
    assert Membership(name="x", inside=np.ones(3), outside=np.zeros(3)).least_epsilon() == 0
