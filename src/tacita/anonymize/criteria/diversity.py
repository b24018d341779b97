"""l-diversity [Machanavajjhala et al. 2007]: sensitive values of every class differ."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self

import numpy as np

from tacita import check
from tacita.anonymize.criteria.criterion import Classes, Criterion, Floats, Ints, Sensitive
from tacita.anonymize.parameters import described
from tacita.errors import InvalidInput

__all__ = ["Diversity", "LDiversity", "diversity_of"]

Diversity = Literal["distinct", "entropy", "recursive"]
_KINDS = ("distinct", "entropy", "recursive")


@dataclass(frozen=True, kw_only=True)
class LDiversity(Criterion):
    """Diversity of at least l; 1 asks for none. A missing value makes no class more diverse."""

    name: ClassVar[str] = "l"
    title: ClassVar[str] = "l-diversity"
    measured: ClassVar[str] = "diversity"
    at_least: ClassVar[bool] = True
    always: ClassVar[bool] = True
    monotone: ClassVar[bool] = True

    l: float = field(default=1, metadata=described("Least diversity of sensitive values in a class.", ge=1))  # noqa: E741
    l_kind: Diversity = field(default="distinct", metadata=described("The measure of diversity."))
    c: float = field(default=1.0, metadata=described("The constant of recursive diversity.", gt=0))

    def __post_init__(self) -> None:
        if not 1 <= self.l < math.inf:
            raise InvalidInput("must be 1 or more", field="l", value=self.l)
        if self.l_kind not in _KINDS:
            raise InvalidInput("must be distinct, entropy or recursive", field="l_kind", value=self.l_kind)
        if self.l_kind != "entropy" and not float(self.l).is_integer():
            raise InvalidInput("must be a whole number, except for entropy", field="l", value=self.l)
        check.positive(self.c, "c")

    @property
    def asked(self) -> bool:
        """Whether it asks for anything."""
        return self.l > 1

    @property
    def nested(self) -> bool:
        """Whether a part of a group that breaks it breaks it too: of distinct values only."""
        return self.l_kind == "distinct"

    @property
    def words(self) -> str:
        """Clause on the request, for people who know no statistics."""
        return f"each group of them has {self.l_kind} diversity of at least {self.l:g} in sensitive values (l)"

    @property
    def label(self) -> str:
        """Description of the figure, with its name and kind."""
        return f"{self.measured} (l, {self.l_kind})"

    def as_dict(self) -> dict[str, Any]:
        """Plain data; empty when nothing is asked."""
        if not self.asked:
            return {}
        return {"l": self.l, "l_kind": self.l_kind} | ({"c": self.c} if self.l_kind == "recursive" else {})

    def at_least_as_strict_as(self, other: Self) -> bool:
        """Whether all classes that meet this one meet the other: each kind has at least l distinct values."""
        if not other.asked:
            return True
        kinds = other.l_kind in ("distinct", self.l_kind)
        constants = other.l_kind != "recursive" or self.c <= other.c
        return kinds and constants and self.l >= other.l

    def measure(self, classes: Classes) -> Floats:
        """The l of each class, with and without the missing value: the smaller one."""
        every = _diversities(classes.values, self.l_kind, self.c)
        if classes.of.missing is None:
            return every
        known = np.delete(classes.values, classes.of.missing, axis=1)
        return np.minimum(every, _diversities(known, self.l_kind, self.c))

    def rules(self, _attributes: Sequence[Sensitive]) -> Mapping[str, Any]:
        """The rule of compiled code."""
        return {"diversity": float(self.l), "diversity_kind": _KINDS.index(self.l_kind), "constant": float(self.c)}


def _diversities(counts: Ints, kind: Diversity, c: float) -> Floats:
    if kind == "distinct":
        return np.asarray((counts > 0).sum(axis=1), np.float64)
    if kind == "entropy":
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
        return np.asarray(np.exp(-(shares * logs).sum(axis=1)))
    falling = -np.sort(-counts, axis=1)
    tails = np.cumsum(falling[:, ::-1], axis=1)[:, ::-1]  # tails[:, i]: from the (i+1)-th most frequent on
    return np.asarray((falling[:, :1] < c * tails).sum(axis=1), np.float64)


def diversity_of(counts: Ints, kind: Diversity = "distinct", c: float = 1.0) -> float:
    """The l of the least diverse class.

    `distinct`: values that occur. `entropy`: exp(-sum p log p). `recursive`: the largest l for which the most frequent
    value is rarer than c times all values from the l-th most frequent on; 0 when there is none.

    >>> counts = np.array([[4, 3, 2], [5, 5, 0]])
    >>> diversity_of(counts), round(diversity_of(counts, "entropy"), 6), diversity_of(counts, "recursive", c=2.0)
    (2.0, 2.0, 2.0)
    """
    return float(_diversities(counts, kind, c).min()) if len(counts) else math.inf
