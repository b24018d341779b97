"""Assessment of tap records: the data itself is found out, other people's records are not."""

import numpy as np
import pyarrow as pa
import pytest

from tacita.assess.mobility import ATTACKS, assess_taps, visits_table
from tacita.demo.city import build_city, simulate_taps
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput
from tacita.synthesize.mobility.reading import read_trips


@pytest.fixture(scope="module")
def city():
    return build_city(lines=3, stations=4, stops=1)


@pytest.fixture(scope="module")
def tables(city):
    return [simulate_taps(city, 400, seed) for seed in (1, 2, 3)]


def test_visits_are_taps(city, tables):
    trips = read_trips(tables[0], city.schema)
    domain, visits = visits_table(trips)
    assert visits.num_rows == len(trips) + (trips.destination >= 0).sum()
    assert LocalEngine(domain, visits).check().fits
    assert visits["card"].to_pylist() == sorted(visits["card"].to_pylist())


def test_published_records_are_found_out(city, tables):
    real, control, _ = tables
    found = assess_taps(city.schema, real, real, np.random.default_rng(0), control=control, attempts=100)
    risks = {each.name: each.value for each in found.risks}
    assert risks["trajectories, exact copies"] > 0.9
    assert risks["trajectories, 4 known points"] > 0.8
    assert risks["membership, trajectories"] > 0.8
    assert found.risk > 0.9
    assert found.travel.distances["pairs"] == 0.0
    assert found.communities is None
    assert not found.skipped
    plain = found.as_dict()
    assert plain["people"] == found.people
    assert len(plain["attacks"]) == len(found.results) == 7


def test_records_of_others_reveal_no_one(city, tables):
    real, control, fresh = tables
    steps = []
    found = assess_taps(
        city.schema,
        LocalEngine(city.schema.domain, real),
        fresh,
        np.random.default_rng(0),
        control=control,
        attempts=100,
        topics=3,
        progress=lambda share, what: steps.append(share),
    )
    assert max(each.low for each in found.risks) == 0.0
    assert steps[-1] == 1.0
    assert 0 <= found.communities.jaccard <= 1
    assert 0 < found.travel.distances["pairs"] < 1


def test_without_a_control_membership_is_skipped(city, tables):
    found = assess_taps(city.schema, tables[0], tables[1], np.random.default_rng(0), attempts=60)
    assert [each.what for each in found.skipped] == ["membership, trajectories"]
    assert len(ATTACKS) == 4


def test_a_control_of_the_same_people_is_refused(city, tables):
    shuffled = tables[0].take(pa.array(np.random.default_rng(0).permutation(tables[0].num_rows)))
    with pytest.raises(InvalidInput, match="not used"):
        assess_taps(city.schema, tables[0], tables[1], np.random.default_rng(0), control=shuffled)
