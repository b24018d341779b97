"""Kernels of variance 1 on the unit cube: what a function is made of, and what its noise looks like.

    gaussian      exp(-r^2 / (2 h^2))
    matern12      exp(-r / h)                                           rough: the path of the noise is nowhere smooth
    matern32      (1 + q) exp(-q),             q = sqrt(3) r / h
    matern52      (1 + q + q^2 / 3) exp(-q),   q = sqrt(5) r / h

with r the distance in the unit cube, so that a bandwidth of 0.1 is a tenth of each attribute's public range. All are at
most 1 and never negative. A bias adds 1: the kernel of functions that also have a constant, which costs like the rest.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from tacita.errors import InvalidInput, UnknownName

__all__ = ["KERNELS", "Array", "Kernel"]

Array = npt.NDArray[np.float64]

_SMOOTHNESS = {"gaussian": math.inf, "matern12": 0.5, "matern32": 1.5, "matern52": 2.5}
KERNELS = tuple(_SMOOTHNESS)


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """One kernel.

    Args:
        name: Name of the kernel.
        bandwidth: How far it reaches, as a share of the public ranges; public, never tuned on private rows for free.
        bias: Whether 1 is added.
    """

    name: str = "gaussian"
    bandwidth: float = 0.1
    bias: bool = False

    def __post_init__(self) -> None:
        if self.name not in KERNELS:
            raise UnknownName(str(self.name), field="kernel", available=KERNELS)
        number = isinstance(self.bandwidth, int | float) and not isinstance(self.bandwidth, bool)
        if not number or not 1e-3 <= self.bandwidth <= 1e3:
            raise InvalidInput("must lie between 0.001 and 1000", field="bandwidth", value=self.bandwidth)

    @property
    def smoothness(self) -> float:
        """Smoothness: how often the path of its noise can be differentiated, plus a half."""
        return _SMOOTHNESS[self.name]

    @property
    def height(self) -> float:
        """sup k(x, x)."""
        return 2.0 if self.bias else 1.0

    def __call__(self, a: Array, b: Array) -> Array:
        """The matrix of k(a_i, b_j)."""
        # distances from differences: squares that cancel would be off by enough to make a matrix indefinite
        if self.name == "gaussian":
            values = np.exp(cdist(a, b, "sqeuclidean") / (-2 * self.bandwidth**2))
        else:
            q = cdist(a, b) * (math.sqrt(2 * self.smoothness) / self.bandwidth)
            front = {"matern12": 1.0, "matern32": 1 + q, "matern52": 1 + q + q * q / 3}[self.name]
            values = front * np.exp(-q)
        return np.asarray(values + 1.0 if self.bias else values)

    def integral(self, dimensions: int) -> float:
        """Integral of k(x, .) without bias over all of space: the normaliser of a density.

        (2 pi h^2)^(d/2) for the Gaussian; for Matern of smoothness v, its spectral density at 0.
        """
        if self.name == "gaussian":
            return float((2 * math.pi * self.bandwidth**2) ** (dimensions / 2))
        v = self.smoothness
        ratio = math.exp(math.lgamma(v + dimensions / 2) - math.lgamma(v))
        return float((2 * math.sqrt(math.pi)) ** dimensions * ratio * (self.bandwidth**2 / (2 * v)) ** (dimensions / 2))

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"name": self.name, "bandwidth": self.bandwidth, "bias": self.bias}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Kernel:
        """The kernel that `as_dict` wrote."""
        return cls(**data)
