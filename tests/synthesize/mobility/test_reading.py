"""Tap records as codes, against a plain program; bounded cards against the engine."""

import numpy as np
import pyarrow as pa
import pytest

from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput
from tacita.privacy.unit import Unit
from tacita.synthesize.mobility.reading import Visits, bounded_trips, read_trips, segment_names
from tacita.tables.workload import Workload


def test_trips_are_those_of_the_records(tiny, tiny_taps):
    table = tiny_taps(
        {
            "y": [(1, 600, 0, 1, 20, 0), (0, 1430, 1, 0, 50, 1)],
            "x": [(0, 90, 2, None, None, 0)],
        }
    )
    trips = read_trips(table, tiny)
    assert (trips.cards, len(trips)) == (2, 3)
    first = int(trips.card[trips.origin == 1][0])
    assert trips.day[trips.card == first].tolist() == [0, 1], "sorted by time"
    assert trips.entry.tolist() in ([1410, 600, 90], [90, 1410, 600])  # bins of 30 minutes
    assert sorted(trips.minutes.tolist()) == [-1, 0, 60]  # 600 to 620 is one bin; 1430 to 40 past midnight
    assert sorted(trips.destination.tolist()) == [-1, 0, 1]
    assert len(trips.complete()) == 2
    assert trips.complete().cards == 1


def test_the_order_of_records_does_not_matter(city, taps):
    shuffled = taps.take(pa.array(np.random.default_rng(0).permutation(taps.num_rows)))
    one, other = (read_trips(table, city.schema) for table in (taps, shuffled))
    numbers = [np.sort(np.diff(trips.starts)).tolist() for trips in (one, other)]
    assert numbers[0] == numbers[1]
    pairs = [np.sort(trips.origin * 1000 + trips.destination).tolist() for trips in (one, other)]
    assert pairs[0] == pairs[1]


def test_extra_columns_and_rows_without_card_are_left_out(tiny, tiny_taps):
    table = tiny_taps({"x": [(0, 60, 0, 1, 30, 0)], "": [(0, 60, 0, 1, 30, 0)]})
    assert len(read_trips(table.append_column("fare", pa.array([1.0, 2.0])), tiny)) == 1
    with pytest.raises(InvalidInput, match="columns"):
        read_trips(table.drop_columns(["mode"]), tiny)


def test_visits_are_taps_in_the_order_of_time(tiny, tiny_taps):
    table = tiny_taps({"x": [(0, 60, 0, 1, 90, 0), (1, 600, 1, None, None, 0)]})
    visits = read_trips(table, tiny).visits("hour-of-week")
    assert visits.place.tolist() == [0, 1, 1]
    assert visits.segment.tolist() == [4 * 24 + 1, 4 * 24 + 2, 5 * 24 + 10]  # Friday, Friday, Saturday
    names = segment_names("hour-of-week")
    assert [names[segment] for segment in visits.segment] == ["Fri 01:00", "Fri 02:00", "Sat 10:00"]
    assert read_trips(table, tiny).visits(ends="origin").place.tolist() == [0, 1]
    assert read_trips(table, tiny).visits(ends="destination").place.tolist() == [1]


def test_visits_of_some_cards(trips):
    visits = trips.visits()
    some = visits.only(np.array([5, 2]))
    for place, card in enumerate((5, 2)):
        ours = some.place[some.starts[place] : some.starts[place + 1]]
        assert ours.tolist() == visits.place[visits.starts[card] : visits.starts[card + 1]].tolist()


@pytest.mark.parametrize("most", [1, 3, 100])
def test_bounded_trips_are_those_that_the_engine_counts(city, engine, most):
    unit = Unit.of_person("card", max_rows=most)
    trips = bounded_trips(engine, city.schema, unit)
    assert np.diff(trips.starts).max() <= most
    exact = engine.tables(Workload.of(("origin",), ("mode",)), unit)
    assert np.bincount(trips.origin, minlength=len(city.places)).tolist() == exact[("origin",)].values.tolist()
    assert np.bincount(trips.mode, minlength=4).tolist() == exact[("mode",)].values.tolist()


def test_an_engine_and_its_table_give_the_same_trips(city, taps, engine):
    one, other = read_trips(taps, city.schema), read_trips(engine, city.schema)
    for name in ("card", "day", "entry", "minutes", "origin", "destination", "mode", "payment", "category"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


def test_no_records_at_all(tiny, tiny_taps):
    empty = LocalEngine(tiny.domain, tiny_taps({}))
    assert len(bounded_trips(empty, tiny, Unit.of_person("card", max_rows=3))) == 0
    assert read_trips(tiny_taps({}), tiny).visits().cards == 0


@pytest.mark.parametrize("wrong", [{"place": [2]}, {"segment": [9]}, {"starts": [0, 2]}])
def test_visits_outside_their_codes_are_refused(wrong):
    good = {"starts": [0, 1], "place": [1], "segment": [3]}
    arrays = {name: np.array(values) for name, values in (good | wrong).items()}
    with pytest.raises(InvalidInput):
        Visits(**arrays, places=2, segments=4)


def test_unknown_folds_are_refused(trips):
    for given in ({"fold": "day"}, {"ends": "middle"}):
        with pytest.raises(InvalidInput):
            trips.visits(**given)
