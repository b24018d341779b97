"""Raw tap records of operators, in the form of the schema."""

import datetime as dt

import pyarrow as pa
import pytest

from tacita.errors import InvalidInput, NotPublic
from tacita.synthesize.mobility.loading import draft_domain, load_taps
from tacita.synthesize.mobility.places import Places
from tacita.synthesize.mobility.reading import read_trips
from tacita.synthesize.mobility.schema import TapSchema

PLACES = Places(ids=("A", "B"), names=("Alpha", "Beta"))


def raw(**more):
    columns = {
        "CARD_NUMBER": ["x", "x", "y"],
        "Transport Mode": ["rail", "bus", "bus"],
        "ENTRY_DATE": ["01/08/2011", "2011-08-01", "20110802"],
        "entry time": ["7:05", "18:00:59", "235901"],
        "EXIT_DATE": ["01/08/2011", None, "20110803"],
        "exit time": ["07:40", "", "001000"],
        "Payment Mode": ["a", "a", "b"],
        "Commuter Category": ["adult"] * 3,
        "Origin Location ID": ["A", "Beta", "A"],
        "Destination Location ID": ["Beta", "", "somewhere"],
        "FARE": [1, 2, 3],
    }
    return pa.table(columns | more)


def test_the_records_of_ez_link_are_found_by_themselves():
    taps = load_taps(raw(), places=PLACES)
    assert "FARE" not in taps.column_names
    assert taps["entry_date"].to_pylist() == [dt.date(2011, 8, 1), dt.date(2011, 8, 1), dt.date(2011, 8, 2)]
    assert taps["entry_time"].to_pylist() == [425, 1080, 1439]
    assert taps["exit_time"].to_pylist() == [460, None, 10]
    assert taps["origin"].to_pylist() == ["A", "B", "A"]
    assert taps["destination"].to_pylist() == ["B", None, None]


def test_timestamps_and_times_are_read():
    stamp = pa.array([dt.datetime(2011, 8, 1, 7, 5)] * 3)
    taps = load_taps(raw(ENTRY_DATE=stamp, **{"entry time": pa.array([dt.time(7, 5)] * 3)}), places=PLACES)
    assert taps["entry_date"].to_pylist() == [dt.date(2011, 8, 1)] * 3
    assert taps["entry_time"].to_pylist() == [425] * 3
    assert load_taps(raw(**{"entry time": stamp}))["entry_time"].to_pylist() == [425] * 3


def test_the_draft_marks_what_was_read_off_the_records():
    taps = load_taps(raw(), places=PLACES)
    drafted = draft_domain(taps, PLACES)
    assert set(drafted.unconfirmed) == {"entry_date", "exit_date", "mode", "payment", "category"}
    alone = draft_domain(load_taps(raw()))
    assert "origin" in alone.unconfirmed
    assert alone["origin"].levels == ("A", "Beta", "somewhere"), "an empty text is no place"
    with pytest.raises(NotPublic):
        drafted.require_public()
    trips = read_trips(taps, TapSchema.of(drafted.confirm(), places=PLACES))
    assert (trips.cards, len(trips)) == (2, 3)
    assert sorted(trips.minutes.tolist()) == [-1, 11, 35]


def test_other_names_are_given():
    renamed = raw().rename_columns(
        ["c", "m", "d", "t", "e", "u", "p", "k", "from", "to", "f"],
    )
    names = {"card": "c", "entry_date": "d", "entry_time": "t", "origin": "from", "destination": "to"}
    assert load_taps(renamed, columns=names).column_names == [
        "card",
        "entry_date",
        "entry_time",
        "origin",
        "destination",
    ]
    with pytest.raises(InvalidInput, match="not among the columns"):
        load_taps(renamed)
    with pytest.raises(InvalidInput):
        load_taps(renamed, columns=names | {"origin": "nowhere"})
    with pytest.raises(InvalidInput):
        load_taps(renamed, columns={"stop": "c"})
    with pytest.raises(InvalidInput, match="date"):
        draft_domain(load_taps(raw(ENTRY_DATE=["?"] * 3, EXIT_DATE=["?"] * 3)))
