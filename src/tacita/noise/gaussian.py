"""Discrete Gaussian noise.  [Canonne, Kamath, Steinke 2020]

Law:      P(x) proportional to exp(-x^2 / (2 sigma2)).
Privacy:  a vector of counts with L2 sensitivity D is (D^2 / (2 sigma2))-zCDP.   Claim: docs/claims/additive-noise.md
Sampling: exact (OpenDP for few draws or very wide noise, `_exact.gaussian` for many or for simulation).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tacita import check
from tacita.errors import InvalidInput
from tacita.noise import _opendp
from tacita.noise._exact import fill_gaussian
from tacita.noise.law import OPENDP_AT_MOST, Integers, Law, fill
from tacita.noise.source import Source

__all__ = ["DiscreteGaussian"]


@dataclass(frozen=True, kw_only=True)
class DiscreteGaussian(Law):
    """Integer noise with variance parameter sigma2, an exact ratio."""

    sigma2: Fraction
    kind: ClassVar[str] = "discrete-gaussian"

    def __post_init__(self) -> None:
        if not isinstance(self.sigma2, Fraction) or self.sigma2 <= 0:
            raise InvalidInput("must be a positive ratio", field="sigma2", value=self.sigma2)

    @classmethod
    def at_least(cls, sigma2: float | Fraction) -> DiscreteGaussian:
        """Noise of at least this variance parameter, rounded up to the grid that the exact sampler works on."""
        check.positive(sigma2, "sigma2")
        exact = sigma2 if isinstance(sigma2, Fraction) else Fraction(repr(float(sigma2)))
        grid = min(1 << 20, int(10**7 / max(exact, Fraction(1)))) if exact < 10**4 else 1
        return cls(sigma2=Fraction(math.ceil(exact * grid), grid))

    @cached_property
    def variance(self) -> float:
        """Variance of one draw: sigma2 itself unless the noise is very narrow."""
        sigma2 = float(self.sigma2)
        if sigma2 > 4:
            return sigma2  # exact to within 1e-30 by Poisson summation
        x = np.arange(-60, 61)
        return float(np.sum(x * x * self.pmf(x)))

    @cached_property
    def _normaliser(self) -> float:
        sigma2 = float(self.sigma2)
        if sigma2 > 4:
            return math.sqrt(2 * math.pi * sigma2)
        return float(np.exp(-(np.arange(-60, 61) ** 2) / (2 * sigma2)).sum())

    def pmf(self, x: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Probability of each integer."""
        return np.asarray(np.exp(-(np.asarray(x, float) ** 2) / (2 * float(self.sigma2))) / self._normaliser)

    def transform(self, t: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Sum over k of exp(-sigma2 (t - 2 pi k)^2 / 2), relative to that at 0: by Poisson summation."""
        at, sigma2 = np.asarray(t, float), float(self.sigma2)
        if sigma2 <= 4:
            return np.asarray(sum(self.pmf(x) * np.cos(x * at) * (2 if x else 1) for x in range(61)))
        near = np.remainder(at + math.pi, 2 * math.pi) - math.pi
        return np.asarray(sum(np.exp(-sigma2 * (near - 2 * math.pi * k) ** 2 / 2) for k in (-1, 0, 1)))

    def draw(self, count: int, source: Source) -> Integers:
        """Independent draws; exact."""
        if not source.simulated and (count <= OPENDP_AT_MOST or not self._fits()):
            return _opendp.gaussian(count, self.sigma2)
        if not self._fits():
            return self._simulated(count, source)
        top, bottom = np.uint64(self.sigma2.numerator), np.uint64(self.sigma2.denominator)
        t = np.uint64(self._proposal)
        return fill(count, source, lambda out, done, tape: fill_gaussian(out, done, tape, top, bottom, t), 24)

    def _simulated(self, count: int, source: Source) -> Integers:
        """A rounded normal: for simulations of noise this wide its law differs by less than a part in a million."""
        first, second = ((source.words(count) >> np.uint64(11)).astype(float) * 2.0**-53 for _ in range(2))
        normal = np.sqrt(-2 * np.log1p(-first)) * np.cos(2 * np.pi * second)
        return np.asarray(np.rint(normal * math.sqrt(self.sigma2)), np.int64)

    @property
    def _proposal(self) -> int:
        return math.isqrt(math.floor(self.sigma2)) + 1

    def _fits(self) -> bool:
        """Whether the compiled sampler's integers cannot overflow: it squares |y| t bottom, and |y| > 70 t has
        probability below 2^-100.
        """
        t, top, bottom = self._proposal, self.sigma2.numerator, self.sigma2.denominator
        largest = max(70 * t * t * bottom, top)
        return largest**2 < 1 << 64 and 2 * top * bottom * t * t < 1 << 64

    def coarser(self, factor: int) -> DiscreteGaussian:
        """Gaussian noise of a smaller width."""
        return DiscreteGaussian.at_least(self.sigma2 / factor**2)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"law": self.kind, "parameter": str(self.sigma2), "std": self.std}
