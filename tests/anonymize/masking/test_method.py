"""What all methods share: attributes, kinds, plain data."""

from __future__ import annotations

import pytest

from tacita.anonymize.masking.microaggregate import Microaggregate
from tacita.anonymize.masking.pram import Pram
from tacita.anonymize.masking.rounding import Round
from tacita.domain import Domain
from tacita.errors import InvalidInput, UnknownName


def test_attributes_are_checked_against_the_schema(domain: Domain) -> None:
    with pytest.raises(UnknownName):
        Round(attributes=("wage",), base=10).resolve(domain)
    with pytest.raises(InvalidInput, match="identifier"):
        Pram(attributes=("who",), keep=0.9).resolve(domain)
    with pytest.raises(InvalidInput, match="is categorical"):
        Microaggregate(attributes=("income", "job"), k=3).resolve(domain)
    with pytest.raises(InvalidInput, match="is numeric"):
        Pram(attributes=("age",), keep=0.9).resolve(domain)
    with pytest.raises(InvalidInput, match="at least one"):
        Round(attributes=(), base=10).resolve(domain)
    # the key of a person is never released, whatever its kind
    person = Domain.from_dict(domain.as_dict() | {"person": "who"})
    with pytest.raises(InvalidInput, match="identifier"):
        Round(attributes=("who",), base=10).resolve(person)


def test_names_must_be_a_list_without_repetition() -> None:
    with pytest.raises(InvalidInput, match="list of names"):
        Round(attributes="income", base=10)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="twice"):
        Round(attributes=("income", "income"), base=10)


def test_plain_data_has_all_parameters() -> None:
    assert Round(attributes=("income",), base=10).as_dict() == {
        "round": {"attributes": ["income"], "base": 10, "how": "nearest"}
    }
    assert "epsilon" not in Pram(attributes=("job",), keep=0.5).as_dict()["pram"]
