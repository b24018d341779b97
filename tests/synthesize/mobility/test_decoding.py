"""Codes of trips as tap records, and back."""

import json

import numpy as np

from tacita.privacy.event import Pure
from tacita.synthesize.mobility.decoding import TripCodes, tap_table
from tacita.synthesize.mobility.places import Places
from tacita.synthesize.mobility.reading import read_trips
from tacita.synthesize.mobility.schema import TapSchema


def test_trips_come_back_as_they_were(trips):
    whole = trips.complete()
    names = ("card", "day", "entry", "minutes", "origin", "destination", "mode", "payment", "category")
    codes = TripCodes(**{name: getattr(whole, name) for name in names})
    table = tap_table(whole.schema, codes, event=Pure(epsilon=1.0), simulated=True, first=7)
    again = read_trips(table, whole.schema)
    for name in names:
        assert np.array_equal(getattr(again, name), getattr(whole, name)), name
    assert table.column_names == [name for name in whole.schema.domain.names if name in table.column_names]
    assert set(table["card"].to_pylist()) == set(range(7, 7 + whole.cards)), "new numbers, no key of the data"
    assert json.loads(table.schema.metadata[b"tacita"])["simulated"] is True


def test_a_trip_may_end_on_the_next_day(tiny):
    ones = np.zeros(1, np.int64)
    codes = TripCodes(
        card=ones,
        day=ones,
        entry=ones + 1430,
        minutes=ones + 45,
        origin=ones,
        destination=ones + 1,
        mode=ones,
        payment=ones,
        category=ones,
    )
    (row,) = tap_table(tiny, codes, event=Pure(epsilon=1.0), simulated=False).to_pylist()
    assert (row["exit_date"] - row["entry_date"]).days == 1
    assert (row["entry_time"], row["exit_time"]) == (1410, 30), "as the start of the bin of 30 minutes"
    assert row["payment"] == "cash"


def test_public_modes_of_places_win(tiny):
    places = Places.from_dict(tiny.places.as_dict() | {"modes": ["bus", "", "rail", "ferry"]})
    schema = TapSchema.of(tiny.domain, places=places)
    zeros = np.zeros(4, np.int64)
    codes = TripCodes(
        card=zeros,
        day=zeros,
        entry=np.arange(4) * 60,
        minutes=zeros + 5,
        origin=np.arange(4),
        destination=zeros,
        mode=zeros,
        payment=zeros,
        category=zeros,
    )
    table = tap_table(schema, codes, event=Pure(epsilon=1.0), simulated=False)
    assert table["mode"].to_pylist() == ["bus", "rail", "rail", "rail"], "as drawn where none of the levels is public"
