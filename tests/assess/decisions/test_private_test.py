"""The private test: its size under the null, its power, and what it says where it cannot say anything."""

import json
import math

import numpy as np
import pytest
from tests.assess.decisions.released import answered, counted

from tacita.assess.decisions.mechanisms import AdditiveMechanism
from tacita.assess.decisions.private_test import private_test, size_of_test, tilt
from tacita.collect.analysis.hypothesis import Hypothesis
from tacita.collect.analysis.independence_counts import NoisyNull, central_monte_carlo_test, paper_chi_square
from tacita.collect.channels.channel import RandomizedResponse
from tacita.collect.channels.unary import UnaryEncoding
from tacita.domain import Categorical, Domain
from tacita.errors import InvalidInput
from tacita.models.contingency import expected
from tacita.noise import SeededSource
from tacita.privacy.budget import Budget
from tacita.tables.uncertainty import AdditiveNoise

DOMAIN = Domain(attributes=[Categorical(name=name, levels=["0", "1"]) for name in "zxy"])
GIVEN = Hypothesis.of("x", "y", given=["z"])
SHAPE = (2, 2, 2)
# a population like that of the documents: rare second level of x, independent of y in each stratum
SHARES = expected(np.array([0.136, 0.090, 0.007, 0.005, 0.434, 0.290, 0.023, 0.015]), SHAPE)
EVEN = np.full(8, 1 / 8)


def null_of(shares, people, epsilon, statistic, *, public=True):
    law = AdditiveMechanism.for_budget(SHAPE, Budget.pure(epsilon)).law
    return NoisyNull(
        table=people * shares,
        shape=SHAPE,
        noise=AdditiveNoise(law=law),
        people=people if public else None,
        statistic=statistic,
    )


@pytest.mark.parametrize("statistic", ["noise-aware", "pearson"])
@pytest.mark.parametrize(
    ("shares", "people", "epsilon"),
    [(SHARES, 500, 0.1), (SHARES, 5000, 0.1), (SHARES, 5000, 0.35), (EVEN, 2000, 0.1), (EVEN, 20_000, 1.0)],
    ids=["sparse", "rare", "rare, more budget", "even", "many"],
)
def test_the_type_one_error_is_at_most_alpha(statistic, shares, people, epsilon):
    null = null_of(shares / shares.sum(), people, epsilon, statistic)
    _, low, _ = size_of_test(null, people * shares, trials=600, simulations=99, seed=1)
    assert low <= 0.05


def test_the_type_one_error_is_held_where_the_number_of_people_is_not_public():
    null = null_of(EVEN, 3000, 0.2, "noise-aware", public=False)
    _, low, _ = size_of_test(null, 3000 * EVEN, trials=500, simulations=99, seed=2)
    assert low <= 0.05


def test_the_naive_test_rejects_far_too_often():
    null = null_of(EVEN, 2000, 0.1, "pearson")
    source = SeededSource(1)
    noisy = null.noisy(source.generator().multinomial(2000, EVEN, size=300), source)
    rejected = [
        paper_chi_square(counted(each, null.noise.law, domain=DOMAIN), GIVEN, people=2000, rule_of_five=False).reject()
        for each in noisy
    ]
    assert np.mean(rejected) > 0.5


def test_a_broken_calibration_would_be_noticed():
    """With noise of half the scale in the simulations, the same check of size fails."""
    null = null_of(EVEN, 2000, 0.1, "noise-aware")
    weak = null_of(EVEN, 2000, 0.2, "noise-aware")
    source = SeededSource(3)
    rng = source.generator()
    noisy = null.noisy(rng.multinomial(2000, EVEN, size=300), source)
    drawn, _ = weak.simulate(2000 * EVEN, 2000, rng, source)
    assert (weak.statistics(noisy) > np.quantile(drawn, 0.95)).mean() > 0.15


@pytest.mark.parametrize("channel", [RandomizedResponse, UnaryEncoding])
def test_the_type_one_error_of_a_collection(channel):
    make = channel.k_ary if channel is RandomizedResponse else channel.optimised
    rng, trials = np.random.default_rng(4), 120
    rejected = []
    for seed in range(trials):
        table = rng.multinomial(2000, EVEN)
        tally = answered(make(levels=8, epsilon=2.0), table, seed, domain=DOMAIN)
        rejected.append(private_test(tally, GIVEN, simulations=39, power_draws=0, seed=seed).reject)
    assert np.mean(rejected) < 0.05 + 3.5 * math.sqrt(0.05 * 0.95 / trials)


def test_power_against_independent_releases():
    """The power that a result states is the share of releases with that effect which the whole test rejects."""
    people, law = 5000, AdditiveMechanism.for_budget(SHAPE, Budget.pure(0.05)).law
    found = private_test(
        counted(np.round(people * EVEN), law, domain=DOMAIN), GIVEN, people=people, simulations=999, seed=1
    )
    stated = {each.effect: each for each in found.power}
    means, effect = tilt(people * EVEN, SHAPE, 0.1)
    assert effect == 0.1
    null = null_of(EVEN, people, 0.05, "noise-aware")
    rate, low, high = size_of_test(null, means, trials=400, simulations=99, seed=5)
    assert stated[0.1].low - 0.06 < rate < stated[0.1].high + 0.06
    assert 0.1 < rate < 0.9
    assert [each.power for each in found.power] == sorted(each.power for each in found.power)
    assert low < rate < high


def test_a_tilted_table_has_the_margins_and_the_effect():
    rng = np.random.default_rng(1)
    table = rng.integers(20, 90, size=SHAPE).astype(float)
    tilted, effect = tilt(table.reshape(-1), SHAPE, 0.2)
    for before, after in zip(table, tilted.reshape(SHAPE), strict=True):
        np.testing.assert_allclose(after.sum(axis=0), before.sum(axis=0))
        np.testing.assert_allclose(after.sum(axis=1), before.sum(axis=1))
        product = np.outer(after.sum(axis=1), after.sum(axis=0)) / after.sum()
        assert math.sqrt(((after - product) ** 2 / product).sum() / after.sum()) == pytest.approx(effect)
    most, possible = tilt(np.array([98.0, 98, 2, 2]), (1, 2, 2), 5.0)
    assert possible < 5
    assert most.min() == pytest.approx(0, abs=1e-9)


def test_a_sparse_table_is_not_called_independent():
    law = AdditiveMechanism.for_budget(SHAPE, Budget.pure(0.1)).law
    thin = counted(np.round(200 * SHARES), law, domain=DOMAIN)
    published = private_test(thin, GIVEN, people=200, way="paper", simulations=99, seed=1)
    assert not published.reject
    assert "below 5" in published.verdict.caution
    assert published.conclusion == "cannot say"
    aware = private_test(thin, GIVEN, people=200, simulations=99, seed=1)
    assert aware.conclusion == "cannot say"
    assert "cannot say" in aware.words
    assert aware.power[-1].power < 0.5
    assert aware.smallest < 5


def test_strong_dependence_is_found_by_every_source():
    means, _ = tilt(20_000 * EVEN, SHAPE, 0.4)
    true = np.round(means).astype(int)
    law = AdditiveMechanism.for_budget(SHAPE, Budget.pure(0.5)).law
    tally = answered(RandomizedResponse.k_ary(levels=8, epsilon=2.0), true, 1, domain=DOMAIN)
    for source in (counted(true, law, domain=DOMAIN), tally, tally.releases()):
        found = private_test(source, GIVEN, simulations=99, power_draws=20, seed=1)
        assert found.reject
        assert found.conclusion == "dependent"
        assert json.loads(json.dumps(found.as_dict()))["reject"] is True
        assert found.verdict.df == 2


def test_the_published_way_is_the_test_of_the_documents():
    law = AdditiveMechanism.for_budget(SHAPE, Budget.pure(0.5)).law
    release = counted(np.round(3000 * EVEN), law, domain=DOMAIN)
    ours = private_test(release, GIVEN, people=3000, way="paper", simulations=199, seed=7).verdict
    assert ours == central_monte_carlo_test(release, GIVEN, people=3000, simulations=199, seed=7)


def test_what_cannot_be_tested_is_refused():
    release = counted([3, 2, 2, 3], AdditiveMechanism.for_budget((1, 2, 2), Budget.pure(0.5)).law)
    for wrong in ({"alpha": 1.5}, {"way": "other"}, {"simulations": 0}, {"simulations": 5}):
        with pytest.raises(InvalidInput):
            private_test(release, Hypothesis.of("x", "y"), seed=1, **wrong)
