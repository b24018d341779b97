import pyarrow as pa
import pytest

from tacita.domain import Categorical, Domain, Identifier, Numeric
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput, UnknownName
from tacita.learn.structure.columns import read_columns

DOMAIN = Domain(
    attributes=[
        Identifier(name="who"),
        Numeric(name="age", bounds=(0, 100), bins=2),
        Categorical(name="sex", levels=["f", "m"], missing=True),
        Categorical(name="town", levels=["a", "b"]),
    ]
)


def engine():
    return LocalEngine(
        DOMAIN,
        pa.table(
            {
                "who": ["1", "2", "3", "4", "5"],
                "age": [10.5, None, 70.0, 300.0, 20.0],
                "sex": ["f", "m", None, "m", "f"],
                "town": ["a", "b", "b", "a", "nowhere"],
            }
        ),
    )


def test_complete_rows_are_numbers_and_codes():
    found = read_columns(engine())
    assert found.names == ("age", "sex", "town")
    assert found.numbers["age"].tolist() == [10.5, 70.0, 100.0]  # at most the bound
    assert found.codes["sex"].tolist() == [0, 2, 1]  # missing is a level where the schema has one
    assert (found.rows, found.left_out) == (3, 2)
    assert found.sizes == {"sex": 3, "town": 2}
    assert found.levels["sex"] == ("f", "m", "(missing)")
    assert "10.5" not in repr(found)


def test_bins_are_codes_too():
    found = read_columns(engine(), ["age"], binned=True)
    assert (found.numbers, found.left_out) == ({}, 1)
    assert sorted(found.codes["age"].tolist()) == [0, 0, 1, 1]


def test_numbers_alone_need_no_domain_of_codes():
    found = read_columns(engine(), ["age"])
    assert (found.domain, found.rows, found.sizes) == (None, 4, {})
    empty = LocalEngine(DOMAIN, pa.table({name: pa.array([], pa.string()) for name in DOMAIN.names}))
    assert read_columns(empty, ["town"]).rows == 0


def test_bad_input():
    with pytest.raises(UnknownName):
        read_columns(engine(), ["wind"])
    with pytest.raises(InvalidInput):
        read_columns(engine(), ["who"])
    with pytest.raises(InvalidInput):
        read_columns(engine(), [])
