"""Means from a tally: asked for by themselves, and read off tables; in the units of the data, with honest errors."""

import numpy as np
import pytest

from tacita.collect.estimating.means import collected_means
from tacita.collect.estimating.tally import Tally, respond
from tacita.collect.planning.plan import plan_collection
from tacita.domain import Categorical, Domain, Numeric
from tacita.errors import InvalidInput
from tacita.noise import SeededSource
from tacita.tables.workload import Workload

AGE = Numeric(name="age", bounds=(0, 100), edges=(0, 10, 20, 40, 60, 100), integer=True)
DOMAIN = Domain(attributes=(AGE, Categorical(name="sex", levels=("f", "m"))))
SHARES = np.array([0.1, 0.2, 0.3, 0.3, 0.1])
TRUTH = float(SHARES @ np.array([4.5, 14.5, 29.5, 49.5, 80.0]))


def tally(channel, people, seed, tables=(("age",),)):
    design = plan_collection(DOMAIN, Workload.of(*tables), respondents=people, epsilon=1.0, channel=channel)
    rng = np.random.default_rng(seed)
    codes = {"age": rng.choice(5, people, p=SHARES), "sex": rng.integers(0, 2, people)}
    return Tally(design).add(respond(design, codes, SeededSource(seed), seed=seed + 1))


@pytest.mark.parametrize("channel", ["rr", "unary", "wave", "duchi", "piecewise", "hybrid"])
def test_intervals_cover_the_mean_of_the_population(channel):
    found = [collected_means(tally(channel, 800, seed), level=0.9)[0] for seed in range(150)]
    inside = np.mean([mean.low <= TRUTH <= mean.high for mean in found])
    assert 0.82 < inside < 0.97
    errors = np.array([mean.mean for mean in found]) - TRUTH
    assert abs(errors.mean()) < 4 * errors.std() / np.sqrt(len(errors))
    assert np.mean([mean.std for mean in found]) == pytest.approx(errors.std(), rel=0.25)


def test_a_mean_states_what_it_cost_and_that_it_was_simulated():
    (mean,) = collected_means(tally("hybrid", 300, 1))
    assert mean.simulated
    assert (mean.attribute, mean.channel, mean.respondents, mean.level) == ("age", "HybridBins", 300, 0.95)
    assert 0.999 < mean.epsilon <= 1.0
    assert mean.as_dict()["bounds"] == [4.5, 80.0]


def test_only_numbers_that_were_asked_by_themselves_have_a_mean():
    both = tally("rr", 2000, 3, tables=(("age", "sex"), ("sex",)))
    assert {mean.attribute for mean in collected_means(both)} <= {"age"}
    assert collected_means(tally("rr", 500, 3, tables=(("sex",),))) == []


def test_a_tally_of_means_has_no_tables():
    found = tally("duchi", 300, 1)
    assert list(found) == []
    assert len(list(found.questions())) == 1
    with pytest.raises(InvalidInput, match="means only"):
        found.releases()
    with pytest.raises(InvalidInput, match="between 0 and 1"):
        collected_means(found, level=1.0)


def test_a_design_for_a_mean_predicts_its_error_and_refuses_to_be_a_table():
    found = tally("piecewise", 300, 1)
    (predicted,) = found.design.predict()
    (mean,) = collected_means(found)
    assert predicted.published == pytest.approx(mean.std / (80.0 - 4.5), rel=0.2)
    with pytest.raises(InvalidInput, match="mean"):
        _ = found.design.questions[0].oracle
