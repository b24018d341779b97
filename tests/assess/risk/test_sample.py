"""Records by their quasi-identifiers: how values are read, and hostile inputs."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tacita.assess.risk.sample import combine, read_sample, sample_of
from tacita.domain import Categorical, Domain, Identifier, Numeric
from tacita.errors import DataError, InvalidInput

DOMAIN = Domain(
    attributes=(
        Categorical(name="sex", levels=("f", "m"), role="quasi-identifier"),
        Numeric(name="age", bounds=(0, 99), bins=5, integer=True, role="quasi-identifier"),
        Numeric(name="w", bounds=(0, 1000), bins=2),
        Identifier(name="home"),
    )
)


def _table(**changed: list[object]) -> pa.Table:
    known = {
        "sex": ["f", "f", "m", None],
        "age": ["30", "30.0", "31", ""],
        "w": [2, 3, 4, 5],
        "home": ["x", "x", "y", None],
    }
    return pa.table(known | changed)


def test_equal_numbers_and_missing_values() -> None:
    sample = read_sample(DOMAIN, _table(), weight="w", household="home")
    assert sample.names == ("sex", "age")
    assert sample.f[sample.group].tolist() == [2, 2, 1, 1]
    assert sample.people == 14
    assert sample.households is not None
    assert sample.households.tolist()[2:] == [1, -1]
    beyond = read_sample(DOMAIN, _table(age=["120", "130", "?", "!"]), quasi=("age",))
    assert beyond.f.tolist() == [1, 1, 1, 1]  # values out of the schema are different values too


def test_a_population_is_read_in_the_same_coding() -> None:
    everyone = pa.table({"sex": ["m", "f", "f", None, "m", "m"], "age": [31.0, 30.0, 30.0, None, 31.0, 7.0]})
    sample = read_sample(DOMAIN, _table(), population=everyone)
    assert sample.population is not None
    assert sample.population[sample.group].tolist() == [2, 2, 2, 1]
    assert sample.fraction == pytest.approx(4 / 6)


@pytest.mark.parametrize(
    "wrong", [[1, -1, 2, 3], [1, 0, 2, 3], [1, None, 2, 3], ["1", "x", "2", "3"], [1.0, float("inf"), 2.0, 3.0]]
)
def test_other_weights_are_refused(wrong: list[object]) -> None:
    with pytest.raises(DataError, match="weights must be positive"):
        read_sample(DOMAIN, _table(w=wrong), weight="w")


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"quasi": ()}, "at least one"),
        ({"quasi": ("home",)}, "identifier"),
        ({"quasi": ("sex", "sex")}, "different"),
        ({"people": 3}, "number of rows"),
    ],
)
def test_other_requests_are_refused(asked: dict[str, object], says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        read_sample(DOMAIN, _table(), **asked)


def test_one_row_no_rows_and_equal_rows() -> None:
    with pytest.raises(InvalidInput, match="must have rows"):
        read_sample(DOMAIN, _table().slice(0, 0))
    assert read_sample(DOMAIN, _table().slice(0, 1)).f.tolist() == [1]
    assert sample_of(["a"], np.zeros((1, 9), np.int64)).f.tolist() == [9]


def test_many_attributes_do_not_overflow() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2**30, (5, 50))
    codes[:, 1] = codes[:, 0]
    key, _ = combine(codes, [2**30] * 5, 50)
    assert len(set(key.tolist())) == 49
