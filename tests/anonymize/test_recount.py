"""Criteria of any table, from the values in it."""

import pyarrow as pa
import pytest

from tacita.anonymize.recount import measure


def test_measure_counts_people_and_nulls():
    table = pa.table(
        {
            "age": ["1", "1", "1", None, None],
            "who": ["a", "a", "b", "c", "d"],
            "ill": ["x", "x", "y", "x", "y"],
            "pay": [1, 2, 3, 1, 3],
        }
    )
    rows = measure(table, ["age"], sensitive=["ill", "pay"])
    assert (rows.k, rows.classes, rows.people, rows.unique) == (2, 2, 5, 0)
    assert rows.l == {"ill": 2, "pay": 2}
    people = measure(table, ["age"], person="who", sensitive=["ill"])
    assert (people.k, people.people, people.alpha["ill"]) == (2, 4, 0.5)
    assert measure(table, ["age", "who"]).unique == 3
    assert rows.t["pay"] == pytest.approx((abs(1 / 2 - 2 / 5) + abs(1 / 2 - 3 / 5)) / 2)
