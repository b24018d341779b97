"""Discrete Laplace noise: the law of the geometric mechanism.  [Ghosh, Roughgarden, Sundararajan 2012]

Law:      P(x) = (1-q)/(1+q) q^|x|, q = exp(-1/scale).   Variance: 2q/(1-q)^2.
Privacy:  a vector of counts with L1 sensitivity D is (D/scale)-DP, pure and exact.
Sampling: exact (OpenDP for few draws, `_exact.laplace` for many or for simulation).
Claim:    docs/claims/additive-noise.md
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tacita import check
from tacita.errors import InvalidInput
from tacita.noise import _opendp
from tacita.noise._exact import fill_laplace
from tacita.noise.law import OPENDP_AT_MOST, Integers, Law, fill, ratio_at_least
from tacita.noise.source import Source

__all__ = ["DiscreteLaplace"]


@dataclass(frozen=True, kw_only=True)
class DiscreteLaplace(Law):
    """Two-sided geometric noise of the given scale, an exact ratio."""

    scale: Fraction
    kind: ClassVar[str] = "discrete-laplace"

    def __post_init__(self) -> None:
        if not isinstance(self.scale, Fraction) or self.scale <= 0:
            raise InvalidInput("must be a positive ratio", field="scale", value=self.scale)

    @classmethod
    def at_least(cls, scale: float | Fraction) -> DiscreteLaplace:
        """Noise of this scale, or a hair more where the ratio has to be rounded."""
        check.positive(scale, "scale")
        return cls(scale=ratio_at_least(scale))

    @property
    def variance(self) -> float:
        """2q/(1-q)^2."""
        rate = 1 / float(self.scale)
        return 2 * math.exp(-rate) / math.expm1(-rate) ** 2

    def pmf(self, x: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """(1-q)/(1+q) = tanh(1/(2 scale)), times q^|x|."""
        rate = 1 / float(self.scale)
        return np.asarray(math.tanh(rate / 2) * np.exp(-np.abs(np.asarray(x, float)) * rate))

    def transform(self, t: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """(1-q)^2 / (1 - 2 q cos t + q^2)."""
        rate = 1 / float(self.scale)
        least = math.expm1(-rate) ** 2
        return np.asarray(least / (least + 4 * math.exp(-rate) * np.sin(np.asarray(t, float) / 2) ** 2))

    def draw(self, count: int, source: Source) -> Integers:
        """Independent draws; exact."""
        if not source.simulated and count <= OPENDP_AT_MOST:
            return _opendp.laplace(count, self.scale)
        top, bottom = np.uint64(self.scale.numerator), np.uint64(self.scale.denominator)
        return fill(count, source, lambda out, done, tape: fill_laplace(out, done, tape, top, bottom), 12)

    def coarser(self, factor: int) -> DiscreteLaplace:
        """Laplace noise of a smaller scale."""
        return DiscreteLaplace.at_least(self.scale / factor)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"law": self.kind, "parameter": str(self.scale), "std": self.std}
