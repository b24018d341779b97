"""Random features that approximate a kernel: constant memory, whatever is queried.

    phi(x) = (cos(w_1 x), ..., cos(w_D x), sin(w_1 x), ..., sin(w_D x)) / sqrt(D),  w_i from the kernel's spectral law

so |phi(x)| = 1 and phi(x) . phi(y) is close to k(x, y).  [Rahimi, Recht 2007]

Privacy:  the model is fitted with this kernel *and* the noise has it: a function is its 2 D weights, and noise on them
          is the plain Gaussian mechanism. With features in the noise alone, what a unit moves would leave the space
          that the noise lives in, and nothing would hide it. The frequencies come from a public seed. The kernel of
          features may be negative, which `sensitivity` must know.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tacita.errors import InvalidInput
from tacita.learn.functions.kernel import Array, Kernel

__all__ = ["Features"]

_MOST = 4096


@dataclass(frozen=True, kw_only=True)
class Features:
    """Random features of a kernel.

    Args:
        kernel: Kernel that they approximate.
        dimensions: Of the points.
        count: Frequencies; there are twice as many features, and one more with a bias.
        seed: Public: the same seed gives the same features.
    """

    kernel: Kernel
    dimensions: int
    count: int = 256
    seed: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.count, int) or not 1 <= self.count <= _MOST:
            raise InvalidInput(f"must be a whole number from 1 to {_MOST}", field="features", value=self.count)
        if not isinstance(self.seed, int) or isinstance(self.seed, bool) or self.seed < 0:
            raise InvalidInput("must be a whole number of at least 0", field="seed", value=self.seed)

    @property
    def size(self) -> int:
        """Weights of one function."""
        return 2 * self.count + self.kernel.bias

    @cached_property
    def frequencies(self) -> Array:
        """One column for each: normal for the Gaussian kernel, t with 2 v degrees of freedom for Matern."""
        rng = np.random.default_rng(self.seed)
        draws = rng.normal(size=(self.dimensions, self.count)) / self.kernel.bandwidth
        v = self.kernel.smoothness
        return draws if math.isinf(v) else draws / np.sqrt(rng.chisquare(2 * v, size=self.count) / (2 * v))

    def __call__(self, points: Array) -> Array:
        """The features of each point."""
        turns = points @ self.frequencies
        parts = [np.cos(turns) / math.sqrt(self.count), np.sin(turns) / math.sqrt(self.count)]
        return np.concatenate([*parts, np.ones((len(points), 1))] if self.kernel.bias else parts, axis=1)
