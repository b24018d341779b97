"""A criterion that no compiled code knows, for the tests of methods."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pytest

from tacita.anonymize.criteria.criterion import Classes, Criterion, Floats
from tacita.anonymize.criteria.registry import CRITERIA
from tacita.anonymize.parameters import described


@dataclass(frozen=True, kw_only=True)
class TopTwo(Criterion):
    """The two most frequent values of a class have at most this share of it: ten lines, as an example."""

    name: ClassVar[str] = "top_two"
    title: ClassVar[str] = "share of the two most frequent values"
    measured: ClassVar[str] = "share of the two most frequent values"
    monotone: ClassVar[bool] = True
    top_two: float | None = field(default=None, metadata=described("Largest share of two values.", gt=0, le=1))

    @property
    def words(self) -> str:
        return f"no two values have more than {self.top_two:.0%}"

    def measure(self, classes: Classes) -> Floats:
        return np.sort(classes.shares, axis=1)[:, -2:].sum(axis=1)


@pytest.fixture
def top_two() -> Iterator[type[TopTwo]]:
    """The example, as one line of the registry."""
    CRITERIA.append(TopTwo)
    yield TopTwo
    CRITERIA.remove(TopTwo)
