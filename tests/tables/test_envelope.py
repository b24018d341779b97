"""What leaves beside tables: written with what it cost and who is protected, and read back as that."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import pytest

from tacita.errors import InvalidInput
from tacita.privacy.event import DiscreteGaussianNoise
from tacita.privacy.unit import Neighbours, Unit
from tacita.tables.envelope import Envelope
from tacita.tables.release import Provenance


@dataclass(frozen=True, kw_only=True, eq=False)
class Word(Envelope):
    mark: ClassVar[str] = "word/1"

    text: str

    def parts(self) -> dict[str, Any]:
        return {"text": self.text}

    @staticmethod
    def parts_of(data: Mapping[str, Any]) -> dict[str, Any]:
        return {"text": data["text"]}


class Other(Word):
    mark: ClassVar[str] = "other/1"


SENT = Word(
    text="é",
    event=DiscreteGaussianNoise(sigma2=Fraction(100)),
    unit=Unit.of_person("id", max_rows=3),
    neighbours=Neighbours.REPLACE_ONE,
    provenance=Provenance(recipe={"word": 1}, simulated=True),
)


def test_what_is_read_is_what_was_written():
    assert list(SENT.as_dict()) == ["tacita", "text", "event", "unit", "neighbours", "provenance"]
    found = Word.from_json(SENT.to_json())
    for name in ("text", "event", "unit", "neighbours", "provenance"):
        assert getattr(found, name) == getattr(SENT, name)


def test_a_charge_is_named_and_nothing_else_changes():
    paid = SENT.with_charge("ch_1", "people")
    assert (paid.provenance.charge, paid.provenance.dataset, SENT.provenance.charge) == ("ch_1", "people", None)
    assert {**paid.as_dict(), "provenance": None} == {**SENT.as_dict(), "provenance": None}


def test_another_mark_is_refused():
    with pytest.raises(InvalidInput, match="other/1"):
        Other.from_json(SENT.to_json())


@pytest.mark.parametrize("part", ["text", "event", "unit", "neighbours", "provenance"])
def test_nothing_is_made_up_for_what_is_missing(part):
    less = {name: value for name, value in SENT.as_dict().items() if name != part}
    with pytest.raises(KeyError, match=part):
        Word.from_json(json.dumps(less))
