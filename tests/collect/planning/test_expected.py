"""Expected errors against whole collections, and the choice over a range of dependence."""

import itertools

import numpy as np
import pytest

from tacita.collect.estimating.tally import Tally, respond
from tacita.collect.planning.expected import expected_error, judge
from tacita.collect.planning.plan import plan_collection
from tacita.domain import Boolean, Domain
from tacita.noise import SeededSource
from tacita.plans.rehearsal import dependent_population
from tacita.tables.workload import Workload

DOMAIN = Domain(attributes=[Boolean(name=f"x{i}") for i in range(6)])
PAIRS = Workload.all(DOMAIN, 2)


def designs(people, epsilon):
    return {
        mode: plan_collection(DOMAIN, PAIRS, respondents=people, epsilon=epsilon, mode=mode)
        for mode in ("singles", "tables")
    }


def test_noise_of_single_attributes_is_that_of_collections():
    """Where nothing depends and only singles are asked, the error is noise of single attributes alone."""
    design = designs(20_000, 1.0)["singles"]
    population = dependent_population(DOMAIN, DOMAIN.names, dependence=0.0, seed=1)
    gaps = []
    for seed in range(12):
        codes = population.sample(20_000, np.random.default_rng(seed))
        raw = Tally(design).add(respond(design, codes, SeededSource(seed), seed=seed + 100)).releases()
        for a, b in itertools.combinations(DOMAIN.names, 2):
            product = np.outer(raw[a,].values, raw[b,].values)
            gaps.append(np.abs(product - population.project((a, b)).values).sum() / 2)
    # margins are not even, so that a product moves a little less than an even one
    assert expected_error(design, PAIRS, dependence=0.0) == pytest.approx(np.mean(gaps), rel=0.2)


def test_unmeasured_pairs_are_missed_by_their_dependence():
    design = designs(10**9, 4.0)["singles"]
    for dependence in (0.0, 0.05, 0.2):
        assert expected_error(design, PAIRS, dependence=dependence) == pytest.approx(dependence, abs=1e-3)


def test_errors_fall_with_people_and_rise_with_dependence():
    for mode in ("singles", "tables"):
        few, many = (designs(people, 1.0)[mode] for people in (5000, 50_000))
        errors = [expected_error(few, PAIRS, dependence=d) for d in (0.0, 0.05, 0.1, 0.3)]
        assert errors == sorted(errors)
        assert expected_error(many, PAIRS, dependence=0.1) < errors[2]


def test_regret_decides_and_not_one_guess():
    """Singles win where nothing depends and people are few; tables win in the mean of a range."""
    many, few = judge(designs(50_000, 2.0), PAIRS, dependence=0.1), judge(designs(2000, 0.5), PAIRS, dependence=0.02)
    assert few.errors["singles"][0] < few.errors["tables"][0]
    assert (many.best, few.best) == ("tables", "singles")
    assert many.dependences == (0.0, 0.025, 0.05, 0.1, 0.2)
    assert many.middle("singles") == pytest.approx(
        expected_error(designs(50_000, 2.0)["singles"], PAIRS, dependence=0.1)
    )
    assert min(many.regrets.values()) >= 1
