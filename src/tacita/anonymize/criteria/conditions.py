"""Conditions on the classes of a table, and the criteria measured on rows that are about to be released.

Both hold criteria and do nothing themselves: `Conditions` are requested, `Achieved` was measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Self

from tacita.anonymize.criteria.alpha import AlphaAnonymity
from tacita.anonymize.criteria.anonymity import KAnonymity
from tacita.anonymize.criteria.closeness import Distance, TCloseness
from tacita.anonymize.criteria.criterion import Criterion
from tacita.anonymize.criteria.diversity import Diversity, LDiversity
from tacita.anonymize.criteria.presence import DeltaPresence
from tacita.anonymize.criteria.registry import CRITERIA, all_parameters
from tacita.anonymize.parameters import parameters_of
from tacita.errors import InvalidInput, UnknownName

__all__ = ["Achieved", "Conditions"]


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """Conditions on every class.

    Attributes:
        k: Least people in a class.
        l: Least diversity of each sensitive attribute; 1 asks for none. A missing value counts towards none.
        l_kind: `distinct` values, `entropy` of at least log l, or `recursive`: r1 < c (rl + ... + rm).
        c: The constant of recursive diversity.
        t: Most distance of a sensitive attribute's shares in a class from those in the whole table.
        t_distance: `ordered` for numbers, dates and levels, `hierarchical` where there is a hierarchy and `equal`
            otherwise when it is None; or one of them for all.
        alpha: Most share of a single sensitive value in a class.
        presence: Least and most share of a class's people who are in the released part of the table.
        more: Other criteria, of `tacita.anonymize.criteria.registry` or your own.
    """

    k: int
    l: float = LDiversity.l  # noqa: E741
    l_kind: Diversity = LDiversity.l_kind
    c: float = LDiversity.c
    t: float | None = None
    t_distance: Distance | None = None
    alpha: float | None = None
    presence: tuple[float, float] | None = None
    more: tuple[Criterion, ...] = ()

    def __post_init__(self) -> None:
        names = [criterion.name for criterion in self.criteria]  # each one checks its parameters
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InvalidInput("is there twice", field="more", value=twice)

    @cached_property
    def criteria(self) -> tuple[Criterion, ...]:
        """All criteria, also those that ask for nothing."""
        return (
            KAnonymity(k=self.k),
            LDiversity(l=self.l, l_kind=self.l_kind, c=self.c),
            TCloseness(t=self.t, t_distance=self.t_distance),
            AlphaAnonymity(alpha=self.alpha),
            DeltaPresence(presence=self.presence),
            *self.more,
        )

    @classmethod
    def of(cls, asked: Mapping[str, Any]) -> Self:
        """Conditions from the parameters of all registered criteria, by the names that they have on every surface.

        >>> Conditions.of({"k": 5, "t": 0.3}).as_dict()
        {'k': 5, 't': 0.3}
        """
        known = [each.name for each in all_parameters()]
        unknown = next((name for name in asked if name not in known), None)
        if unknown is not None:
            raise UnknownName(unknown, field="conditions", available=known)
        if asked.get("k") is None:
            raise InvalidInput("must be given: the least number of people in a class", field="k")
        own = {each.name for each in fields(cls)}
        more = []
        for kind in CRITERIA:
            given = {each.name: asked[each.name] for each in parameters_of(kind) if each.name in asked}
            if given and not own.issuperset(given) and (made := kind(**given)).asked:
                more.append(made)
        return cls(**{name: value for name, value in asked.items() if name in own}, more=tuple(more))

    @property
    def asked(self) -> tuple[Criterion, ...]:
        """The criteria that ask for something."""
        return tuple(criterion for criterion in self.criteria if criterion.asked)

    @property
    def about_values(self) -> bool:
        """Whether anything is asked of sensitive values."""
        return any(criterion.about == "values" for criterion in self.asked)

    def at_least_as_strict_as(self, other: Conditions) -> bool:
        """Whether classes that meet these conditions meet the others."""
        own = {criterion.name: criterion for criterion in self.asked}
        return all(wanted.name in own and own[wanted.name].at_least_as_strict_as(wanted) for wanted in other.asked)

    def concerns(self, sensitive: Iterable[str], achieved: Achieved | None = None) -> tuple[str, ...]:
        """Sentences on sensitive attributes without a condition on their values.

        Args:
            sensitive: Names of the sensitive attributes that are released.
            achieved: Criteria measured on the rows, once there are any.
        """
        if self.about_values:
            return ()
        found = {} if achieved is None else achieved.l
        return tuple(
            f"{name} is sensitive and l is 1: k-anonymity alone does not protect it"
            + (f"; the least diverse class has {found[name]:.4g} distinct values" if name in found else "")
            + ". Ask for l of 2 or more, or for t"
            for name in sensitive
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain data, without what is not asked for."""
        return {name: value for criterion in self.criteria for name, value in criterion.as_dict().items()}


@dataclass(frozen=True, kw_only=True)
class Achieved:
    """Criteria measured on the released values.

    Attributes:
        k: People in the smallest class; 0 when nothing is released.
        people: People in all.
        classes: Number of classes.
        unique: Classes of one.
        l: Diversity of each sensitive attribute, in the kind that was asked for: distinct values, exp of the entropy,
            or for recursive diversity the largest l that holds with the c that was asked for.
        t: Distance of each sensitive attribute.
        alpha: Largest share of a value, of each sensitive attribute.
        presence: Least and most presence, when it was asked for.
        more: Other criteria that were asked for, by name: a figure, or one for each sensitive attribute.
    """

    k: int
    people: int
    classes: int
    unique: int
    l: dict[str, float] = field(default_factory=dict)  # noqa: E741
    t: dict[str, float] = field(default_factory=dict)
    alpha: dict[str, float] = field(default_factory=dict)
    presence: tuple[float, float] | None = None
    more: dict[str, Any] = field(default_factory=dict)

    def figures(self, criterion: Criterion) -> list[tuple[str | None, Any]]:
        """The figures of a criterion with their attributes, or with None for a figure of the whole release."""
        found = getattr(self, criterion.name) if criterion.name in _FIELDS else self.more.get(criterion.name)
        if criterion.about == "values":
            return list((found or {}).items())
        return [] if found is None else [(None, found)]

    def failures(self, asked: Conditions) -> list[str]:
        """Sentences on the conditions that do not hold; empty when all do. An empty release meets all conditions."""
        if self.classes == 0:
            return []
        wrong = []
        for criterion in asked.asked:
            if criterion.name not in _FIELDS and criterion.name not in self.more:
                wrong.append(f"{criterion.name} was not measured")
            figures = self.figures(criterion)
            wrong += [criterion.failure(found, name) for name, found in figures if not criterion.met(found)]
        return wrong

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        found = {"k": self.k, "people": self.people, "classes": self.classes, "unique": self.unique}
        more = {"l": self.l, "t": self.t, "alpha": self.alpha, "presence": self.presence} | self.more
        return found | {name: value for name, value in more.items() if value}


_FIELDS = {each.name for each in fields(Achieved)}
