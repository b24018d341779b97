"""What somebody knows, of whom: an intruder scenario, written in YAML or made in the console."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import yaml
from numpy.typing import NDArray

from tacita.assess.frame import Frame
from tacita.domain import Attribute, Binned, Domain
from tacita.errors import InvalidInput, UnknownName

__all__ = ["Condition", "Scenario"]

Relation = Literal["is", "above", "below", "at_least", "at_most"]
_RELATIONS: tuple[Relation, ...] = ("is", "above", "below", "at_least", "at_most")
_KEYS = {"targets", "exact", "within", "also", "membership"}


@dataclass(frozen=True, kw_only=True)
class Condition:
    """One field of a row, and what must hold for it."""

    name: str
    relation: Relation
    value: str | float

    def holds(self, frame: Frame) -> NDArray[np.bool_]:
        """Which rows it holds for; not for those where the field is missing."""
        column, attribute = frame.column(self.name), frame.domain[self.name]
        wanted = _place(attribute, self.value)
        with np.errstate(invalid="ignore"):
            match self.relation:
                case "is":
                    return np.asarray(column == wanted)
                case "above":
                    return np.asarray(column > wanted)
                case "below":
                    return np.asarray(column < wanted)
                case "at_least":
                    return np.asarray(column >= wanted)
                case _:
                    return np.asarray(column <= wanted)

    def check(self, domain: Domain) -> None:
        """Refuse a field or a value that the schema does not have."""
        attribute = domain[self.name]
        if self.relation != "is" and not (isinstance(attribute, Binned) or attribute.kind == "ordinal"):
            raise InvalidInput("must be `is`: the field has no order", field=self.name, value=self.relation)
        _place(attribute, self.value)


def _place(attribute: Attribute, value: str | float) -> float:
    if isinstance(attribute, Binned) and attribute.kind == "numeric":
        try:
            return float(value)
        except ValueError:
            raise InvalidInput("must be a number", field=attribute.name, value=value) from None
    if isinstance(attribute, Binned):
        try:
            return float((dt.date.fromisoformat(str(value)) - dt.date(1970, 1, 1)).days)
        except ValueError:
            raise InvalidInput("must be a date", field=attribute.name, value=value) from None
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if text not in attribute.labels:
        raise UnknownName(text, field=attribute.name, available=attribute.labels)
    return float(attribute.labels.index(text))


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """What somebody knows.

    Attributes:
        targets: Which people they look for; all if nothing is said.
        exact: Fields that they know exactly.
        within: Fields that they know up to a distance.
        also: What they know of every target; a released row must hold it.
        membership: Whether they know that their targets are in the data.
    """

    targets: tuple[Condition, ...] = ()
    exact: tuple[str, ...] = ()
    within: Mapping[str, float] = field(default_factory=dict)
    also: tuple[Condition, ...] = ()
    membership: Literal["known", "unknown"] = "known"

    def __post_init__(self) -> None:
        if not (self.exact or self.within or self.also):
            raise InvalidInput("must say what is known: exact, within or also", field="scenario")
        for name, far in self.within.items():
            if not (math.isfinite(far) and far >= 0):
                raise InvalidInput("must be a distance of 0 or more", field=f"within.{name}", value=far)
        if set(self.exact) & set(self.within):
            twice = ", ".join(sorted(set(self.exact) & set(self.within)))
            raise InvalidInput("is known exactly and up to a distance", field="within", value=twice)
        if self.membership not in ("known", "unknown"):
            raise InvalidInput("must be known or unknown", field="membership", value=self.membership)

    @property
    def fields(self) -> tuple[str, ...]:
        """All fields that it speaks of."""
        named = [*self.exact, *self.within, *(each.name for each in (*self.targets, *self.also))]
        return tuple(dict.fromkeys(named))

    def check(self, domain: Domain) -> None:
        """Refuse fields that the schema does not have, and distances of what has no order."""
        for condition in (*self.targets, *self.also):
            condition.check(domain)
        for name in self.exact:
            domain.check_countable([name])
        for name in self.within:
            if not (isinstance(domain[name], Binned) or domain[name].kind == "ordinal"):
                raise InvalidInput("has no order, so no distance", field=f"within.{name}", value=domain[name].kind)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Scenario:
        """A scenario as it stands in YAML.

        targets: [{field: income, above: 250000}]
        exact: [birthplace]
        within: {age: 2}
        also: [{field: income, above: 250000}]
        membership: known
        """
        if not isinstance(data, Mapping) or set(data) - _KEYS:
            strange = ", ".join(sorted(str(key) for key in set(data) - _KEYS)) if isinstance(data, Mapping) else data
            raise InvalidInput(f"may hold {', '.join(sorted(_KEYS))}", field="scenario", value=strange)
        exact = data.get("exact", ())
        within = data.get("within", {})
        if isinstance(exact, str) or not isinstance(within, Mapping):
            raise InvalidInput("exact is a list of fields, within maps fields to distances", field="scenario")
        return cls(
            targets=_conditions("targets", data.get("targets", ())),
            exact=tuple(exact),
            within={str(name): _distance(name, far) for name, far in within.items()},
            also=_conditions("also", data.get("also", ())),
            membership=data.get("membership", "known"),
        )

    @classmethod
    def read(cls, path: str | Path) -> Scenario:
        """A scenario from a YAML file."""
        try:
            return cls.from_dict(yaml.safe_load(Path(path).read_text(encoding="utf-8")))
        except (OSError, yaml.YAMLError) as error:
            raise InvalidInput("cannot be read as YAML", field="scenario", value=path) from error

    def as_dict(self) -> dict[str, Any]:
        """Plain data, as `from_dict` reads it."""
        return {
            "targets": [{"field": each.name, each.relation: each.value} for each in self.targets],
            "exact": list(self.exact),
            "within": dict(self.within),
            "also": [{"field": each.name, each.relation: each.value} for each in self.also],
            "membership": self.membership,
        }


def _distance(name: Any, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInput("must be a number", field=f"within.{name}", value=value)
    return float(value)


def _conditions(place: str, given: Any) -> tuple[Condition, ...]:
    if isinstance(given, str | Mapping) or not isinstance(given, Sequence):
        raise InvalidInput("must be a list of conditions", field=place, value=given)
    found = []
    for each in given:
        relations = [key for key in each if key != "field"] if isinstance(each, Mapping) else []
        if len(relations) != 1 or relations[0] not in _RELATIONS or "field" not in each:
            rule = f"must be a field and one of {', '.join(_RELATIONS)}, as in {{field: age, above: 60}}"
            raise InvalidInput(rule, field=place, value=each)
        found.append(Condition(name=str(each["field"]), relation=relations[0], value=each[relations[0]]))
    return tuple(found)
