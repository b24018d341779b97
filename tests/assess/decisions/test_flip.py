"""Flip probabilities against independent simulations that share no code with the library."""

import json

import numpy as np
import pytest
from scipy import stats
from tests.assess.decisions.released import answered, counted, tallied

from tacita.assess.decisions.flip import design_flip, posterior_flip
from tacita.assess.decisions.mechanisms import AdditiveMechanism, ChannelMechanism
from tacita.assess.decisions.posterior import draw_true_counts
from tacita.assess.decisions.rule import Rule
from tacita.collect.analysis.hypothesis import Hypothesis
from tacita.collect.channels.channel import RandomizedResponse
from tacita.collect.channels.hadamard import HadamardResponse
from tacita.domain import Categorical, Domain
from tacita.errors import InvalidInput
from tacita.noise import DiscreteGaussian, DiscreteLaplace
from tacita.privacy.budget import Budget
from tacita.tables.uncertainty import AdditiveNoise

CRITICAL = stats.chi2.isf(0.05, 1)
INDEPENDENT = Hypothesis.of("x", "y")


def slow_g2(tables):
    """G2 of tables of two by two, from its definition, in numpy alone."""
    t = np.maximum(tables, 0).astype(float).reshape(-1, 2, 2)
    means = t.sum(2, keepdims=True) * t.sum(1, keepdims=True) / t.sum((1, 2), keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        return 2 * np.where(t > 0, t * np.log(t / means), 0).sum((1, 2))


def balanced(people, shift):
    return np.array([people / 4 + shift, people / 4 - shift, people / 4 - shift, people / 4 + shift])


# statistic of the noisy table that the documents' simulation found for 80 % and 99 % stability at epsilon 0.1. It went
# through shifts of a thousandth of the people: 32 is G2 = 8.2 of 2,000 people, and so on
NEEDED = {2000: (32, 56), 7000: (56, 77), 12000: (72, 96), 22000: (88, 110)}
G2 = {2000: (8.2, 25.1), 7000: (7.2, 13.6), 12000: (6.9, 12.3), 22000: (5.6, 8.8)}


@pytest.mark.parametrize("people", NEEDED)
def test_stability_is_what_the_documents_simulation_found(people):
    noise, rng = AdditiveNoise(law=DiscreteLaplace.at_least(20)), np.random.default_rng(1)

    def stability(shift):
        true = draw_true_counts(balanced(people, shift), noise, 40_000, rng)
        return float(Rule().dependent(true, (1, 2, 2)).mean())

    for shift, statistic, target in zip(NEEDED[people], G2[people], (0.80, 0.99), strict=True):
        assert float(slow_g2(balanced(people, shift))[0]) == pytest.approx(statistic, abs=0.06)
        # the first step at which their simulation reached the target: ours is there within its error, and not long
        # before
        assert stability(shift) > target - 0.025
        assert stability(shift - 2 * people / 1000) < target


@pytest.mark.parametrize("law", [DiscreteLaplace.at_least(20), DiscreteGaussian.at_least(600)], ids=repr)
@pytest.mark.parametrize("shift", [10, 30, 60])
def test_posterior_of_additive_noise_against_a_simulation(law, shift):
    rng = np.random.default_rng(2)
    noisy = balanced(2000, shift)
    grid = np.arange(-3000, 3001)
    chance = np.exp(-np.abs(grid) / 20) if law.kind == "discrete-laplace" else np.exp(-(grid**2) / 1200)
    x = rng.choice(grid, size=(60_000, 4), p=chance / chance.sum())
    slow = float(((slow_g2(noisy - x) >= CRITICAL) != (slow_g2(noisy)[0] >= CRITICAL)).mean())
    found = posterior_flip(counted(noisy.astype(int), law), draws=40_000, rng=rng)
    assert found.probability == pytest.approx(slow, abs=0.011)
    assert found.low <= found.probability <= found.high
    assert found.statistic == pytest.approx(float(slow_g2(noisy)[0]))
    assert found.dependent is bool(slow_g2(noisy)[0] >= CRITICAL)


@pytest.mark.parametrize("counts", [[8, 2, 2, 8], [5, 5, 4, 6]])
def test_posterior_of_randomized_response_against_brute_force(counts):
    """All tables from the prior whose simulated reports are exactly those that came; 20 people, so that some do."""
    rng, keep = np.random.default_rng(3), np.exp(3) / (np.exp(3) + 3)
    matrix = np.where(np.eye(4) > 0, keep, (1 - keep) / 3)
    tables = rng.multinomial(20, rng.dirichlet(np.ones(4), 1_500_000))
    reports = sum(rng.multinomial(tables[:, cell], row) for cell, row in enumerate(matrix))
    kept = tables[(reports == counts).all(axis=1)]
    assert len(kept) > 500
    estimate = (np.array(counts) - 20 * (1 - keep) / 3) / (keep - (1 - keep) / 3)
    called = slow_g2(estimate)[0] >= CRITICAL
    slow = ((slow_g2(kept) >= CRITICAL) != called).mean()
    tally = tallied(RandomizedResponse.k_ary(levels=4, epsilon=3.0), counts)
    found = posterior_flip(tally, INDEPENDENT, draws=20_000, rng=rng)
    assert found.dependent is bool(called)
    assert found.probability == pytest.approx(float(slow), abs=4 * np.sqrt(0.25 / len(kept)))


@pytest.mark.parametrize("epsilon", [1.0, 3.0])
def test_design_of_randomized_response_against_a_simulation(epsilon):
    rng = np.random.default_rng(4)
    keep = np.exp(epsilon) / (np.exp(epsilon) + 3)
    shares, people, trials = np.array([0.28, 0.22, 0.22, 0.28]), 1500, 1500
    flips = 0
    for _ in range(trials):  # person by person
        truth = rng.choice(4, people, p=shares)
        sent = np.where(rng.random(people) < keep, truth, (truth + rng.integers(1, 4, people)) % 4)
        true, seen = np.bincount(truth, minlength=4), np.bincount(sent, minlength=4)
        estimate = (seen - people * (1 - keep) / 3) / (keep - (1 - keep) / 3)
        flips += (slow_g2(true)[0] >= CRITICAL) != (slow_g2(estimate)[0] >= CRITICAL)
    mechanism = ChannelMechanism.for_epsilon((1, 2, 2), "rr", epsilon)
    found = design_flip(shares, (1, 2, 2), mechanism, people=people, draws=20_000, rng=rng)
    assert found.probability == pytest.approx(flips / trials, abs=4.5 * np.sqrt(0.25 / trials))


def test_design_of_laplace_noise_against_a_simulation():
    rng = np.random.default_rng(5)
    true = np.array([540, 460, 460, 540])
    grid = np.arange(-2000, 2001)
    chance = np.exp(-np.abs(grid) / 20)
    x = rng.choice(grid, size=(40_000, 4), p=chance / chance.sum())
    slow = ((slow_g2(true + x) >= CRITICAL) != (slow_g2(true)[0] >= CRITICAL)).mean()
    mechanism = AdditiveMechanism.for_budget((1, 2, 2), Budget.pure(0.1))
    found = design_flip(true, (1, 2, 2), mechanism, draws=40_000, rng=rng)
    assert found.probability == pytest.approx(float(slow), abs=0.012)
    assert found.dependent == 1.0
    assert found.to_independent == found.probability


def test_the_interval_holds_the_probability_at_its_level():
    release = counted(balanced(2000, 30).astype(int), DiscreteLaplace.at_least(20))
    precise = posterior_flip(release, draws=200_000, rng=np.random.default_rng(1)).probability
    found = [posterior_flip(release, draws=200, rng=np.random.default_rng(seed)) for seed in range(200)]
    held = np.mean([each.low <= precise <= each.high for each in found])
    assert held > 0.91


def test_a_collection_through_supports_and_a_conditional_hypothesis():
    domain = Domain(attributes=[Categorical(name=name, levels=["0", "1"]) for name in "xyz"])
    table = np.array([300, 200, 100, 400, 250, 250, 250, 250])
    tally = answered(HadamardResponse.of(levels=8, epsilon=2.0), table, 1, domain=domain)
    rng = np.random.default_rng(1)
    strong = posterior_flip(tally, Hypothesis.of("y", "z", given=["x"]), draws=2000, rng=rng)
    assert strong.rule["df"] == 2
    assert strong.dependent
    assert strong.probability < 0.05
    assert strong.approximation is not None
    weak = posterior_flip(tally, Hypothesis.of("x", "y"), draws=2000, rng=rng)
    assert weak.probability > strong.probability


def test_results_are_plain_data():
    release = counted([30, 20, 20, 30], DiscreteLaplace.at_least(5))
    found = posterior_flip(release, draws=100, rng=np.random.default_rng(1))
    assert json.loads(json.dumps(found.as_dict()))["draws"] == 100
    assert "called" in found.words


def test_what_cannot_be_decided_is_refused():
    rng = np.random.default_rng(1)
    mechanism = AdditiveMechanism.for_budget((1, 2, 2), Budget.pure(0.1))
    with pytest.raises(InvalidInput, match="whole counts"):
        design_flip([0.3, 0.2, 0.2, 0.3], (1, 2, 2), mechanism, rng=rng)
    with pytest.raises(InvalidInput, match="non-negative"):
        design_flip([-1, 2, 2, 3], (1, 2, 2), mechanism, rng=rng)
    with pytest.raises(InvalidInput, match="independent of what"):
        posterior_flip(tallied(RandomizedResponse.k_ary(levels=4, epsilon=1.0), [5, 5, 5, 5]), rng=rng)
    with pytest.raises(InvalidInput, match="draws"):
        posterior_flip(counted([3, 2, 2, 3], DiscreteLaplace.at_least(5)), draws=0, rng=rng)
