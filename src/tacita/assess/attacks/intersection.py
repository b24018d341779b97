"""Several k-anonymous releases of the same people, laid over each other.

In each release a person is one of the rows of their class. Who knows the class in each, because they know the
quasi-identifiers, can keep the sensitive values that all of the classes have: k-anonymity of each says nothing about
what is left.  [Ganta et al. 2008]
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
    """What is left when releases are laid over each other.

    Attributes:
        certain: People of whom one sensitive value is left, from all releases together.
        alone: The same from the best single release: what they would give away one by one.
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
    """Lay releases over each other.

    Args:
        classes: For each release, the class of each person; -1 where the person was suppressed.
        sensitive: The sensitive value of each person, as a code; it leaves unchanged in every release.
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
    """Which values occur in each person's class; all of them for who was suppressed."""
    place = side + 1
    there = np.zeros((int(place.max()) + 1, kinds), bool)
    there[place, codes] = True
    there[0] = True
    return there[place]
