"""A schema with several faults tells all of them, each with its place."""

import pytest

from tacita.domain.domain import Domain
from tacita.domain.faults import MOST_FAULTS
from tacita.errors import SchemaError

AGE = {"name": "age", "kind": "numeric", "bounds": [0, 100], "bins": 10}


def refusal(data: object) -> str:
    with pytest.raises(SchemaError) as caught:
        Domain.from_dict(data)
    return str(caught.value)


def test_all_faults_come_at_once() -> None:
    told = refusal(
        {
            "attributes": [
                {"name": "age", "kind": "numeric", "bonds": [0, 100], "bins": 10},
                {"name": "job", "kind": "categoric", "levels": ["a", "b"]},
                {"name": "town", "kind": "categorical", "levels": "many", "role": "secret"},
                "zip",
            ],
            "deltas": 3,
        }
    )
    for part in (
        "deltas: is no member of a schema",
        "age.bonds: is no member of age. Did you mean bounds?",
        "job.kind: must be one of categorical",
        "got 'categoric'. Did you mean categorical?",
        "town.levels:",
        "town.role:",
        "attribute 4: must be a mapping",
    ):
        assert part in told, told


def test_one_fault_names_its_field() -> None:
    with pytest.raises(SchemaError) as caught:
        Domain.from_dict({"attributes": [AGE | {"bins": "ten"}]})
    assert caught.value.field == "age.bins"


def test_the_dialect_is_read_too() -> None:
    told = refusal({"attributes": [AGE], "csv": {"delimeter": ";", "encoding": 3}})
    assert "csv.delimeter: is no member of csv. Did you mean delimiter?" in told
    assert "csv.encoding:" in told


def test_parts_that_do_not_fit_keep_their_own_message() -> None:
    assert "faults" not in refusal({"attributes": [AGE, AGE]})


def test_a_document_of_another_kind_is_cut_short() -> None:
    told = refusal({"attributes": [{"name": f"a{i}", "kind": "no"} for i in range(100)]})
    assert told.count(".kind:") == MOST_FAULTS


def test_a_right_schema_passes() -> None:
    assert Domain.from_dict({"attributes": [AGE]}).names == ("age",)
