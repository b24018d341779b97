import itertools
import math

import numpy as np
import pytest
from scipy import stats

from tacita.domain import Boolean, Categorical, Date, Domain, Numeric
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput
from tacita.plans.rehearsal import (
    Trials,
    check_people,
    dependent_population,
    mean_distance,
    simulate_people,
)

DOMAIN = Domain(
    attributes=[
        Numeric(name="age", bounds=(0, 100), bins=6, missing=True),
        Categorical(name="place", levels=("a", "b", "c"), other=True),
        Date(name="since", bounds=("2000-01-01", "2003-12-31"), by="year"),
        Boolean(name="smokes"),
    ]
)
PAIRS = list(itertools.combinations(DOMAIN.countable, 2))


def dependence(population):
    tables = [population.project(key).values for key in PAIRS]
    return np.mean([np.abs(table - np.outer(table.sum(1), table.sum(0))).sum() / 2 for table in tables])


def test_simulated_rows_fit_the_schema():
    engine = LocalEngine(DOMAIN, simulate_people(DOMAIN, DOMAIN.countable, 500, np.random.default_rng(1)))
    found = engine.check()
    assert found.rows == 500
    assert found.fits
    assert engine.project(["place", "smokes"]).sum() == 500


@pytest.mark.parametrize("wanted", [0.0, 0.05, 0.2])
def test_populations_are_as_dependent_as_asked(wanted):
    found = dependence(dependent_population(DOMAIN, DOMAIN.countable, dependence=wanted, seed=1))
    assert found == pytest.approx(wanted, abs=1e-3)


def test_simulated_people_follow_the_groups_that_were_drawn():
    """Against the definition: the group first, then each attribute by the distribution of the group."""
    rng = np.random.default_rng(3)
    group = rng.integers(0, 3, 2000)
    habits = rng.dirichlet(np.full(DOMAIN["place"].size, 0.7), 3).cumsum(axis=1)
    codes = (rng.random(2000)[:, None] > habits[group]).sum(axis=1)
    only = DOMAIN.project(["place"])
    found = LocalEngine(only, simulate_people(only, ["place"], 2000, np.random.default_rng(3)))
    assert found.project(["place"]).values.tolist() == np.bincount(codes, minlength=DOMAIN["place"].size).tolist()


def test_groups_make_attributes_dependent():
    table = LocalEngine(DOMAIN, simulate_people(DOMAIN, DOMAIN.countable, 50_000, np.random.default_rng(2)))
    shares = [table.project(key).values / 50_000 for key in PAIRS]
    assert np.mean([np.abs(t - np.outer(t.sum(1), t.sum(0))).sum() / 2 for t in shares]) > 0.02


def test_the_distance_reads_counts_as_shares():
    population = dependent_population(DOMAIN, DOMAIN.countable, dependence=0.1, seed=1)
    other = dependent_population(DOMAIN, DOMAIN.countable, dependence=0.1, seed=2)
    expected = np.abs(population.project(["smokes"]).values - other.project(["smokes"]).values).sum() / 2
    assert mean_distance(population, other, [("smokes",)]) == pytest.approx(expected)
    assert mean_distance(population, population, PAIRS) == 0.0


def test_trials_have_their_own_seeds_and_student_intervals():
    seeds = []

    def trial(seed):
        seeds.append(seed)
        return float(seed), 2.0

    found = Trials.run(trial, trials=4, seed=3)
    assert seeds == [3, 4, 5, 6]
    assert found.means == (4.5, 2.0)
    interval = stats.ttest_1samp([3, 4, 5, 6], 0).confidence_interval(0.95)
    assert found.margins[0] == pytest.approx((interval.high - interval.low) / 2)
    assert found.margins[1] == 0.0
    assert Trials.run(trial, trials=1).margins == (math.inf, math.inf)


def test_refusals():
    with pytest.raises(InvalidInput, match="people"):
        check_people(1)
    for many in (101, 10**400):
        with pytest.raises(InvalidInput, match="people"):
            check_people(many, 100)
    check_people(100, 100)
