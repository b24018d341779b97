"""Noise on all coordinates together, by the largest of them.  [Hardt, Talwar 2010: the K-norm mechanism, K a cube]

Law:      P(z) proportional to exp(-max |z_i| / scale) over vectors z of k integers.
Privacy:  a vector that moves by at most D in every coordinate is (D/scale)-DP, pure and exact.
Utility:  standard deviation about scale sqrt((k+1)(k+2) / 3) a coordinate; independent Laplace noise, for which all k
          moves add up, has k scale sqrt 2: two and a half times as much for many coordinates that all move.
Sampling: exact (`_exact.fill_cube`): a radius with probability proportional to (2r+1)^k exp(-r/scale), then a point of
          the cube of that radius, all alike. A point at distance m is in all cubes from m on, so its probability is
          proportional to the sum of exp(-r/scale) over r >= m: to exp(-m/scale).
Claim:    docs/claims/cube-noise.md
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tacita import check
from tacita.errors import InvalidInput
from tacita.noise._exact import fill_cube
from tacita.noise.law import LARGEST_TERM, Integers, ratio_at_least
from tacita.noise.source import Source

__all__ = ["DiscreteCube"]

_MOST = 1 << 20
_LEAST = 8  # coordinates for each unit of the scale, at most: with more, a radius takes very many attempts
_WORDS = 12  # about what a coordinate takes


@dataclass(frozen=True, kw_only=True)
class DiscreteCube:
    """Noise for vectors of so many integers; the scale is an exact ratio."""

    scale: Fraction
    dimensions: int

    def __post_init__(self) -> None:
        if not isinstance(self.scale, Fraction) or self.scale <= 0:
            raise InvalidInput("must be a positive ratio", field="scale", value=self.scale)
        if max(self.scale.numerator, self.scale.denominator) > LARGEST_TERM:
            raise InvalidInput("must have terms of at most 2^31", field="scale", value=float(self.scale))
        if not 1 <= self.dimensions <= _MOST:
            raise InvalidInput(f"must lie between 1 and {_MOST}", field="dimensions", value=self.dimensions)
        if self.dimensions > 8 and self.dimensions > _LEAST * self.scale:
            rule = f"must be at most {_LEAST} times the scale, for which noise on a cube takes too long"
            raise InvalidInput(rule, field="dimensions", value=self.dimensions, hint="Use a finer grid")

    @classmethod
    def at_least(cls, scale: float | Fraction, dimensions: int) -> DiscreteCube:
        """Noise of this scale, or a hair more where the ratio has to be rounded."""
        check.positive(scale, "scale")
        return cls(scale=ratio_at_least(scale), dimensions=dimensions)

    def epsilon(self, sensitivity: int) -> Fraction:
        """Cost of releasing a vector in which a unit moves each coordinate by at most `sensitivity`."""
        return Fraction(sensitivity) / self.scale

    @property
    def std(self) -> float:
        """Standard deviation of a coordinate, to within a step."""
        k = self.dimensions
        return float(self.scale) * math.sqrt((k + 1) * (k + 2) / 3)

    def draw(self, source: Source) -> Integers:
        """One vector; exact."""
        top, bottom = np.uint64(self.scale.numerator), np.uint64(self.scale.denominator)
        out, tape = np.empty(self.dimensions, np.int64), np.empty(0, np.uint64)
        done = False
        while not done:
            # the words of the attempt that was cut off come first again, see `_exact`
            tape = np.concatenate([tape, source.words(_WORDS * self.dimensions + 256)])
            done, used = fill_cube(out, tape, top, bottom)
            tape = tape[used:]
        return out

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"law": "discrete-cube", "parameter": str(self.scale), "dimensions": self.dimensions, "std": self.std}
