"""z-anonymous rows of a log: each is counted again, by the definition, from the log itself."""

from __future__ import annotations

import datetime as dt
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from tacita.anonymize import AnonymizeEvents
from tacita.domain import Categorical, Date, Domain, Identifier, Numeric
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput

DOMAIN = Domain(
    attributes=[
        Identifier(name="user"),
        Numeric(name="minute", bounds=(0, 1000), bins=10, integer=True),
        Categorical(name="page", levels=("home", "news", "help")),
        Numeric(name="age", bounds=(0, 99), bins=3, integer=True),
    ],
    person="user",
)
PAGES = ["home", "home", "home", "news", "help", "a secret page"]


def log(seed: int, rows: int = 300) -> pa.Table:
    rng = np.random.default_rng(seed)
    users = [f"u{number}" if number else None for number in rng.integers(0, 25, rows)]
    return pa.table(
        {
            "user": users,
            "minute": rng.integers(0, 100, rows),
            "page": [PAGES[number] for number in rng.integers(0, len(PAGES), rows)],
            "age": rng.integers(0, 100, rows),
        }
    )


def by_definition(table: pa.Table, names: tuple[str, ...], z: int, window: int) -> Counter[tuple[object, ...]]:
    """Released rows, by comparing each row with all that came before it in the order of time."""
    rows = sorted(table.to_pylist(), key=lambda row: row["minute"])
    found: Counter[tuple[object, ...]] = Counter()
    age = DOMAIN["age"]

    def shown(row: dict[str, object]) -> tuple[object, ...]:
        bins = next(label for label, high in zip(age.labels, (33, 66, 100), strict=True) if int(row["age"]) < high)
        return tuple(bins if name == "age" else row[name] for name in names)

    usable = [row for row in rows if row["user"] is not None and row["page"] in ("home", "news", "help")]
    for place, row in enumerate(usable):
        before = usable[: place + 1]
        people = {
            each["user"]
            for each in before
            if shown(each) == shown(row) and row["minute"] - window < each["minute"] <= row["minute"]
        }
        if len(people) >= z:
            found[(row["minute"], *shown(row))] += 1
    return found


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("names", "z", "window"), [(("page",), 4, 20), (("page", "age"), 2, 15), (("page",), 1, 1)])
def test_rows_are_those_of_the_definition(seed: int, names: tuple[str, ...], z: int, window: int) -> None:
    table = log(seed)
    plan = AnonymizeEvents(time="minute", values=names, z=z, window=window).prepare(DOMAIN)
    result = plan.run(LocalEngine(DOMAIN, table))
    assert result.rows.column_names == ["minute", *names]
    rows = Counter(zip(*(column.to_pylist() for column in result.rows.columns), strict=True))
    assert rows == by_definition(table, names, z, window)
    assert sum(rows.values()) > 0
    assert result.as_dict()["suppressed"] == pytest.approx(1 - result.rows.num_rows / table.num_rows)


def test_a_stream_releases_what_the_whole_log_does() -> None:
    table = log(7).sort_by("minute")
    plan = AnonymizeEvents(time="minute", values=("page",), z=3, window=30).prepare(DOMAIN)
    stream = plan.stream()
    parts = [stream.push(table.slice(at, 17)) for at in range(0, table.num_rows, 17)]
    whole = plan.run(LocalEngine(DOMAIN, table)).rows
    order = [(name, "ascending") for name in whole.column_names]
    assert pa.concat_tables(parts).sort_by(order).equals(whole)
    known = stream.unusable
    late = pa.table({"user": ["x", None], "minute": [0, 0], "page": ["home", "home"], "age": [3, 3]})
    assert stream.push(late).num_rows == 0
    assert stream.unusable == known + 2  # one is late, one has no person


def test_times_beyond_the_bounds_are_never_released() -> None:
    times = [-(2**63), 1001, 2**63 - 1]
    table = pa.table({"user": ["a", "b", "c"], "minute": times, "page": ["home"] * 3, "age": [3] * 3})
    plan = AnonymizeEvents(time="minute", values=("page",), z=1, window=5).prepare(DOMAIN)
    assert plan.run(LocalEngine(DOMAIN, table)).rows.column("minute").to_pylist() == [0, 1000, 1000]


def test_times_may_be_dates_or_texts() -> None:
    dates = Domain(
        attributes=[
            Identifier(name="user"),
            Date(name="day", bounds=(dt.date(2026, 1, 1), dt.date(2026, 12, 31))),
            Categorical(name="page", levels=("home", "news")),
        ],
        person="user",
    )
    rows = pa.table(
        {
            "user": ["a", "b", "c", "a", ""],
            "day": ["2026-01-05", "2026-01-01", "2026-02-20", "2026-02-21", "2026-01-05"],
            "page": ["home", "home", "home", "home", "home"],
        }
    )
    result = AnonymizeEvents(time="day", values=("page",), z=2, window=10).prepare(dates).run(LocalEngine(dates, rows))
    assert result.rows.to_pylist() == [
        {"day": dt.date(2026, 1, 5), "page": "home"},
        {"day": dt.date(2026, 2, 21), "page": "home"},
    ]
    assert result.unusable == 1


@pytest.mark.parametrize(
    ("time", "values", "match"),
    [
        ("page", ("age",), "whole number"),
        ("minute", (), "at least one"),
        ("minute", ("page", "page"), "twice"),
        ("minute", ("user",), "never released"),
        ("minute", ("minute",), "twice"),
    ],
)
def test_wrong_columns_are_refused(time: str, values: tuple[str, ...], match: str) -> None:
    with pytest.raises(InvalidInput, match=match):
        AnonymizeEvents(time=time, values=values, z=2, window=5).prepare(DOMAIN)


def test_a_time_that_is_no_number_is_suppressed() -> None:
    table = pa.table({"user": ["a", "b"], "minute": ["noon", "4"], "page": ["home"] * 2, "age": ["3"] * 2})
    plan = AnonymizeEvents(time="minute", values=("page",), z=1, window=5).prepare(DOMAIN)
    result = plan.run(LocalEngine(DOMAIN, table))
    assert (result.rows.column("minute").to_pylist(), result.unusable) == ([4], 1)
