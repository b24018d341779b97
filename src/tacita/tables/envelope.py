"""Releases other than tables: their cost, privacy unit, provenance and JSON."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol, Self

from tacita.errors import InvalidInput
from tacita.privacy.event import Event, NonPrivate, event_from_dict
from tacita.privacy.unit import Neighbours, Unit
from tacita.tables.release import Provenance, facts_of

__all__ = ["Envelope", "Stated"]


class _Paid(Protocol):
    """Parts of a release that its guarantee depends on."""

    released: ClassVar[str]

    @property
    def event(self) -> Event: ...
    @property
    def unit(self) -> Unit: ...
    @property
    def neighbours(self) -> Neighbours: ...
    @property
    def provenance(self) -> Provenance: ...
    @property
    def guarantee(self) -> str: ...
    def protected(self) -> str: ...
    def statement(self) -> str: ...


class Stated:
    """Guarantee of a release with an event, a unit, neighbours and a provenance: in one word and in a sentence."""

    released: ClassVar[str] = "The release is"
    """Subject and verb of the statement."""

    @property
    def guarantee(self: _Paid) -> str:
        """Kind of guarantee, in one word: `none` without one, and for noise that can be repeated."""
        return "none" if isinstance(self.event, NonPrivate) or self.provenance.simulated else "central"

    def protected(self: _Paid) -> str:
        """Unit that is protected, and against what change."""
        return f"a {self.unit} under {self.neighbours}"

    def facts(self: _Paid) -> dict[str, str]:
        """Return the guarantee and the origin, in words."""
        return {"guarantee": self.guarantee, "statement": self.statement()} | facts_of(self)

    def statement(self: _Paid) -> str:
        """State the guarantee in words."""
        if isinstance(self.event, NonPrivate):
            return f"No guarantee: {self.event.reason}."
        kind = "simulated: NOT private, its noise can be repeated" if self.provenance.simulated else "private"
        return f"{self.released} {kind}; protected is {self.protected()}."


@dataclass(frozen=True, kw_only=True, eq=False)
class Envelope(ABC, Stated):
    """The part that answers and models share; each adds `mark`, `parts` and `parts_of`.

    Attributes:
        event, unit, neighbours: What it cost, who is protected, against what change.
        provenance: Recipe, versions, time, charge; `simulated` when the noise could be repeated.
    """

    mark: ClassVar[str]

    event: Event
    unit: Unit
    neighbours: Neighbours
    provenance: Provenance = field(repr=False)

    @abstractmethod
    def parts(self) -> dict[str, Any]:
        """Fields of this kind of release, as plain data."""

    @staticmethod
    @abstractmethod
    def parts_of(data: Mapping[str, Any]) -> dict[str, Any]:
        """The same as arguments again."""

    def with_charge(self, charge: str, dataset: str | None) -> Self:
        """The same, naming the ledger's charge that paid for it."""
        return replace(self, provenance=replace(self.provenance, charge=charge, dataset=dataset))

    def paid(self) -> dict[str, Any]:
        """Fields that all kinds share, as plain data: event, unit, neighbours, provenance."""
        return {
            "event": self.event.as_dict(),
            "unit": self.unit.as_dict(),
            "neighbours": str(self.neighbours),
            "provenance": self.provenance.as_dict(),
        }

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"tacita": self.mark} | self.parts() | self.paid()

    def to_json(self) -> str:
        """All of it as JSON text."""
        return json.dumps(self.as_dict(), ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read the output of `to_json`."""
        data = json.loads(text)
        if data.get("tacita") != cls.mark:
            raise InvalidInput(f"must be `{cls.mark}`", field="tacita", value=data.get("tacita"))
        return cls(
            **cls.parts_of(data),
            event=event_from_dict(data["event"]),
            unit=Unit.from_dict(data["unit"]),
            neighbours=Neighbours(data["neighbours"]),
            provenance=Provenance(**data["provenance"]),
        )
