import pyarrow as pa
import pytest

from tacita.domain.infer import infer
from tacita.errors import DataError, NotPublic


@pytest.fixture
def drafted():
    n = 200
    table = pa.table(
        {
            "key": [f"p{i}" for i in range(n)],
            "number": list(range(n)),
            "age": [str(17 + i % 60) for i in range(n)],
            "weight": [50 + i / 7 for i in range(n)],
            "sex": ["f", "m"] * (n // 2),
            "smokes": ["yes", "no"] * (n // 2),
            "born": [f"19{60 + i % 30}-0{1 + i % 9}-11" for i in range(n)],
            "town": ["rome", "turin"] * (n // 2 - 1) + ["only here", "?"],
            "empty": [None] * n,
        }
    )
    return infer(table.to_batches(max_chunksize=70))


def test_kinds(drafted):
    kinds = {name: drafted[name].kind for name in drafted}
    assert kinds == {
        "key": "identifier",
        "number": "identifier",
        "age": "numeric",
        "weight": "numeric",
        "sex": "categorical",
        "smokes": "boolean",
        "born": "date",
        "town": "categorical",
        "empty": "identifier",
    }


def test_the_extreme_person_does_not_stand_in_the_draft(drafted):
    assert drafted["weight"].bounds == (50, 80)
    assert drafted["born"].bounds[0].isoformat() == "1960-01-01"
    assert drafted["town"].levels == ("rome", "turin")
    assert drafted["town"].other
    assert drafted["town"].missing
    assert drafted.person is None


def test_everything_is_marked_until_confirmed(drafted):
    assert set(drafted.unconfirmed) == set(drafted.names)
    with pytest.raises(NotPublic):
        drafted.require_public()
    drafted.confirm().require_public()


def test_a_returning_identifier_is_taken_for_the_person():
    visits = pa.table({"patient": [f"p{i % 70}" for i in range(200)], "ward": ["a", "b"] * 100})
    assert infer(visits.to_batches()).person == "patient"


def test_values_that_are_all_different_are_not_levels():
    assert infer(pa.table({"x": ["a", "b", "c"]}).to_batches())["x"].kind == "identifier"


def test_nothing_to_read():
    with pytest.raises(DataError, match="no rows"):
        infer([])
