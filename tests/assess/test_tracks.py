import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

from tacita.assess.tracks import Route, read_tracks, route_of
from tacita.domain import Categorical, Date, Domain, Identifier, Numeric
from tacita.errors import InvalidInput

WHO, DAY, TOWN = (
    Identifier(name="who"),
    Date(name="day", bounds=(dt.date(2026, 1, 1), dt.date(2026, 12, 31)), by="month"),
    Categorical(name="town", levels=["a", "b", "c"]),
)
VISITS = Domain(attributes=[WHO, DAY, TOWN], person="who")
ROUTE = Route(person="who", time="day", place="town")


def test_places_of_a_person_in_the_order_of_time():
    table = pa.table(
        {
            "who": ["x", "y", "x", None, "x", "y"],
            "day": ["2026-03-01", "2026-01-05", "2026-01-01", "2026-01-01", "2026-02-01", None],
            "town": ["a", "b", "c", "a", "b", "c"],
        }
    )
    assert [track.tolist() for track in read_tracks(VISITS, table, ROUTE)] == [[2, 1, 0], [1]]


def test_the_schema_states_the_route_where_it_is_clear():
    assert route_of(VISITS) == ROUTE
    assert route_of(Domain(attributes=[DAY, TOWN])) is None
    hour = Numeric(name="hour", bounds=(0, 24), bins=24, integer=True)
    more = Domain(attributes=[WHO, DAY, TOWN, hour], person="who")
    assert route_of(more) is None  # which of the two is the place?
    assert route_of(more, "hour", "town") == Route(person="who", time="hour", place="town")


@pytest.mark.parametrize(
    ("domain", "time", "place"),
    [(Domain(attributes=[DAY, TOWN]), "day", "town"), (VISITS, "day", "day"), (VISITS, "day", "nowhere")],
)
def test_bad_routes(domain, time, place):
    with pytest.raises((InvalidInput, LookupError)):
        route_of(domain, time, place)


def test_bad_visits():
    rows = {"who": ["x"], "day": ["2026-03-01"], "town": ["a"]}
    with pytest.raises(InvalidInput, match="who"):
        read_tracks(VISITS, pa.table(rows).drop_columns(["who"]), ROUTE)
    with pytest.raises(InvalidInput, match="ordered"):
        read_tracks(VISITS, pa.table(rows), Route(person="who", time="town", place="day"))
    with pytest.raises(InvalidInput, match="visits"):
        read_tracks(VISITS, pa.table(rows | {"day": np.array([None])}), ROUTE)
