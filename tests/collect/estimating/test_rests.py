"""What a model leaves of the tables: nothing where it is right, all of it where reports are many and it is wrong."""

import itertools

import numpy as np
import pytest

from tacita.collect.estimating.evidence import Evidence
from tacita.collect.estimating.interactions import Interactions
from tacita.collect.estimating.rests import Rests
from tacita.collect.estimating.tally import Tally, respond
from tacita.collect.planning.design import Asked, CollectionDesign, best_for
from tacita.domain import Categorical, Domain
from tacita.models.mixture import Mixture
from tacita.noise import SeededSource

SIZES = (2, 3, 5, 2, 6)
DOMAIN = Domain(
    attributes=[Categorical(name=n, levels=[f"{n}{i}" for i in range(k)]) for n, k in zip("abcde", SIZES, strict=True)]
)
EVEN = Mixture(
    domain=DOMAIN, weights=np.ones(1), tables={n: np.full((1, DOMAIN[n].size), 1 / DOMAIN[n].size) for n in "abcde"}
)
VIEWS = (("a", "b", "d"), *itertools.combinations("abcde", 2))


def rests_of(codes, people):
    design = CollectionDesign(
        domain=DOMAIN,
        questions=tuple(
            Asked(attributes=v, channel=best_for(DOMAIN.project(v), 4.0, people), share=1 / len(VIEWS)) for v in VIEWS
        ),
        epsilon=4.0,
        respondents=people,
        mode="tables",
    )
    evidence = Evidence.of(Tally(design).add(respond(design, codes, SeededSource(1), seed=2)))
    return Rests(evidence, Interactions.of(evidence), EVEN)


def test_a_model_that_is_right_is_left_alone():
    rng, people = np.random.default_rng(1), 20_000
    found = rests_of({n: rng.integers(0, DOMAIN[n].size, people) for n in "abcde"}, people)
    assert found.parameters < 6
    for key in VIEWS:
        assert np.abs(found.corrected(key).values - 1 / DOMAIN.project(key).size).max() < 0.01


def test_many_reports_bring_back_what_the_model_does_not_know():
    """Singles, pairs of few and of many levels, and an interaction of three attributes."""
    rng, people = np.random.default_rng(2), 300_000
    codes = {n: rng.integers(0, DOMAIN[n].size, people) for n in "abcde"}
    codes["e"] = np.where(rng.random(people) < 0.5, (codes["c"] + 1) % 6, codes["e"])
    codes["b"] = np.where(rng.random(people) < 0.3, 0, codes["b"])
    codes["d"] = np.where(rng.random(people) < 0.6, (codes["a"] + (codes["b"] > 0)) % 2, codes["d"])
    found = rests_of(codes, people)
    for key in (("c", "e"), ("e", "c"), ("b", "c"), ("a", "b", "d"), ("b",)):
        truth = np.zeros(DOMAIN.project(key).shape)
        np.add.at(truth, tuple(codes[n] for n in key), 1 / people)
        gap = np.abs(found.corrected(key).values - truth).sum() / 2
        assert gap < 0.03
        assert gap < 0.3 * np.abs(truth - 1 / truth.size).sum() / 2
    assert found.corrected(("a", "b", "d")).sum() == pytest.approx(1)
