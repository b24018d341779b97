"""Intersection attack: several k-anonymous releases of the same people, joined.

In each release a person is one of the rows of their class. An attacker who knows the quasi-identifiers knows the class
in each release, and keeps only the sensitive values that occur in all of these classes. k-anonymity of each release
does not bound how many values remain.  [Ganta et al. 2008]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.assess.rates import Rate
from tacita.errors import InvalidInput

__all__ = ["Intersection", "intersect"]


@dataclass(frozen=True, kw_only=True)
class Intersection:
    """Result of an intersection attack.

    Attributes:
        certain: People for whom all releases together leave one sensitive value.
        alone: The same from the best single release.
        candidates: Mean number of values left, from each single release on average and from all.
    """

    certain: Rate
    alone: Rate
    candidates: tuple[float, float]
    releases: int

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "certain": self.certain.as_dict(),
            "alone": self.alone.as_dict(),
            "candidates_alone": self.candidates[0],
            "candidates_together": self.candidates[1],
            "releases": self.releases,
        }


def intersect(classes: Sequence[Any], sensitive: Any) -> Intersection:
    """Intersect the sensitive values of each person's classes over all releases.

    Args:
        classes: For each release, the class of each person; -1 where the person was suppressed.
        sensitive: The sensitive value of each person, as a code; every release holds it unchanged.
    """
    values = np.asarray(sensitive, np.int64).ravel()
    if len(classes) < 2:
        raise InvalidInput("must be at least two", field="classes", value=len(classes))
    sides = [np.asarray(each, np.int64).ravel() for each in classes]
    if any(len(side) != len(values) for side in sides) or not len(values):
        raise InvalidInput("must name a class for each person", field="classes")
    _, codes = np.unique(values, return_inverse=True)
    kinds = int(codes.max()) + 1
    left = np.ones((len(values), kinds), bool)
    single = []
    for side in sides:
        here = _values_of(side, codes, kinds)
        single.append(here.sum(axis=1))
        left &= here
    counts = left.sum(axis=1)
    return Intersection(
        certain=Rate.of(counts == 1),
        alone=Rate.of(np.min(single, axis=0) == 1),
        candidates=(float(np.mean(single)), float(counts.mean())),
        releases=len(sides),
    )


def _values_of(side: NDArray[np.int64], codes: NDArray[np.int64], kinds: int) -> NDArray[np.bool_]:
    """Flag the values that occur in each person's class; all values for suppressed people."""
    place = side + 1
    there = np.zeros((int(place.max()) + 1, kinds), bool)
    there[place, codes] = True
    there[0] = True
    return there[place]
