"""Features of cards against a plain program; contributions that never exceed one unit."""

import numpy as np
import pytest

from tacita.synthesize.mobility.features import ENDED, GRID, STATES, STEPS, Features, class_limits, once, spread
from tacita.synthesize.mobility.reading import read_trips


def plain(card):
    """Home, main place and steps of one card's trips [(day, minute, origin, destination)], sorted by time."""
    firsts = [trip for place, trip in enumerate(card) if place == 0 or card[place - 1][0] != trip[0]]
    starts = [trip[2] for trip in firsts]
    home = max(dict.fromkeys(starts), key=starts.count)
    ends = [place for trip in card for place in trip[2:4] if place != home]
    main = max(dict.fromkeys(ends), key=ends.count) if ends else home
    steps, state, at, began, day = [], 0, None, None, None
    for trip in card:
        if trip[0] != day:
            if day is not None:
                steps.append((state, ENDED))
            state, at, began, day = 0, None, trip[2], trip[0]
        _, _, origin, destination = trip
        left = 0 if origin == home else 1 if origin == main else 2 if origin == at else 3
        to = 0 if destination == home else 1 if destination == main else 3 if destination == began else 2
        steps.append((state, left * 4 + to))
        state, at = 1 + to, destination
    steps.append((state, ENDED))
    return home, main, steps


@pytest.fixture(scope="module")
def features(trips):
    return Features(trips.complete(), 40)


def test_anchors_and_chains_against_a_plain_program(features):
    trips = features.trips
    home, main = features.anchors
    owner, cells = features.chain
    for card in range(0, trips.cards, 7):
        part = slice(trips.starts[card], trips.starts[card + 1])
        columns = (trips.day, trips.entry, trips.origin, trips.destination)
        rows = list(zip(*(column[part].tolist() for column in columns), strict=True))
        expected = plain(rows)
        assert (home[card], main[card]) == expected[:2]
        found = [((cell // STEPS) % STATES, cell % STEPS) for cell in cells[owner == card].tolist()]
        assert sorted(found) == sorted(expected[2])


def test_periods_follow_the_last_exit(features):
    trips, (_, _, state) = features.trips, features.labels
    for i in range(1, 3000):
        expected = 0
        if state[i] > 0:
            ended = trips.entry[i - 1] + trips.minutes[i - 1]
            expected = 1 + (ended >= 720) + (ended >= 1020)
        assert features.period[i] == expected


def test_other_places_are_neither_home_nor_main(features):
    home, main = features.anchors
    card, place = features.others
    assert ((place != home[card]) & (place != main[card])).all()
    ends = np.stack([features.trips.origin, features.trips.destination], axis=1).ravel()
    owner = np.repeat(features.trips.card, 2)
    assert len(place) == ((ends != home[owner]) & (ends != main[owner])).sum()


def test_days_are_counted_once(features):
    pairs = np.unique(np.stack([features.trips.card, features.trips.day]), axis=1)
    assert np.array_equal(np.stack(features.active), pairs)


def test_classes_have_public_limits():
    assert class_limits(20) == (1, 11)
    for most in range(1, 60):
        limits = class_limits(most)
        assert limits[0] == 1
        assert limits[-1] <= most


@pytest.mark.parametrize("events", [1, 2, 7, 119, 121, 500])
def test_a_card_weighs_exactly_one_unit(events):
    rng = np.random.default_rng(events)
    cell = rng.integers(0, 5, events)
    counts = spread(np.zeros(events, np.int64), cell, 5)
    assert counts.sum() == GRID
    assert (counts >= 0).all()
    if events <= GRID:  # more events than steps: only some of them weigh
        share = np.bincount(cell, minlength=5) / events
        assert counts / GRID == pytest.approx(share, abs=events / GRID / 2 + 1e-9 if events > 60 else 3 / GRID)


def test_cards_add_up():
    rng = np.random.default_rng(0)
    card, cell = np.sort(rng.integers(0, 30, 400)), rng.integers(0, 9, 400)
    apart = sum(spread(card[card == each], cell[card == each], 9) for each in range(30))
    assert np.array_equal(spread(card, cell, 9), apart)
    assert spread(card[:0], cell[:0], 9).tolist() == [0] * 9
    assert once(np.array([2, 2]), 3).tolist() == [0, 0, 2]


def test_one_trip_is_enough(tiny, tiny_taps):
    features = Features(read_trips(tiny_taps({"x": [(0, 60, 2, 2, 30, 0)]}), tiny), 3)
    assert [int(each[0]) for each in features.anchors] == [2, 2]
    assert features.number.tolist() == [1]
