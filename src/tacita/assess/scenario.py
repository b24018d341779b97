"""Intruder scenario: the intruder's knowledge and targets, written in YAML or made in the console."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tacita.assess.frame import Frame
from tacita.common.yaml_text import load_yaml
from tacita.domain import Binned, Domain
from tacita.domain.conditions import Condition
from tacita.errors import InvalidInput

__all__ = ["Scenario", "held_by"]

_KEYS = {"targets", "exact", "within", "also", "membership"}


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """Knowledge and targets of an intruder.

    Attributes:
        targets: Conditions on the people that the intruder searches for; by default all people.
        exact: Fields that the intruder knows exactly.
        within: Fields that the intruder knows up to a distance.
        also: Conditions known to hold for every target; a matching released row must meet them.
        membership: Whether the intruder knows that the targets are in the data.
    """

    targets: tuple[Condition, ...] = ()
    exact: tuple[str, ...] = ()
    within: Mapping[str, float] = field(default_factory=dict)
    also: tuple[Condition, ...] = ()
    membership: Literal["known", "unknown"] = "known"

    def __post_init__(self) -> None:
        if not (self.exact or self.within or self.also):
            raise InvalidInput("must state what is known: exact, within or also", field="scenario")
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
        """All fields that the scenario uses."""
        named = [*self.exact, *self.within, *(each.attribute for each in (*self.targets, *self.also))]
        return tuple(dict.fromkeys(named))

    def check(self, domain: Domain) -> None:
        """Refuse fields that the schema does not have, and distances of attributes without an order."""
        for condition in (*self.targets, *self.also):
            condition.check(domain)
        for name in self.exact:
            domain.check_countable([name])
        for name in self.within:
            if not (isinstance(domain[name], Binned) or domain[name].kind == "ordinal"):
                raise InvalidInput("has no order, so no distance", field=f"within.{name}", value=domain[name].kind)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Scenario:
        """Build a scenario from parsed YAML.

        targets: [income > 250000, birthplace = US]
        exact: [birthplace]
        within: {age: 2}
        also: [income > 250000]
        membership: known
        """
        if not isinstance(data, Mapping) or set(data) - _KEYS:
            strange = ", ".join(sorted(str(key) for key in set(data) - _KEYS)) if isinstance(data, Mapping) else data
            raise InvalidInput(f"may hold {', '.join(sorted(_KEYS))}", field="scenario", value=strange)
        exact = data.get("exact", ())
        within = data.get("within", {})
        named = isinstance(exact, list | tuple) and all(isinstance(name, str) for name in exact)
        if not named or not isinstance(within, Mapping):
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
        """Read a scenario from a YAML file."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInput("cannot be read as YAML", field="scenario", value=path) from error
        return cls.from_dict(load_yaml(text, field="scenario"))

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, as `from_dict` reads it."""
        return {
            "targets": [str(each) for each in self.targets],
            "exact": list(self.exact),
            "within": dict(self.within),
            "also": [str(each) for each in self.also],
            "membership": self.membership,
        }


def _distance(name: Any, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInput("must be a number", field=f"within.{name}", value=value)
    return float(value)


def _conditions(place: str, given: Any) -> tuple[Condition, ...]:
    if isinstance(given, str | Mapping) or not isinstance(given, Sequence):
        raise InvalidInput("must be a list of conditions such as `age > 60`", field=place, value=given)
    return tuple(Condition.parse(each) for each in given)


def held_by(conditions: Sequence[Condition], frame: Frame) -> NDArray[np.bool_]:
    """Flag the rows that meet all conditions."""
    held = np.ones(len(frame), bool)
    for condition in conditions:
        held &= condition.holds(frame.domain[condition.attribute], frame.column(condition.attribute))
    return held
