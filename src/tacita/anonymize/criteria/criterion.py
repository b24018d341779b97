"""A criterion: one condition on every class, with all that methods, results and surfaces need to know about it.

A new criterion is one file with a frozen dataclass, and one line in `registry`:

    @dataclass(frozen=True, kw_only=True)
    class Example(Criterion):
        name, title, measured, words = ...
        example: float | None = field(default=None, metadata=described("...", gt=0))

        def measure(self, classes: Classes) -> Floats: ...      # one figure for each class

Methods test it on the groups that they try, the release measures it on the rows that are about to be released, and the
command line, REST requests and policies offer its parameters.

A method tests a criterion in compiled code where `rules` or `shares` express it, and by `measure` otherwise.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from tacita.anonymize.parameters import REQUIRED, parameters_of

if TYPE_CHECKING:
    from tacita.anonymize.hierarchies.hierarchy import Tree

__all__ = ["EXACT", "TOLERANCE", "Classes", "Criterion", "Sensitive"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
TOLERANCE = 1e-9
"""Tolerance for sums of floats, when released rows are checked; counts are exact."""
EXACT = 1e-12
"""The smaller tolerance of methods, so that rounding makes no class that the check refuses."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Sensitive:
    """A sensitive attribute in the whole table.

    Attributes:
        name: Its name.
        whole: People with each value, in the whole table.
        missing: The code that means missing, if there is one.
        kind: `ordered` for numbers, dates and levels, `hierarchical` with a hierarchy, `equal` otherwise.
        tree: Its hierarchy.
    """

    name: str
    whole: Ints
    missing: int | None = None
    kind: Literal["equal", "ordered", "hierarchical"] = "equal"
    tree: Tree | None = None

    @property
    def shares(self) -> Floats:
        """Share of each value in the whole table."""
        return np.asarray(self.whole / max(int(self.whole.sum()), 1), np.float64)


@dataclass(frozen=True, kw_only=True, eq=False)
class Classes:
    """Counts of some classes, an entry for each.

    Attributes:
        people: People.
        rows: Rows that may be released.
        population: Rows, also those that only give the size of the population.
        counts: People with each value of a sensitive attribute, a row for each class.
        attribute: That attribute.
    """

    people: Ints
    rows: Ints
    population: Ints
    counts: Ints | None = None
    attribute: Sensitive | None = None

    @property
    def values(self) -> Ints:
        """The counts of values; for criteria about values, which always have them."""
        assert self.counts is not None
        return self.counts

    @property
    def of(self) -> Sensitive:
        """The sensitive attribute; for criteria about values, which always have one."""
        assert self.attribute is not None
        return self.attribute

    @property
    def shares(self) -> Floats:
        """Share of each value in each class."""
        return np.asarray(self.values / np.maximum(self.values.sum(axis=1, keepdims=True), 1), np.float64)


@dataclass(frozen=True, kw_only=True)
class Criterion(ABC):
    """One condition on every class.

    Attributes:
        name: Name of the measured figure, and of the parameter that bounds it.
        title: Name in the literature.
        measured: Description of the figure, in tables of results.
        about: Counts that it is about: `people` of a class, `values` of each sensitive attribute, or the `population`.
        at_least: Whether classes must reach the bound; otherwise they must not exceed it.
        always: Whether it is measured even when nothing is asked.
        is_share: Whether its figure is shown as a percentage.
        monotone: Whether two classes that meet it still meet it when they become one, if no person is in both. All
            criteria of the registry are; searches that skip nodes rely on it.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    measured: ClassVar[str]
    about: ClassVar[Literal["people", "values", "population"]] = "values"
    at_least: ClassVar[bool] = False
    always: ClassVar[bool] = False
    is_share: ClassVar[bool] = False
    monotone: ClassVar[bool] = False

    # -- what is asked --------------------------------------------------------------------------------------------

    @property
    def bound(self) -> Any:
        """The bound on the figure; None when nothing is asked."""
        return getattr(self, self.name)

    @property
    def asked(self) -> bool:
        """Whether it asks for anything."""
        return self.bound is not None

    @property
    def nested(self) -> bool:
        """Whether a part of a group that breaks it breaks it too."""
        return False

    @property
    @abstractmethod
    def words(self) -> str:
        """Clause on the request, for people who know no statistics."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data: parameters that are not at their default."""
        given = {each.name: (getattr(self, each.name), each.default) for each in parameters_of(type(self))}
        return {name: value for name, (value, default) in given.items() if default is REQUIRED or value != default}

    def at_least_as_strict_as(self, other: Self) -> bool:
        """Whether all classes that meet this one meet the other: the same parameters with a bound as strict."""
        if not other.asked:
            return True
        rest = [each.name for each in parameters_of(type(self)) if each.name != self.name]
        if not self.asked or any(getattr(self, name) != getattr(other, name) for name in rest):
            return False
        return bool(self.bound >= other.bound if self.at_least else self.bound <= other.bound)

    # -- what holds -----------------------------------------------------------------------------------------------

    @abstractmethod
    def measure(self, classes: Classes) -> Floats:
        """The figure of each class."""

    def worst(self, figures: Floats) -> Any:
        """The figure of the class that is worst off; there is at least one."""
        return float(figures.min() if self.at_least else figures.max())

    def holds(self, classes: Classes) -> NDArray[np.bool_]:
        """Whether each class meets it."""
        figures = self.measure(classes)
        return np.asarray(figures >= self.bound - EXACT if self.at_least else figures <= self.bound + EXACT)

    def met(self, found: Any) -> bool:
        """Whether a measured figure meets what is asked."""
        if not self.asked:
            return True
        return bool(found >= self.bound - TOLERANCE if self.at_least else found <= self.bound + TOLERANCE)

    # -- for compiled code ----------------------------------------------------------------------------------------

    @property
    def compiled(self) -> bool:
        """Whether compiled code tests it."""
        kind = type(self)
        return kind.rules is not Criterion.rules or kind.shares is not Criterion.shares

    def rules(self, _attributes: Sequence[Sensitive]) -> Mapping[str, Any] | None:
        """Fields of `kernels.holds.Rules` that express it; None when it has no compiled test of its own."""
        return None

    def shares(self, _attribute: Sensitive) -> tuple[Floats, Floats] | None:
        """Least and largest share of each value in a class, when they are all that it asks; these are compiled."""
        return None

    # -- sentences ------------------------------------------------------------------------------------------------

    @property
    def label(self) -> str:
        """Description of the figure, with its name."""
        return f"{self.measured} ({self.name})"

    def failure(self, found: Any, attribute: str | None = None) -> str:
        """Sentence on a figure that does not meet what is asked."""
        where = self.name if attribute is None else f"{self.name} of {attribute}"
        return f"{where} is {_number(found, '.4g')} and should be {_number(self.bound, 'g')}"


def _number(value: Any, form: str) -> str:
    return str(value) if isinstance(value, int) else format(value, form)
