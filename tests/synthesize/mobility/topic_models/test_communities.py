"""Communities: membership, matching against all permutations, classification by both rules."""

import itertools

import numpy as np
import pytest

from tacita.errors import InvalidInput
from tacita.synthesize.mobility.reading import Visits
from tacita.synthesize.mobility.topic_models.communities import (
    assign,
    classify,
    describe,
    jaccard_matrix,
    match_communities,
    members_of,
    time_profiles,
)
from tacita.synthesize.mobility.topic_models.topics import Topics

THETA = np.array([[0.5, 0.45, 0.05], [0.2, 0.2, 0.6], [0.34, 0.33, 0.33]])


def test_a_threshold_is_no_partition():
    assert [each.tolist() for each in assign(THETA)] == [[0, 2], [], [1]]
    assert [each.tolist() for each in assign(THETA, tau=0.4)] == [[0], [0], [1]]
    for bad in (0.0, 1.0, -1):
        with pytest.raises(InvalidInput):
            assign(THETA, tau=bad)


def test_jaccard_by_its_definition():
    rng = np.random.default_rng(0)
    found, truth = rng.integers(0, 4, 60), rng.integers(0, 5, 60)
    matrix = jaccard_matrix(members_of(found), members_of(truth))
    for a, b in itertools.product(range(4), range(5)):
        one, other = set(np.flatnonzero(found == a)), set(np.flatnonzero(truth == b))
        assert matrix[a, b] == pytest.approx(len(one & other) / len(one | other))
    assert jaccard_matrix([np.zeros(0, int)], [np.array([1])]).tolist() == [[0.0]]


def test_the_matching_is_the_best_of_all():
    matrix = np.random.default_rng(1).random((5, 5))
    best = max(sum(matrix[i, j] for i, j in enumerate(order)) for order in itertools.permutations(range(5)))
    rows, columns, values = match_communities(matrix)
    assert values.sum() == pytest.approx(best)
    assert matrix[rows, columns].tolist() == values.tolist()
    assert len(match_communities(matrix[:, :3])[0]) == 3


def test_the_two_rules_differ_where_one_place_dominates():
    """An inner product is won by the topic with the larger share of one place; the likelihood sees the impossible."""
    phi = np.array([[0.90, 0.099, 0.001], [0.4, 0.3, 0.3]])
    visits = Visits(
        starts=np.array([0, 4, 4]),
        place=np.array([0, 0, 2, 2]),
        segment=np.zeros(4, int),
        places=3,
        segments=1,
    )
    counts = np.array([2, 0, 2])
    assert classify(visits, phi, "inner").tolist() == [int(np.argmax(phi @ counts)), -1]
    assert classify(visits, phi, "likelihood").tolist() == [int(np.argmax(np.log(phi) @ counts)), -1]
    assert classify(visits, phi, "inner")[0] != classify(visits, phi, "likelihood")[0]
    with pytest.raises(InvalidInput):
        classify(visits, phi, "other")


@pytest.mark.parametrize("kind", ["slda", "tlda", "stlda"])
def test_descriptions_name_places_and_times(trips, kind):
    visits = trips.visits()
    model = Topics(kind=kind, topics=3, sweeps=80, chains=1).fit(visits, np.random.default_rng(0))
    found = describe(model, visits, trips.schema.places.labels, top=4)
    assert sum(each.cards for each in found) == trips.cards
    profiles = time_profiles(model, visits)
    assert profiles.sum(axis=1) == pytest.approx(1.0)
    for each, profile in zip(found, profiles, strict=True):
        assert len(each.places) == 4
        assert all(name in trips.schema.places.labels for name, _ in each.places)
        assert each.peaks[0] == f"{int(np.argmax(profile)):02d}:00"
        assert each.as_dict()["cards"] == each.cards
    if kind == "slda":
        brute = np.bincount(visits.segment[model.z == 1], minlength=24)
        assert profiles[1] == pytest.approx(brute / brute.sum())
