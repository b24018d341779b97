"""Distinct rows counted in parts are those of the rows in one place, and so are the classes that are made of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.support.parts import PartsEngine

from tacita.anonymize.distinct_counts import CountDistinct, DistinctCounts, distinct_of
from tacita.anonymize.quasi import DistinctRows, read_distinct_rows
from tacita.domain import Categorical, Domain, Identifier, Numeric, Ordinal

ATTRIBUTES = [
    Numeric(name="age", bounds=(0, 99), bins=9, missing=True),
    Categorical(name="zip", levels=["a", "b", "c", "d"], missing=True),
    Ordinal(name="school", levels=["none", "some", "much"], missing=True),
    Categorical(name="ill", levels=["flu", "cold", "gout"], missing=True),
]
QUASI, SENSITIVE = ("age", "zip", "school"), ("ill",)
PLAIN = Domain(attributes=ATTRIBUTES)
KEYED = Domain(attributes=[Identifier(name="who"), *ATTRIBUTES], person="who")


def some_rows(rows: int, seed: int, persons: int = 60) -> pa.Table:
    """Several spellings of a number, undeclared levels, missing values, rows without a key, equal rows."""
    rng = np.random.default_rng(seed)
    ages = [("7", "7.0", "07", "", "31", "44")[n] for n in rng.integers(0, 6, rows)]
    return pa.table(
        {
            "who": [f"p{n}" if n else "" for n in rng.integers(0, persons, rows)],
            "age": ages,
            "zip": [("a", "b", "c", "?", None)[n] for n in rng.integers(0, 5, rows)],
            "school": [("none", "some", "much", None)[n] for n in rng.integers(0, 4, rows)],
            "ill": [("flu", "cold", "gout", None, "else")[n] for n in rng.integers(0, 5, rows)],
        }
    )


def both(domain: Domain, rows: pa.Table, sensitive: Any = SENSITIVE) -> tuple[DistinctRows, DistinctRows]:
    table = rows if domain.person else rows.drop_columns(["who"])
    task = CountDistinct(domain, (*QUASI, *sensitive), ("zip", "ill"))
    counts = PartsEngine(domain, table).fold(task, task.columns, None)
    assert counts.held_back == {"zip", "ill"}
    return distinct_of(domain, counts, QUASI, sensitive, {}), read_distinct_rows(
        domain, table, QUASI, sensitive=sensitive
    )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("sensitive", [(), SENSITIVE])
@pytest.mark.parametrize("domain", [PLAIN, KEYED], ids=["rows", "persons"])
def test_counts_of_parts_say_what_all_rows_say(domain: Domain, sensitive: Any, seed: int) -> None:
    mine, theirs = both(domain, some_rows(400, seed), sensitive)
    assert [axis.keys for axis in mine.axes] == [axis.keys for axis in theirs.axes]
    for name in ("codes", "rows", "leaving", "weights"):
        assert np.array_equal(getattr(mine, name), getattr(theirs, name)), name
    assert mine.people == theirs.people
    assert [each.whole.tolist() for each in mine.attributes] == [each.whole.tolist() for each in theirs.attributes]
    assert len(mine.of_row) < len(theirs.of_row)


def test_memory_grows_with_distinct_rows_and_not_with_rows() -> None:
    few, many = (both(PLAIN, pa.concat_tables([some_rows(400, 1)] * times))[0] for times in (1, 5))
    assert len(few.of_row) == len(many.of_row)
    assert np.array_equal(5 * few.rows, many.rows)


def test_no_key_of_a_person_is_in_the_counts() -> None:
    task = CountDistinct(KEYED, QUASI)
    rows = some_rows(50, 0).set_column(0, "who", pa.array([f"SECRET-{n}" for n in range(50)]))
    found = task(rows.to_batches())
    assert isinstance(found, DistinctCounts)
    assert b"SECRET" not in found.persons.tobytes()  # type: ignore[union-attr]
    assert not any("SECRET" in str(keys) for keys in found.keys)
