from __future__ import annotations

import math

import numpy as np
import pytest

from tacita.collect.channels.channel import RandomizedResponse
from tacita.console.parts.odds import belief_after, budget_curves, confidence_curve, money, odds_words, share
from tacita.privacy.risk.cost import CostModel


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("before", [0.01, 0.5, 0.9])
def test_no_posterior_passes_the_bound_and_one_reaches_it(epsilon, before):
    """Bayes' rule over every output of a mechanism whose epsilon is known exactly."""
    channel = RandomizedResponse.k_ary(levels=2, epsilon=epsilon)
    likely = channel.keep_probability * np.eye(2) + channel.fake_probabilities()[None, :]
    posteriors = [before * likely[1, out] / (before * likely[1, out] + (1 - before) * likely[0, out]) for out in (0, 1)]
    assert max(posteriors) == pytest.approx(belief_after(epsilon, before), rel=1e-6)


def test_words_never_say_certain_of_what_is_not():
    assert share(1.0) == "100 %"
    assert share(0.5) == "50 %"
    assert "100 %" not in share(1 - 1e-12)
    assert "100 %" not in odds_words(20.0)
    assert "a factor of 2.72" in odds_words(1.0)
    assert (money(74433.6), money(12.5)) == ("74,434", "12.50")


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("sides", ["one", "two"])
def test_confidence_is_that_of_simulated_noise(kind, sides):
    level, rng = 1.0, np.random.default_rng(5)
    if kind == "laplace":
        noise = rng.laplace(0, 1 / level, 200_000)
        losses = level * (np.abs(noise - 1) - np.abs(noise))
    else:
        losses = rng.normal(level**2 / 2, level, 200_000)
    curve = confidence_curve(level, kind, sides)
    assert list(curve.x) == sorted(curve.x)
    for place in (20, 60, 90):
        below = losses <= curve.x[place] if sides == "one" else np.abs(losses) <= curve.x[place]
        assert curve.y[place] == pytest.approx(below.mean(), abs=0.006)
    assert curve.y[-1] == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize("releases", [1, 3])
def test_budgets_meet_where_nothing_is_at_risk(releases):
    model = CostModel(compensation=5500, people=100)
    at_risk, plain = budget_curves(model, 0.5, releases)
    assert at_risk.y[-1] == pytest.approx(plain.y[-1])
    assert all(one >= other - 1e-9 for one, other in zip(at_risk.y, plain.y, strict=True))
    best = model.optimum(0.5, releases=releases)
    assert min(at_risk.y) == pytest.approx(best.budget, rel=1e-3)
    assert math.isfinite(at_risk.y[0])
