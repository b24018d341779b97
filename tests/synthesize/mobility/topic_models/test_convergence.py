"""R-hat against its definition, and perplexity against exact integration."""

import itertools
import math

import numpy as np
import pytest
from scipy import special

from tacita.errors import InvalidInput
from tacita.synthesize.mobility.reading import Visits
from tacita.synthesize.mobility.topic_models.convergence import (
    completion_log_probabilities,
    mixes_of,
    perplexity,
    split_rhat,
)
from tacita.synthesize.mobility.topic_models.topics import TopicModel, Topics

PHI = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]])
ALPHA = 0.4


def model(phi=PHI, psi=None):
    recipe = Topics(kind="slda" if psi is None else "stlda", topics=2, alpha=ALPHA)
    return TopicModel(
        recipe=recipe,
        theta=np.ones((1, 2)) / 2,
        phi=phi,
        psi=psi,
        z=np.zeros(0, int),
        traces=np.zeros((1, 1)),
        rhat=1.0,
    )


def visits(*cards):
    place = np.concatenate([np.array(card) for card in cards])
    starts = np.concatenate([[0], np.cumsum([len(card) for card in cards])])
    return Visits(starts=starts, place=place, segment=np.zeros(len(place), int), places=3, segments=1)


def exact(places):
    """ln p(places), theta integrated out: a sum over all assignments."""
    logs = []
    for z in itertools.product(range(2), repeat=len(places)):
        number = np.bincount(z, minlength=2)
        prior = special.gammaln(2 * ALPHA) - special.gammaln(len(places) + 2 * ALPHA)
        prior += (special.gammaln(number + ALPHA) - special.gammaln(ALPHA)).sum()
        logs.append(prior + sum(math.log(PHI[k, place]) for k, place in zip(z, places, strict=True)))
    return special.logsumexp(logs)


def test_completion_is_the_exact_conditional_probability():
    cards = ([0, 0, 1, 2, 0], [2, 2], [0, 2, 2, 2, 1, 2])
    found, sizes = completion_log_probabilities(model(), visits(*cards), np.random.default_rng(0), samples=20_000)
    expected = [exact(card) - exact(card[::2]) for card in cards]
    assert sizes.tolist() == [2, 1, 3]
    assert found == pytest.approx(expected, abs=0.02)
    value = perplexity(model(), visits(*cards), np.random.default_rng(0), samples=20_000)
    assert value == pytest.approx(math.exp(-sum(expected) / 6), rel=0.02)


def test_cards_of_one_visit_are_left_out():
    one, two = (perplexity(model(), visits(*c), np.random.default_rng(0)) for c in (([0, 0],), ([0, 0], [2])))
    assert one == pytest.approx(two, rel=0.1)
    with pytest.raises(InvalidInput):
        perplexity(model(), visits([0], [1]), np.random.default_rng(0))


def test_a_better_model_has_a_smaller_perplexity():
    rng = np.random.default_rng(0)
    data = visits(*(rng.choice(3, 10, p=PHI[k]) for k in rng.integers(0, 2, 200)))
    flat = model(np.full((2, 3), 1 / 3))
    good = perplexity(model(), data, np.random.default_rng(1))
    assert good < perplexity(flat, data, np.random.default_rng(1)) == pytest.approx(3.0, abs=1e-6)


def test_times_count_where_the_model_has_them():
    psi = np.array([[0.9, 0.1], [0.1, 0.9]])
    data = Visits(starts=np.array([0, 2]), place=np.array([0, 0]), segment=np.array([0, 1]), places=3, segments=2)
    weights = model(psi=psi).weights(data)
    assert weights == pytest.approx(np.array([[0.7 * 0.9, 0.1 * 0.1], [0.7 * 0.1, 0.1 * 0.9]]))


def test_mixes_of_new_cards():
    found = mixes_of(model(), visits([0] * 30, [2] * 30), np.random.default_rng(0))
    assert found[0, 0] > 0.75
    assert found[1, 1] > 0.75
    assert found.sum(axis=1) == pytest.approx(1.0)


def test_rhat_by_its_definition():
    rng = np.random.default_rng(0)
    chains = rng.normal(size=(3, 40)) + np.array([[0.0], [0.5], [1.0]])
    halves = np.concatenate([chains[:, :20], chains[:, 20:]])
    n, w = 20, halves.var(axis=1, ddof=1).mean()
    b = n * halves.mean(axis=1).var(ddof=1)
    assert split_rhat(chains) == pytest.approx(math.sqrt(((n - 1) / n * w + b / n) / w))
    assert split_rhat(rng.normal(size=(4, 2000))) == pytest.approx(1.0, abs=0.01)
    assert split_rhat([[1.0] * 4, [2.0] * 4]) == math.inf
    assert split_rhat([[1.0] * 4]) == 1.0
    with pytest.raises(InvalidInput):
        split_rhat([[1.0, 2.0, 3.0]])
