import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacita.anonymize.quasi import NO_ONE, distinct_rows, read_distinct_rows
from tacita.domain import Boolean, Categorical, Domain, Identifier, Numeric
from tacita.errors import InvalidInput

DOMAIN = Domain(
    person="who",
    nulls=("", "?"),
    attributes=[
        Identifier(name="who"),
        Numeric(name="age", bounds=(0, 99), integer=True),
        Categorical(name="ill", levels=["a", "b"]),
        Boolean(name="inside"),
    ],
)
TABLE = pa.table(
    {
        "who": ["p", "p", "q", "?", None, "r"],
        "age": [3, 3, 3, 3, None, 7],
        "ill": ["a", "b", "a", "b", "a", "a"],
        "inside": [True, True, False, True, True, True],
    }
)


def test_people_are_counted_and_not_rows():
    distinct = read_distinct_rows(DOMAIN, TABLE, ["age"], sensitive=["ill"])
    assert [axis.texts for axis in distinct.axes] == [("(missing)", "3", "7")]
    assert distinct.rows.tolist() == [1, 4, 1]
    assert distinct.weights.tolist() == [0, 2, 1]
    assert distinct.people == 3
    assert (distinct.persons == NO_ONE).tolist() == [False, False, False, True, True, False]
    assert distinct.value_counts(0).tolist() == [3, 1]  # p has both


def test_a_part_of_a_population():
    distinct = read_distinct_rows(DOMAIN, TABLE, ["age"], part="inside")
    assert (distinct.people, distinct.rows.tolist(), distinct.weights.tolist()) == (2, [1, 4, 1], [0, 1, 1])
    with pytest.raises(InvalidInput, match="must be a boolean"):
        read_distinct_rows(DOMAIN, TABLE, ["age"], part="ill")


def test_values_by_appearance():
    domain = Domain(attributes=[Categorical(name="ill", levels=["a", "b"]), Numeric(name="age", bounds=(0, 9), bins=1)])
    table = pa.table({"ill": ["b", "a", "b"], "age": [9, 1, 1]})
    axes = read_distinct_rows(domain, table, ["ill", "age"], by_appearance=True).axes
    assert [axis.keys for axis in axes] == [("b", "a"), (1, 9)]


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4), st.integers(0, 1)), min_size=1, max_size=30), st.booleans()
)
def test_distinct_rows_are_sorted_and_lead_back(rows, many):
    codes = np.array(rows, np.int32)
    sizes = [2**31 - 1] * 3 if many else [3, 5, 2]  # too many combinations to number, or few
    found, which = distinct_rows(codes, sizes)
    assert [tuple(row) for row in found.tolist()] == sorted(set(rows))
    assert np.array_equal(found[which], codes)
