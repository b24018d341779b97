"""Privacy unit and neighbours: who is protected, and against what change.

Every claim names both. The unit is what one protected party can have in the data: one row, or a person with at most
`max_rows` rows (an engine drops rows over the bound before it counts). The neighbours define a change: one unit is
added or removed, or one unit's data is replaced. Claims under different notions are never added up.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tacita.domain import Domain
from tacita.errors import InvalidInput

__all__ = ["Neighbours", "Unit"]


class Neighbours(enum.StrEnum):
    """Pairs of data sets that must be hard to distinguish."""

    ADD_REMOVE = "add-remove"
    """One has one unit more than the other."""
    REPLACE_ONE = "replace-one"
    """One unit has other data; the number of units is public."""


@dataclass(frozen=True, kw_only=True)
class Unit:
    """Privacy unit: a row (`person` is None) or a person with a bounded number of rows."""

    person: str | None = None
    max_rows: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.max_rows, int) or isinstance(self.max_rows, bool) or self.max_rows < 1:
            raise InvalidInput("must be a whole number of at least 1", field="max_rows", value=self.max_rows)
        if self.person is None and self.max_rows != 1:
            raise InvalidInput("must be 1 where the unit is a row", field="max_rows", value=self.max_rows)

    @classmethod
    def row(cls) -> Unit:
        """Every row is a party of its own."""
        return cls()

    @classmethod
    def of_person(cls, key: str, *, max_rows: int) -> Unit:
        """All rows with the same `key` belong to one person, of which at most `max_rows` are counted."""
        return cls(person=key, max_rows=max_rows)

    @classmethod
    def parse(cls, text: str) -> Unit:
        """`row`, or `person:KEY:MAX_ROWS`.

        >>> Unit.parse("person:patient_id:3")
        Unit(person='patient_id', max_rows=3)
        """
        if text == "row":
            return cls.row()
        kind, _, rest = text.partition(":")
        key, _, rows = rest.rpartition(":")  # the key itself may hold a colon
        if kind == "person" and key and rows.isdigit():
            return cls.of_person(key, max_rows=int(rows))
        raise InvalidInput("must be `row` or `person:KEY:MAX_ROWS`", field="unit", value=text)

    @classmethod
    def of_schema(cls, domain: Domain, *, max_rows: int | None = None) -> Unit:
        """The unit that a schema asks for: its person, or a row where it names none.

        Args:
            domain: What is public about the data.
            max_rows: Most rows of a person that are counted; one, if it is not said.
        """
        if domain.person is not None:
            return cls.of_person(domain.person, max_rows=1 if max_rows is None else max_rows)
        if max_rows not in (None, 1):
            hint = "Name the column in the schema: `person:`"
            raise InvalidInput("needs a schema that names a person", field="max_rows", value=max_rows, hint=hint)
        return cls.row()

    def check(self, domain: Domain) -> Unit:
        """This unit, if it fits the domain: recurrent data is never protected row by row (privacy rule 5)."""
        if self.person is None and domain.person is not None:
            raise InvalidInput(
                f"the schema says that {domain.person!r} names a person, so rows are not the unit",
                field="unit",
                value="row",
                hint=f"Protect persons: unit person:{domain.person}:MAX_ROWS",
            )
        if self.person is not None and self.person != domain.person:
            raise InvalidInput(f"the schema's person is {domain.person!r}", field="unit", value=self.person)
        return self

    def __str__(self) -> str:
        return "row" if self.person is None else f"person:{self.person}:{self.max_rows}"

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"person": self.person, "max_rows": self.max_rows}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Unit:
        """The unit that `as_dict` wrote."""
        return cls(person=data["person"], max_rows=data["max_rows"])
