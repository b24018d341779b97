"""Integer noise on a public grid: a draw counts steps, and a step is a ratio.

Law:      that of the integer noise inside, times the step.
Privacy:  that of the noise inside, on integers that count steps. A count on a grid of 1/64 moves by 64 steps, so that
          its discrete Laplace noise loses what continuous noise does, and composes as well.
          Claim: docs/claims/additive-noise.md
Sampling: exact; the grid is where numbers that are not whole are put before noise is added.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tacita.errors import InvalidInput
from tacita.noise.law import Integers, Law
from tacita.noise.source import Source

__all__ = ["Stepped"]


@dataclass(frozen=True, kw_only=True)
class Stepped(Law):
    """Noise whose values are multiples of a step.

    >>> from tacita.noise import DiscreteLaplace
    >>> Stepped(law=DiscreteLaplace.at_least(640), of=Fraction(1, 64)).half_width(0.95)
    29.953125
    """

    law: Law
    of: Fraction
    kind: ClassVar[str] = "stepped"

    def __post_init__(self) -> None:
        if not isinstance(self.of, Fraction) or self.of <= 0:
            raise InvalidInput("must be a positive ratio", field="step", value=self.of)

    @property
    def step(self) -> Fraction:
        """Size of one unit of a draw."""
        return self.of

    @property
    def variance(self) -> float:
        """That of the noise in steps, times the square of a step."""
        return self.law.variance * float(self.of) ** 2

    def pmf(self, x: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Probability of each number of steps."""
        return self.law.pmf(x)

    def transform(self, t: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """That of the noise in steps, at t times the step."""
        return self.law.transform(np.asarray(t, float) * float(self.of))

    def draw(self, count: int, source: Source) -> Integers:
        """Independent draws, in steps; exact."""
        return self.law.draw(count, source)

    def half_width(self, level: float, terms: int = 1) -> float:
        """Smallest h with P(|sum of `terms` draws| <= h) >= level, in units and not in steps."""
        return self.law.half_width(level, terms) * float(self.of)

    def coarser(self, factor: int) -> Law:
        """The same steps of coarser noise."""
        return Stepped(law=self.law.coarser(factor), of=self.of)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return self.law.as_dict() | {"step": str(self.of), "std": self.std}
