"""Planted secrets and their exposure."""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import scipy.stats

from tacita.errors import InvalidInput
from tacita.noise import SeededSource
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize.text.canaries import (
    Canary,
    draw_canaries,
    exposure,
    exposure_bound,
    plant,
    read_canaries,
    write_canaries,
)
from tacita.synthesize.text.corpus import Headlines
from tacita.synthesize.text.example import DIGITS
from tacita.synthesize.text.recipe import HeadlineRecipe


def canaries(copies, seed=1, **settings):
    return draw_canaries(copies, np.random.default_rng(seed), topic="business", **settings)


def test_copies_are_planted(headlines):
    drawn = canaries((0, 1, 3))
    planted = plant(headlines, drawn)
    assert len(planted) == len(headlines) + 4
    texts = planted.texts()
    assert [texts.count((*each.prefix, *each.secret)) for each in drawn] == [0, 1, 3]
    assert planted.topics[-1] == headlines.vocabulary.topic_code("business")
    assert (
        planted.tags[-1].tolist()[:7]
        == Headlines.encode([drawn[2].headline()], headlines.vocabulary).tags[0].tolist()[:7]
    )


def test_secrets_are_uniform():
    drawn = [each for seed in range(300) for each in canaries((1,) * 10, seed=seed, digits=1)]
    counts = np.array([sum(each.secret == (digit,) for each in drawn) for digit in DIGITS])
    assert abs(counts - 300).max() < 6 * math.sqrt(300)


def test_exposure_is_the_rank_over_all_secrets(generator):
    for canary in canaries((0, 0, 0), digits=2):
        scores = {}
        for secret in product(DIGITS, repeat=2):
            one = Headlines.encode([canary.headline(secret)], generator.vocabulary, length=generator.length)
            scores[secret] = generator.log2_likelihoods(one)[0][0]
        rank = sorted(scores.values(), reverse=True).index(scores[canary.secret]) + 1
        assert exposure(generator, canary) == pytest.approx(math.log2(100 / rank), abs=0.05)


def test_equal_likelihoods_expose_nothing(generator):
    flat = replace(generator, weights={name: np.zeros_like(each) for name, each in generator.weights.items()})
    assert exposure(flat, canaries((0,), digits=2)[0]) == 0


def test_training_on_many_copies_exposes_a_secret(headlines, train):
    drawn = canaries((40, 0), digits=3)
    planted = plant(headlines, drawn)
    assert exposure(train(planted, "clstm", epochs=25, stop_after=5), drawn[0]) > math.log2(1000) - 1.1


def test_an_attack_on_private_training_stays_within_the_bound_and_finds_a_broken_twin(headlines):
    """The worst case: the canary is the only headline, and is in every step. The twin has a hundredth of the noise."""
    empty, runs = headlines.take(slice(0, 0)), 50
    recipe = HeadlineRecipe(kind="clstm", words=6, topics=2, hidden=6, steps=4, sample=1, people=1, learning_rate=0.1)
    budget = Budget.approx(1.0, 1e-5)
    plan = recipe.calibrate(headlines.vocabulary, budget, unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE)
    twin = replace(plan, law=replace(plan.law, noise_multiplier=plan.law.noise_multiplier / 100))
    right = {}
    for name, each in (("private", plan), ("twin", twin)):
        found = 0
        for seed in range(runs):
            (canary,) = canaries((1,), seed=seed, digits=1)
            made = each.train(plant(empty, [canary]), SeededSource(seed))
            found += exposure(made, canary) == math.log2(10)
        right[name] = found
    bound = exposure_bound(math.log2(10), epsilon=1.0, delta=1e-5)
    assert bound == pytest.approx(math.e / 10, abs=1e-4)
    assert right["private"] <= scipy.stats.binom.ppf(1 - 1e-6, runs, bound)
    assert right["twin"] > scipy.stats.binom.ppf(1 - 1e-6, runs, bound)


def test_the_bound_is_reached_by_randomized_response():
    """A mechanism with pure epsilon that shows the secret itself: P(rank 1) is what the bound states, almost."""
    size, epsilon = 1000, 2.0
    first = math.exp(epsilon) / (math.exp(epsilon) + size - 1)
    bound = exposure_bound(math.log2(size), epsilon=epsilon, delta=0)
    assert first <= bound < 1.01 * first
    assert exposure_bound(3.0, epsilon=0, delta=0, copies=5) == pytest.approx(1 / 8)
    assert exposure_bound(10.0, epsilon=1, delta=1e-5) == pytest.approx(math.e / 1024 + 1e-5)
    two = exposure_bound(10.0, epsilon=1, delta=1e-5, copies=2)
    assert two == pytest.approx(math.e**2 / 1024 + 1e-5 * (1 + math.e))
    assert exposure_bound(10.0, epsilon=8, delta=0, copies=1000) == 1


def test_files_are_read_again(tmp_path):
    drawn = canaries((1, 4))
    write_canaries(tmp_path / "secrets.json", drawn)
    assert read_canaries(tmp_path / "secrets.json") == drawn
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(InvalidInput, match="file of canaries"):
        read_canaries(tmp_path / "other.json")


def test_bad_canaries_are_refused(headlines):
    with pytest.raises(InvalidInput, match="words of the space"):
        Canary(prefix=("code",), secret=("ten",), space=DIGITS, topic="business", copies=1)
    with pytest.raises(InvalidInput, match="secrets at most"):
        Canary(prefix=("code",), secret=("one",) * 7, space=DIGITS, topic="business", copies=1)
    with pytest.raises(InvalidInput, match="numbers at most"):
        canaries((1,) * 11)
    strange = Canary(prefix=("password",), secret=("one",), space=DIGITS, topic="business", copies=1)
    with pytest.raises(InvalidInput, match="words of the vocabulary"):
        plant(headlines, [strange])
