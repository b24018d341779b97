"""Utility of trips: distances by brute force, chaining, and agreement of communities."""

from collections import Counter

import numpy as np
import pytest

from tacita.assess.mobility import case_of
from tacita.assess.utility.travel import agreement, chained_share, travel_utility
from tacita.demo.city import build_city, simulate_taps
from tacita.errors import InvalidInput
from tacita.synthesize.mobility.reading import read_trips


@pytest.fixture(scope="module")
def city():
    return build_city(lines=4, stations=6, stops=1)


@pytest.fixture(scope="module")
def sides(city):
    return [read_trips(simulate_taps(city, 800, seed), city.schema).complete() for seed in (1, 2)]


def variation(one, other):
    a, b = Counter(one), Counter(other)
    return 0.5 * sum(abs(a[cell] / len(one) - b[cell] / len(other)) for cell in a | b)


def test_distances_by_brute_force(city, sides):
    real, other = sides
    found = travel_utility(case_of(city.schema, real, other, None))
    rows = [list(zip(trips.origin.tolist(), trips.destination.tolist(), strict=True)) for trips in sides[::-1]]
    assert found.distances["pairs"] == pytest.approx(variation(*rows))
    hours = [list(zip(t.weekend.tolist(), (t.entry // 60).tolist(), strict=True)) for t in sides]
    assert found.distances["times"] == pytest.approx(variation(*hours))
    number = [np.diff(trips.starts).tolist() for trips in sides]
    assert found.distances["trips"] == pytest.approx(variation(*number))
    assert found.mean_trips[0] == pytest.approx(len(real) / real.cards)
    assert found.reference == {}
    assert {"zones", "lengths", "minutes", "places"} <= set(found.distances)


def test_the_data_itself_has_no_distance_and_the_control_some(city, sides):
    found = travel_utility(case_of(city.schema, sides[0], sides[0], sides[1]))
    assert max(found.distances.values()) == 0.0
    assert min(found.reference.values()) > 0.0
    assert len(found.facts) == len(found.distances) + 3
    assert found.as_dict()["mean_length"][0] == pytest.approx(found.mean_length[1])


def test_chains_are_counted_within_days(city, sides):
    trips = sides[0]
    right, pairs = 0, 0
    for i in range(1, len(trips)):
        if trips.card[i] == trips.card[i - 1] and trips.day[i] == trips.day[i - 1]:
            pairs += 1
            right += int(trips.origin[i] == trips.destination[i - 1])
    assert chained_share(trips) == pytest.approx(right / pairs)
    assert np.isnan(chained_share(trips.take(np.arange(1))))


def test_communities_of_the_same_city_agree_more_than_of_shuffled_trips(sides):
    rng = np.random.default_rng(0)
    real, other = sides
    shuffled = real.take(np.arange(len(real)))
    for name in ("origin", "destination"):
        object.__setattr__(shuffled, name, rng.permutation(getattr(real, name)))
    same = agreement(real, other, np.random.default_rng(1), topics=4, sweeps=150)
    mixed = agreement(real, shuffled, np.random.default_rng(1), topics=4, sweeps=150)
    assert same.jaccard > mixed.jaccard + 0.2
    assert same.likelihood > mixed.likelihood
    assert same.perplexity[1] < mixed.perplexity[1]
    assert len(same.facts) == 3
    assert same.as_dict()["cards"] == real.cards
    with pytest.raises(InvalidInput):
        agreement(real, other, rng, topics=1)


def test_rows_that_are_no_trips_have_none(city, sides):
    case = case_of(city.schema, *sides, None)
    object.__setattr__(case, "travel", None)
    assert travel_utility(case) is None
