"""Topic models: they find what was planted, and the same seed gives the same model."""

import numpy as np
import pytest

from tacita.demo.commuters import simulate_communities
from tacita.errors import InvalidInput
from tacita.synthesize.mobility.reading import Visits
from tacita.synthesize.mobility.topic_models.communities import assign, jaccard_matrix, match_communities, members_of
from tacita.synthesize.mobility.topic_models.topics import Topics


@pytest.fixture(scope="module")
def planted():
    return simulate_communities(np.random.default_rng(0), theta=1.2, communities=4, commuters=150, places=400)


def test_planted_communities_are_found(planted):
    visits, truth, _ = planted
    model = Topics(kind="slda", topics=4, sweeps=200).fit(visits, np.random.default_rng(1))
    matched = match_communities(jaccard_matrix(assign(model.theta), members_of(truth)))[2]
    assert matched.min() > 0.9
    assert model.theta.sum(axis=1) == pytest.approx(1.0)
    assert model.phi.sum(axis=1) == pytest.approx(1.0)
    assert model.psi is None
    assert (np.diff(model.traces.mean(axis=0)[:5]) > 0).any(), "the likelihood rises at first"


def test_times_separate_where_places_do_not():
    rng = np.random.default_rng(0)
    early = np.repeat([True, False], 100)
    number = 12
    starts = np.arange(201) * number
    hour = np.where(np.repeat(early, number), rng.integers(6, 10, 2400), rng.integers(18, 22, 2400))
    place = rng.integers(0, 30, 2400)
    visits = Visits(starts=starts, place=place, segment=hour, places=30, segments=24)
    for kind in ("tlda", "stlda"):
        model = Topics(kind=kind, topics=2, sweeps=120).fit(visits, np.random.default_rng(1))
        matched = match_communities(jaccard_matrix(assign(model.theta), members_of((~early).astype(int))))[2]
        assert matched.min() > 0.95, kind
        assert model.psi[:, 10:18].sum() < 0.1
        assert (model.phi is None) == (kind == "tlda")


def test_a_seed_fixes_the_model_whatever_the_workers(planted):
    visits, *_ = planted
    recipe = Topics(kind="slda", topics=4, sweeps=80, chains=3)
    one, two = (recipe.fit(visits, np.random.default_rng(3), workers=workers) for workers in (1, 3))
    other = recipe.fit(visits, np.random.default_rng(4))
    assert np.array_equal(one.traces, two.traces)
    assert np.array_equal(one.phi, two.phi)
    assert np.array_equal(one.z, two.z)
    assert not np.array_equal(one.traces, other.traces)


def test_progress_is_reported(planted):
    seen = []
    Topics(topics=2, sweeps=80, chains=1).fit(planted[0], np.random.default_rng(0), progress=seen.append)
    assert seen[-1] == 1.0
    assert seen == sorted(seen)


@pytest.mark.parametrize(
    "wrong",
    [{"kind": "lda"}, {"topics": 1}, {"alpha": 0.0}, {"sweeps": 70}, {"chains": 0}, {"every": 0}, {"gamma": -1.0}],
)
def test_refusals(wrong):
    with pytest.raises(InvalidInput):
        Topics(**wrong)


def test_no_visits_are_refused():
    none = np.zeros(0, np.int64)
    with pytest.raises(InvalidInput):
        Topics().fit(
            Visits(starts=np.array([0]), place=none, segment=none, places=1, segments=1), np.random.default_rng()
        )
