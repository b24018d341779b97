import itertools
from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacita.anonymize.already import already_anonymous, project_rows, together
from tacita.domain import Categorical, Domain, Identifier, Numeric
from tacita.errors import InvalidInput

NAMES = ["a", "b", "c", "d"]
ATTRIBUTES = [*(Categorical(name=name, levels=["0", "1", "2"]) for name in NAMES), Identifier(name="who")]
ROWS, PEOPLE = Domain(attributes=ATTRIBUTES), Domain(attributes=ATTRIBUTES, person="who")


def slow(table, columns, k, people):
    """The largest set by trying them all, in the order that was given."""
    rows = table.to_pylist()
    for size in range(len(columns), 0, -1):
        for chosen in itertools.combinations(columns, size):
            groups = {}
            for place, row in enumerate(rows):
                groups.setdefault(tuple(row[name] for name in chosen), set()).add(row["who"] if people else place)
            if rows and min(len(group) for group in groups.values()) >= k:
                return chosen
    return ()


@settings(max_examples=60)
@given(st.data(), st.integers(1, 5), st.booleans(), st.permutations(NAMES))
def test_the_largest_set_is_found(data, k, people, order):
    rows = data.draw(st.integers(1, 25))
    draw = lambda some: data.draw(st.lists(st.sampled_from(some), min_size=rows, max_size=rows))  # noqa: E731
    table = pa.table({name: draw(["0", "1"]) for name in NAMES} | {"who": draw([f"p{i}" for i in range(9)])})
    domain = PEOPLE if people else ROWS
    found = already_anonymous(domain, table, order, k)
    assert found == slow(table, order, k, people)
    if found:
        released = project_rows(domain, table, found, k)
        assert Counter(map(str, released.to_pylist())) == Counter(map(str, table.select(list(found)).to_pylist()))
        assert released.equals(project_rows(domain, table.take(pa.array(range(rows - 1, -1, -1))), found, k))


def test_two_releases_together_are_noticed():
    table = pa.table({"a": ["0", "0", "1", "1"], "b": ["0", "1", "0", "1"], "c": ["0"] * 4, "d": ["0"] * 4})
    table = table.append_column("who", pa.array(["p", "q", "r", "s"]))
    assert already_anonymous(ROWS, table, ["a", "c"], 2) == ("a", "c")
    assert already_anonymous(ROWS, table, ["b", "c"], 2) == ("b", "c")
    assert together(ROWS, table, [["a", "c"], ["b", "c"]]).k == 1
    with pytest.raises(InvalidInput, match="not k-anonymous"):
        project_rows(ROWS, table, ["a", "b"], 2)


def test_identifiers_and_too_many_columns_are_refused():
    table = pa.table({name: ["0"] for name in [*NAMES, "who"]})
    with pytest.raises(InvalidInput, match="identifier is never released"):
        already_anonymous(ROWS, table, ["who"], 1)
    with pytest.raises(InvalidInput, match="1 to 20 columns"):
        already_anonymous(ROWS, table, ["a"] * 21, 1)
    with pytest.raises(InvalidInput, match="distinct"):
        already_anonymous(ROWS, table, ["a", "a"], 1)


def test_values_leave_in_one_spelling():
    """Who wrote a number unusually would stand out among those with the same number."""
    domain = Domain(attributes=[Numeric(name="n", bounds=(0, 9), bins=2)], nulls=("NA",))
    table = pa.table({"n": ["1"] * 9 + ["01.0"] + ["2"] * 9 + ["+2"]})
    rows = project_rows(domain, table, ["n"], 5)
    counts = {str(value): rows.column("n").to_pylist().count(value) for value in set(rows.column("n").to_pylist())}
    assert counts == {"1": 10, "2": 10}
