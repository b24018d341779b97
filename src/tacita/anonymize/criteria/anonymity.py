"""k-anonymity [Samarati, Sweeney 1998]: at least k people in every class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from tacita.anonymize.criteria.criterion import Classes, Criterion, Floats, Ints, Sensitive
from tacita.anonymize.parameters import described
from tacita.errors import InvalidInput

__all__ = ["KAnonymity", "uniqueness_of"]


@dataclass(frozen=True, kw_only=True)
class KAnonymity(Criterion):
    """At least k people in every class."""

    name: ClassVar[str] = "k"
    title: ClassVar[str] = "k-anonymity"
    measured: ClassVar[str] = "people in the smallest class"
    about: ClassVar[Literal["people", "values", "population"]] = "people"
    at_least: ClassVar[bool] = True
    always: ClassVar[bool] = True
    monotone: ClassVar[bool] = True

    k: int = field(metadata=described("Least number of indistinguishable people in a class.", ge=1))

    def __post_init__(self) -> None:
        if type(self.k) is not int or self.k < 1:
            raise InvalidInput("must be a whole number of 1 or more", field="k", value=self.k)

    @property
    def nested(self) -> bool:
        """Whether a part of a group that breaks it breaks it too."""
        return True

    @property
    def words(self) -> str:
        """Clause on the request, for people who know no statistics."""
        return f"every row is alike with at least {self.k - 1} others (k = {self.k})"

    def measure(self, classes: Classes) -> Floats:
        """People of each class."""
        return classes.people.astype(np.float64)

    def worst(self, figures: Floats) -> int:
        """People in the smallest class."""
        return int(figures.min())

    def rules(self, _attributes: Sequence[Sensitive]) -> Mapping[str, Any]:
        """The rule of compiled code."""
        return {"k": self.k}


def uniqueness_of(sizes: Ints) -> int:
    """Classes of one person."""
    return int((sizes == 1).sum())
