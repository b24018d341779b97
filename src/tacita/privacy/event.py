"""Events: the cost of a computation, as data.

An event records what was done to the protected units, not the composed cost: an accountant computes that. So the same
history can be composed in several ways, and a better way found later applies to events recorded before.

Rules for this file: a kind is never removed and never changes its meaning; a new field has a default; a kind that an
accountant does not know is refused, not free.

An event holds for the unit and the neighbours of the account that it is charged to.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from tacita.common.ratio_text import ratio_from_text
from tacita.errors import InvalidInput

__all__ = [
    "Approximate",
    "DiscreteGaussianNoise",
    "DiscreteLaplaceNoise",
    "Event",
    "GaussianNoise",
    "Group",
    "NonPrivate",
    "Nothing",
    "Parallel",
    "Pure",
    "Repeated",
    "SampledGaussian",
    "Sequence",
    "Zcdp",
    "event_from_dict",
    "same_events",
]


_MOST = 1 << 62
"""Larger than any number of repetitions, or of rows."""


def _positive(name: str, value: float | Fraction) -> None:
    number = isinstance(value, int | float | Fraction) and not isinstance(value, bool)
    try:
        finite = number and math.isfinite(value)
    except OverflowError:
        raise InvalidInput("must be a number that a float can hold", field=name) from None
    if not finite or value <= 0:
        raise InvalidInput("must be positive and finite", field=name, value=value)


def _ratio(value: Any) -> Any:
    """A ratio is written as text."""
    return ratio_from_text(value) if isinstance(value, str) else value


def _exact(name: str, value: Any) -> Fraction:
    read = _ratio(value)
    _positive(name, read)
    return Fraction(read)


def _count(name: str, value: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MOST:
        raise InvalidInput(f"must be a whole number from 1 to {_MOST}", field=name)


@dataclass(frozen=True, kw_only=True)
class Event:
    """Base of all kinds."""

    kind: ClassVar[str] = ""

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        parts: dict[str, Any] = {}
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if isinstance(value, Event):
                value = value.as_dict()
            elif isinstance(value, tuple):
                value = [part.as_dict() for part in value]
            elif isinstance(value, Fraction):
                value = str(value)
            parts[name] = value
        return {"kind": self.kind} | parts

    def to_json(self) -> str:
        """Canonical text: equal events have equal texts."""
        return json.dumps(self.as_dict(), sort_keys=True, separators=(",", ":"))


@dataclass(frozen=True, kw_only=True)
class Nothing(Event):
    """No unit's data was read."""

    kind: ClassVar[str] = "nothing"


@dataclass(frozen=True, kw_only=True)
class NonPrivate(Event):
    """A release with no guarantee at all; the loss is infinite."""

    reason: str
    kind: ClassVar[str] = "non-private"


@dataclass(frozen=True, kw_only=True)
class Pure(Event):
    """Anything that is epsilon-DP; epsilon may be an exact ratio."""

    epsilon: float | Fraction
    kind: ClassVar[str] = "pure"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", _ratio(self.epsilon))
        _positive("epsilon", self.epsilon)


@dataclass(frozen=True, kw_only=True)
class Approximate(Event):
    """Anything that is (epsilon, delta)-DP."""

    epsilon: float
    delta: float
    kind: ClassVar[str] = "approximate"

    def __post_init__(self) -> None:
        for name in ("epsilon", "delta"):
            _positive(name, getattr(self, name))
            object.__setattr__(self, name, float(getattr(self, name)))
        if self.delta >= 1:
            raise InvalidInput("must be below 1", field="delta", value=self.delta)


@dataclass(frozen=True, kw_only=True)
class Zcdp(Event):
    """Anything that is rho-zero-concentrated DP; rho may be an exact ratio."""

    rho: float | Fraction
    kind: ClassVar[str] = "zcdp"

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", _ratio(self.rho))
        _positive("rho", self.rho)


@dataclass(frozen=True, kw_only=True)
class DiscreteLaplaceNoise(Event):
    """Discrete Laplace noise on integers, which a change moves by at most `sensitivity` in all.

    In all: in L1, the sum of the moves. The worst case moves one integer by all of it, see docs/claims/composition.md.
    """

    scale: Fraction
    sensitivity: int = 1
    kind: ClassVar[str] = "discrete-laplace"

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", _exact("scale", self.scale))
        _count("sensitivity", self.sensitivity)


@dataclass(frozen=True, kw_only=True)
class DiscreteGaussianNoise(Event):
    """Discrete Gaussian noise on integers, of which a change moves exactly one, by at most `sensitivity`."""

    sigma2: Fraction
    sensitivity: int = 1
    kind: ClassVar[str] = "discrete-gaussian"

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma2", _exact("sigma2", self.sigma2))
        _count("sensitivity", self.sensitivity)


@dataclass(frozen=True, kw_only=True)
class SampledGaussian(Event):
    """One step of private training: each unit is in with probability `rate`, independently; a sum gets Gaussian noise.

    A unit moves the sum by at most 1 (L2) in units of the clipping norm; the noise has `noise_multiplier` of them as
    its standard deviation in each direction. Stated for adding or removing a unit; batches of a fixed size, or cut
    from a shuffled list, are something else.
    """

    noise_multiplier: float
    rate: float
    kind: ClassVar[str] = "sampled-gaussian"

    def __post_init__(self) -> None:
        for name in ("noise_multiplier", "rate"):
            _positive(name, getattr(self, name))
            object.__setattr__(self, name, float(getattr(self, name)))
        if self.rate > 1:
            raise InvalidInput("must be at most 1", field="rate", value=self.rate)


@dataclass(frozen=True, kw_only=True)
class GaussianNoise(Event):
    """Gaussian noise on a vector that the account's change moves by at most 1/`noise_multiplier` standard deviations.

    By L2 distance, and for all answers together where they are drawn one after the other from one noise. It holds for
    the neighbours of the account, whichever these are: the code that states it must have computed how far such a change
    moves the vector.
    """

    noise_multiplier: float
    kind: ClassVar[str] = "gaussian"

    def __post_init__(self) -> None:
        _positive("noise_multiplier", self.noise_multiplier)
        object.__setattr__(self, "noise_multiplier", float(self.noise_multiplier))


@dataclass(frozen=True, kw_only=True)
class Sequence(Event):
    """All of these on the same units; each may depend on the answers before it."""

    events: tuple[Event, ...]
    kind: ClassVar[str] = "sequence"

    def __post_init__(self) -> None:
        object.__setattr__(self, "events", tuple(self.events))


@dataclass(frozen=True, kw_only=True)
class Repeated(Event):
    """The same event `count` times in sequence."""

    event: Event
    count: int
    kind: ClassVar[str] = "repeated"

    def __post_init__(self) -> None:
        _count("count", self.count)


@dataclass(frozen=True, kw_only=True)
class Parallel(Event):
    """Each of these on its own part of the units, split by a rule that looks at one unit at a time.

    The parts' events are stated for adding or removing a unit, also when the account counts replace-one: a unit that is
    replaced leaves its part, and joins the same or another, which is two such steps.
    """

    events: tuple[Event, ...]
    kind: ClassVar[str] = "parallel"

    def __post_init__(self) -> None:
        object.__setattr__(self, "events", tuple(self.events))
        if not self.events:
            raise InvalidInput("needs at least one part", field="events")


@dataclass(frozen=True, kw_only=True)
class Group(Event):
    """An event stated for adding or removing a smaller unit, of which the account's unit holds up to `size`.

    Under replace-one a unit may become one with another number of smaller ones, so accountants refuse it there; state
    what such a change costs directly.
    """

    event: Event
    size: int
    kind: ClassVar[str] = "group"

    def __post_init__(self) -> None:
        _count("size", self.size)


def same_events(one: Event, other: Event) -> bool:
    """Whether two events are the same ones in sequence, in any order; a repeated event may be written out.

    >>> same_events(Sequence(events=(Pure(epsilon=1.0), Pure(epsilon=1.0))), Repeated(event=Pure(epsilon=1.0), count=2))
    True
    """
    return one == other or _in_sequence(one) == _in_sequence(other)


def _in_sequence(event: Event) -> Counter[Event]:
    found: Counter[Event] = Counter()
    if isinstance(event, Sequence):
        for part in event.events:
            found.update(_in_sequence(part))
    elif isinstance(event, Repeated):
        found.update({part: times * event.count for part, times in _in_sequence(event.event).items()})
    else:
        found[event] = 1
    return found


_KINDS: dict[str, type[Event]] = {
    cls.kind: cls
    for cls in (
        Nothing,
        NonPrivate,
        Pure,
        Approximate,
        Zcdp,
        DiscreteLaplaceNoise,
        DiscreteGaussianNoise,
        SampledGaussian,
        GaussianNoise,
        Sequence,
        Repeated,
        Parallel,
        Group,
    )
}


def event_from_dict(data: Mapping[str, Any]) -> Event:
    """The event that `as_dict` wrote; an unknown kind is refused.

    >>> event_from_dict(Pure(epsilon=0.5).as_dict())
    Pure(epsilon=0.5)
    """
    if not isinstance(data, Mapping):
        raise InvalidInput("must be an event", field="event")
    kind = data.get("kind")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise InvalidInput("must be one of " + ", ".join(_KINDS), field="event.kind", value=str(kind)[:40])
    parts: dict[str, Any] = {name: value for name, value in data.items() if name != "kind"}
    if "event" in parts:
        parts["event"] = event_from_dict(parts["event"])
    if "events" in parts:
        if not isinstance(parts["events"], list | tuple):
            raise InvalidInput("must be a list of events", field="events")
        parts["events"] = tuple(event_from_dict(part) for part in parts["events"])
    try:
        return _KINDS[kind](**parts)
    except (TypeError, ValueError, ArithmeticError):
        raise InvalidInput("has missing, unknown or malformed members", field="event", value=kind) from None
