"""The messages of a run as plain data: what an analyst asks, and the only things that a holder ever says.

    join      Joined        the terms are accepted; nothing about data
    count     Measured      the number of rows, with noise
    vote      Vote          one child with its parents, drawn privately
    tables    Measured      counts with noise, as integers
    model     Synthesized   a private model

Every message names its version, run and step. Both sides read messages by the same rules: a wrong run or step, a
shape that was not asked for, a number that is no integer or larger than any count can be, an unknown member, all are
refused. Privacy: no message has a field for an exact count.   Claim: docs/claims/federated.md
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tacita.errors import InvalidInput
from tacita.noise import Law, law_from_dict
from tacita.privacy.event import Event, event_from_dict
from tacita.synthesize.federated.terms import Terms
from tacita.synthesize.plan import Key
from tacita.synthesize.result import Synthesized

__all__ = ["LARGEST", "VERSION", "Content", "Joined", "Measured", "Parents", "Reply", "Request", "Step", "Vote"]

VERSION = "federated/1"
LARGEST = 1 << 50
"""Larger than any count; a larger cell is refused."""

StepKind = Literal["join", "count", "vote", "tables", "model"]
Parents = tuple[tuple[str, Key], ...]
"""Children with their parents, in the order in which they were placed."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One thing that is asked.

    Args:
        kind: Kind of step.
        placed: For votes, and the tables of SL2: the structure so far.
        most_cells: For votes: the largest table that stands out from noise.
    """

    kind: StepKind
    placed: Parents = ()
    most_cells: int = 0

    @property
    def name(self) -> str:
        """The same for the same step of a run, whatever else is asked for; a holder answers each name once."""
        return f"vote-{len(self.placed)}" if self.kind == "vote" else self.kind

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        placed = [[child, list(above)] for child, above in self.placed]
        return {"kind": self.kind, "placed": placed, "most_cells": self.most_cells}

    @classmethod
    def from_dict(cls, data: object) -> Step:
        """The step that `as_dict` wrote."""
        members = _members(data, "step", {"kind", "placed", "most_cells"})
        if members["kind"] not in get_args(StepKind):
            raise InvalidInput(f"must be one of {', '.join(get_args(StepKind))}", field="step.kind")
        most = _integer("step.most_cells", members["most_cells"], 0)
        return cls(kind=members["kind"], placed=_parents(members["placed"]), most_cells=most)


@dataclass(frozen=True, kw_only=True)
class Request:
    """Message of an analyst; it repeats the terms each time, so that a holder needs no memory but its ledger."""

    terms: Terms
    step: Step

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"tacita": VERSION, "terms": self.terms.as_dict(), "step": self.step.as_dict()}

    @classmethod
    def from_dict(cls, data: object) -> Request:
        """The request that `as_dict` wrote."""
        members = _members(data, "request", {"tacita", "terms", "step"})
        _version(members["tacita"])
        return cls(terms=Terms.from_dict(members["terms"]), step=Step.from_dict(members["step"]))


@dataclass(frozen=True, kw_only=True)
class Joined:
    """Acceptance of terms by a holder. Costs nothing and reveals nothing about data."""

    terms: str

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"kind": "joined", "terms": self.terms}

    def to_json(self) -> str:
        """As JSON text."""
        return json.dumps(self.as_dict())

    @classmethod
    def from_dict(cls, data: object) -> Joined:
        """Read the output of `as_dict`."""
        members = _members(data, "content", {"kind", "terms"}, kind="joined")
        if not isinstance(members["terms"], str):
            raise InvalidInput("must be a digest", field="content.terms")
        return cls(terms=members["terms"])


@dataclass(frozen=True, kw_only=True)
class Vote:
    """One child with its parents, drawn by the exponential mechanism."""

    child: str
    parents: Key
    event: Event
    simulated: bool

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        plain = {"child": self.child, "parents": list(self.parents)}
        return {"kind": "vote"} | plain | {"event": self.event.as_dict(), "simulated": self.simulated}

    def to_json(self) -> str:
        """As JSON text."""
        return json.dumps(self.as_dict(), ensure_ascii=False)

    @classmethod
    def from_dict(cls, data: object) -> Vote:
        """Read the output of `as_dict`."""
        members = _members(data, "content", {"kind", "child", "parents", "event", "simulated"}, kind="vote")
        ((child, above),) = _parents([[members["child"], members["parents"]]])
        return cls(
            child=child,
            parents=above,
            event=_event(members["event"]),
            simulated=_boolean("content.simulated", members["simulated"]),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Measured:
    """Counts with noise of one law on every cell, of one or more tables: integers, so that sums are exact."""

    keys: tuple[Key, ...]
    cells: tuple[NDArray[np.int64], ...]
    law: Law
    event: Event
    simulated: bool

    def as_dict(self) -> dict[str, Any]:
        """Plain data; cells in the order of the flattened table."""
        return {
            "kind": "measured",
            "tables": [
                {"attributes": list(key), "cells": cells.reshape(-1).tolist()}
                for key, cells in zip(self.keys, self.cells, strict=True)
            ],
            "law": self.law.as_dict(),
            "event": self.event.as_dict(),
            "simulated": self.simulated,
        }

    def to_json(self) -> str:
        """As JSON text."""
        return json.dumps(self.as_dict(), ensure_ascii=False)

    @classmethod
    def from_dict(cls, data: object) -> Measured:
        """Read the output of `as_dict`; cells must be integers that a count could be."""
        members = _members(data, "content", {"kind", "tables", "law", "event", "simulated"}, kind="measured")
        if not isinstance(members["tables"], list) or not isinstance(members["law"], Mapping):
            raise InvalidInput("must be a list of tables with a law", field="content.tables")
        tables = [_members(table, "content.tables", {"attributes", "cells"}) for table in members["tables"]]
        try:
            law = law_from_dict(members["law"])
        except (KeyError, TypeError, ValueError, ArithmeticError):
            raise InvalidInput("must be a law of noise", field="content.law") from None
        return cls(
            keys=tuple(_key("content.tables.attributes", table["attributes"]) for table in tables),
            cells=tuple(_cells(table["cells"]) for table in tables),
            law=law,
            event=_event(members["event"]),
            simulated=_boolean("content.simulated", members["simulated"]),
        )


Content = Joined | Vote | Measured | Synthesized


@dataclass(frozen=True, kw_only=True, eq=False)
class Reply:
    """Message of a holder: one typed answer, with its run and step."""

    run: str
    step: str
    holder: str
    content: Content

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        envelope = {"tacita": VERSION, "run": self.run, "step": self.step, "holder": self.holder}
        return envelope | {"content": self.content.as_dict()}

    @classmethod
    def from_dict(cls, data: object, *, run: str, step: Step, holder: str) -> Reply:
        """The reply that `as_dict` wrote, if it is to this step of this run and from this holder."""
        members = _members(data, "reply", {"tacita", "run", "step", "holder", "content"})
        _version(members["tacita"])
        for field, expected in (("run", run), ("step", step.name), ("holder", holder)):
            if members[field] != expected:
                raise InvalidInput(f"must be {expected!r}", field=field, value=str(members[field]))
        return cls(run=run, step=step.name, holder=holder, content=_content(step.kind, members["content"]))


def _content(kind: StepKind, data: object) -> Content:
    if kind == "join":
        return Joined.from_dict(data)
    if kind == "vote":
        return Vote.from_dict(data)
    if kind != "model":
        return Measured.from_dict(data)
    if not isinstance(data, Mapping):
        raise InvalidInput("must be a model", field="content")
    try:
        model = Synthesized.from_json(json.dumps(data, allow_nan=False))
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError):
        raise InvalidInput("must be a whole model", field="content") from None
    for name in ("people", "people_std"):
        value = getattr(model, name)
        if not isinstance(value, int | float) or not math.isfinite(value) or abs(value) > LARGEST:
            raise InvalidInput("must be a number that a count could be", field=f"content.{name}")
    return model


def _members(data: object, field: str, names: set[str], *, kind: str | None = None) -> Mapping[str, Any]:
    """The members of a message, if it has just these."""
    if not isinstance(data, Mapping) or set(data) != names:
        raise InvalidInput("must have just the members " + ", ".join(sorted(names)), field=field)
    if kind is not None and data["kind"] != kind:
        raise InvalidInput(f"must be {kind!r}", field=f"{field}.kind", value=str(data["kind"]))
    return data


def _version(value: object) -> None:
    if value != VERSION:
        raise InvalidInput(f"must be {VERSION!r}", field="tacita", value=str(value))


def _integer(field: str, value: object, least: int) -> int:
    if type(value) is not int or not least <= value <= LARGEST:
        raise InvalidInput(f"must be a whole number from {least} to {LARGEST}", field=field)
    return value


def _boolean(field: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise InvalidInput("must be true or false", field=field)
    return value


def _key(field: str, value: object) -> Key:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise InvalidInput("must be a list of names", field=field)
    return tuple(value)


def _parents(value: object) -> Parents:
    if not isinstance(value, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in value):
        raise InvalidInput("must be a list of children with their parents", field="placed")
    if not all(isinstance(child, str) for child, _ in value):
        raise InvalidInput("must be names", field="placed")
    return tuple((child, _key("placed", above)) for child, above in value)


def _cells(value: object) -> NDArray[np.int64]:
    # the types are looked at one by one: an array would take true for 1, and round what is no integer
    if not isinstance(value, list) or not all(type(cell) is int and -LARGEST <= cell <= LARGEST for cell in value):
        raise InvalidInput("must be whole numbers that a count could be", field="content.tables.cells")
    return np.array(value, np.int64)


def _event(value: object) -> Event:
    if not isinstance(value, Mapping):
        raise InvalidInput("must be an event", field="content.event")
    try:
        return event_from_dict(value)
    except (TypeError, ValueError, KeyError, AttributeError, ArithmeticError, RecursionError):
        raise InvalidInput("must be an event", field="content.event") from None
