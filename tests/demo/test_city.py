"""The simulated city: a network with zones, and records with the patterns that are claimed."""

import numpy as np
import pytest

from tacita.demo.city import build_city, simulate_taps
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput
from tacita.synthesize.mobility.reading import read_trips


@pytest.fixture(scope="module")
def city():
    return build_city(lines=4, stations=8, stops=1, days=14)


@pytest.fixture(scope="module")
def taps(city):
    return simulate_taps(city, 2000, 3)


def test_records_fit_their_schema(city, taps):
    checked = LocalEngine(city.schema.domain, taps).check()
    assert checked.fits
    assert len(city.places) == 1 + 4 * 8 * 2
    assert len(set(city.places.zones)) > 8


def test_weekdays_have_two_peaks_and_weekends_none(city, taps):
    trips = read_trips(taps, city.schema)
    hours = np.bincount(trips.entry[~trips.weekend] // 60, minlength=24)
    assert hours[8] > 3 * hours[12]
    assert hours[18] > 2 * hours[12]
    weekend = np.bincount(trips.entry[trips.weekend] // 60, minlength=24)
    assert 11 <= int(np.argmax(weekend)) <= 16
    assert 0.005 < (trips.destination < 0).mean() < 0.02


def test_a_seed_fixes_everything(city, taps):
    assert simulate_taps(city, 2000, 3).equals(taps)
    assert not simulate_taps(city, 2000, 4).equals(taps)
    assert build_city(lines=4, stations=8, stops=1, days=14).places.as_dict() == city.places.as_dict()
    with pytest.raises(InvalidInput):
        build_city(lines=1)
    with pytest.raises(InvalidInput):
        simulate_taps(city, 0, 1)


def test_distance_decides_travel_times(city, taps):
    trips = read_trips(taps, city.schema).complete()
    away = city.places.distances(trips.origin, trips.destination)
    assert np.corrcoef(away, trips.minutes)[0, 1] > 0.7
