"""Membership in a model: found where it learnt by heart, and not where it learnt a threshold."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from tacita.assess.attacks.membership_models import (
    likelihood_ratio,
    logits_of,
    loss_threshold,
    right_of,
    shadow_attack,
    smallest_step,
    train_shadows,
)
from tacita.errors import InvalidInput


def fit_to_depth(depth):
    def fit(rows, labels, seed):
        return DecisionTreeClassifier(max_depth=depth, random_state=seed).fit(rows, labels).predict_proba

    return fit


@pytest.fixture(scope="module")
def pool():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(800, 6))
    labels = (rows[:, 0] + rng.normal(size=800) > 0).astype(np.int64)
    return rows, labels, rng.permutation(800) < 400


def attacked(pool, depth):
    rows, labels, members = pool
    fit = fit_to_depth(depth)
    shadows = train_shadows(fit, rows, labels, np.random.default_rng(2), count=16)
    predict = fit(rows[members], labels[members], 7)
    return {
        "loss": loss_threshold(predict, rows, labels, members),
        "ratio": likelihood_ratio(predict, rows, labels, members, shadows),
        "shadow": shadow_attack(predict, rows, labels, members, shadows),
    }


def test_a_model_that_learnt_by_heart_gives_its_members_away(pool):
    found = attacked(pool, None)
    for attack in found.values():
        assert attack.auc_interval()[0] > 0.6
    assert found["ratio"].auc >= found["loss"].auc - 0.02


def test_a_model_that_learnt_a_threshold_does_not(pool):
    for attack in attacked(pool, 1).values():
        assert attack.auc_interval()[0] < 0.52
        assert attack.tpr(0.01).exact(0.999)[0] < 0.01


def test_everybody_is_in_half_of_the_shadows(pool):
    rows, labels, _ = pool
    shadows = train_shadows(fit_to_depth(2), rows, labels, np.random.default_rng(3), count=6)
    assert (shadows.inside.sum(axis=0) == 3).all()
    assert shadows.right.shape == (6, 800)
    predict = fit_to_depth(None)(rows, labels, 0)
    assert np.isfinite(logits_of(right_of(predict(rows), labels))).all()


def test_certain_answers_are_moved_inside_by_half_a_step():
    trees = np.random.default_rng(1).integers(0, 31, (4, 500)) / 30
    assert smallest_step(trees) == pytest.approx(1 / 60)
    assert smallest_step(np.full((2, 3), 1.0)) == 1e-7
    assert smallest_step(np.random.default_rng(1).uniform(0.01, 0.99, (4, 500))) == 1e-7


def test_a_spread_for_each_person(pool):
    rows, labels, members = pool
    fit = fit_to_depth(None)
    shadows = train_shadows(fit, rows, labels, np.random.default_rng(2), count=16)
    predict = fit(rows[members], labels[members], 7)
    own = likelihood_ratio(predict, rows, labels, members, shadows, spread="own")
    assert own.auc > 0.6
    assert "each person" in own.notes[0]


def test_bad_input(pool):
    rows, labels, _ = pool
    with pytest.raises(InvalidInput, match="even"):
        train_shadows(fit_to_depth(1), rows, labels, np.random.default_rng(), count=5)
    with pytest.raises(InvalidInput, match="4 people"):
        train_shadows(fit_to_depth(1), rows[:2], labels[:2], np.random.default_rng(), count=4)
    with pytest.raises(InvalidInput, match="members"):
        loss_threshold(fit_to_depth(1)(rows, labels, 0), rows, labels, np.ones(3, bool))
