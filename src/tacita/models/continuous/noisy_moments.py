"""Second moments that were released with noise: moments that rows can have, and the noise of figures from them.

Released is M = sum of (1, z)(1, z)' + E, where z are the columns scaled to -1..1 by public or released ends, and E is
symmetric with independent entries of standard deviation t on and above the diagonal. Then for any two weights u, w of
(1, z)

    Var(u' E w) = t^2 (|u|^2 |w|^2 + (u'w)^2 - sum u_i^2 w_i^2)

which gives, to first order, the noise of every figure below: with u the residual of a column a on others, and w that of
c, the noise of their residual product is u' E w.

    moments           variances of at least their noise; correlations with every eigenvalue at least the noise of its
                      direction: so no direction is narrower than the noise can show, and the matrix is positive
    link_noise        variance v of the partial correlation of a and c by noise alone; sampling alone has 1/n
    coefficient_std   of a regression coefficient by noise alone

    NoisyBIC          Gaussian BIC that counts the noise. A link between a and c without a dependence has evidence
                      t^2 = n r^2 of about 1 + n v, where sampling alone would have 1; v is that of the pair given all
                      other columns. So likelihoods are those of n / k effective rows, with k = 1 + n v of the median
                      pair, and a link of a pair with more noise costs (1 + n v) / k times as much:

                          -n/(2k) (ln(2 pi s^2) + 1) - 1/2 (2 + sum over parents of max(1, (1 + n v) / k)) ln m

                      with m the effective rows, at least 1000 or all rows. Links that noise alone would explain are not
                      added; equivalent structures score alike, since k is one number and v belongs to a pair.

Privacy: post-processing of the released matrix.   Claim: docs/claims/private-network.md
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from scipy.stats import norm

from tacita.errors import InvalidInput
from tacita.models.continuous.moments import Array, Moments

__all__ = ["NoisyBIC", "NoisyMoments"]

Key = tuple[str, ...]
_LEAST_ROWS = 3.0
_FEW = 1000.0


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisyMoments:
    """Released second moments.

    Args:
        names: The columns.
        matrix: Symmetric, over (1, z).
        std: Of the noise of each entry on and above the diagonal.
        ends: Lower and upper end of each column, which are -1 and 1 of z.
    """

    names: tuple[str, ...]
    matrix: Array = field(repr=False)
    std: float
    ends: Array = field(repr=False)

    def __post_init__(self) -> None:
        d = len(self.names)
        if self.matrix.shape != (d + 1, d + 1) or self.ends.shape != (d, 2):
            raise InvalidInput("must have a row for each column and one for the count", field="matrix")
        if not self.std >= 0 or not (self.ends[:, 1] > self.ends[:, 0]).all():
            raise InvalidInput("must be non-negative noise between rising ends", field="std", value=self.std)

    @property
    def count(self) -> float:
        """Approximate number of rows; at least its noise."""
        return max(float(self.matrix[0, 0]), self.std, _LEAST_ROWS)

    @property
    def half(self) -> Array:
        """Half of the distance of the ends."""
        return np.asarray((self.ends[:, 1] - self.ends[:, 0]) / 2)

    def product_std(self, u: Array, w: Array) -> float:
        """Return the standard deviation of u' E w."""
        squares = float(u @ u) * float(w @ w) + float(u @ w) ** 2 - float((u * u) @ (w * w))
        return self.std * math.sqrt(max(squares, 0.0))

    @cached_property
    def scaled(self) -> Moments:
        """Moments of z that rows can have: see the module."""
        n = self.count
        mean = np.clip(self.matrix[0, 1:] / n, -1, 1)
        covariance = self.matrix[1:, 1:] / n - np.outer(mean, mean)
        d = len(self.names)
        noise = np.array([self._direction(np.eye(d)[at], mean) for at in range(d)])
        sd = np.sqrt(np.clip(np.diag(covariance), np.maximum(noise, 1e-12), None))
        correlation = np.clip(covariance / np.outer(sd, sd), -1, 1)
        np.fill_diagonal(correlation, 1.0)
        values, vectors = np.linalg.eigh(correlation)
        floors = [max(self._direction(vectors[:, at] / sd, mean), 1e-9) for at in range(d)]
        nearest = (vectors * np.maximum(values, floors)) @ vectors.T
        size = np.sqrt(np.diag(nearest))
        nearest = nearest / np.outer(size, size)
        return Moments(names=self.names, count=n, mean=mean, covariance=nearest * np.outer(sd, sd))

    def _direction(self, weights: Array, mean: Array) -> float:
        """Noise of the variance of a weighted sum of the columns."""
        u = np.concatenate([[-weights @ mean], weights])
        return self.product_std(u, u) / self.count

    @cached_property
    def moments(self) -> Moments:
        """The same in the units of the columns."""
        half, z = self.half, self.scaled
        return Moments(
            names=self.names,
            count=z.count,
            mean=self.ends.mean(axis=1) + half * z.mean,
            covariance=z.covariance * np.outer(half, half),
        )

    def _residual(self, name: str, given: Sequence[str]) -> Array:
        """Weights of the residual of a column on others, over (1, z)."""
        z = self.scaled
        found = np.zeros(len(self.names) + 1)
        found[1 + z.place(name)] = 1.0
        for other, weight in zip(given, z.weights(name, given), strict=True):
            found[1 + z.place(other)] = -weight
        found[0] = -found[1:] @ z.mean
        return found

    def link_noise(self, one: str, other: str, given: Sequence[str]) -> float:
        """Return the variance of the partial correlation of two columns given others, by noise alone."""
        z, u, w = self.scaled, self._residual(one, given), self._residual(other, given)
        spread = z.residual_variance(one, given) * z.residual_variance(other, given)
        return self.product_std(u, w) ** 2 / (self.count**2 * spread)

    def coefficient_std(self, cause: str, outcome: str, given: Sequence[str]) -> float:
        """Return the standard deviation, by noise alone, of the coefficient of a cause beside others."""
        u, w = self._residual(cause, given), self._residual(outcome, (cause, *given))
        z, half = self.scaled, self.half
        std = self.product_std(u, w) / (self.count * z.residual_variance(cause, given))
        return std * float(half[z.place(outcome)] / half[z.place(cause)])

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "columns": list(self.names),
            "matrix": self.matrix.tolist(),
            "std": self.std,
            "ends": self.ends.tolist(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> NoisyMoments:
        """Read what `as_dict` returns."""
        return cls(
            names=tuple(data["columns"]),
            matrix=np.array(data["matrix"], float),
            std=float(data["std"]),
            ends=np.array(data["ends"], float),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisyBIC:
    """Gaussian BIC of released moments, which charges links for the noise."""

    noisy: NoisyMoments

    @cached_property
    def _inflations(self) -> dict[frozenset[str], float]:
        """1 + n v of each pair given all other columns."""
        names, n = self.noisy.names, self.noisy.count
        return {
            frozenset(pair): 1 + n * self.noisy.link_noise(*pair, tuple(each for each in names if each not in pair))
            for pair in combinations(names, 2)
        }

    @cached_property
    def inflation(self) -> float:
        """k: how many times the noise multiplies the evidence of a pair without a link; 1 without noise."""
        return float(np.median(list(self._inflations.values()))) if len(self.noisy.names) > 1 else 1.0

    @cached_property
    def effective(self) -> float:
        """Effective number of rows."""
        return self.noisy.count / self.inflation

    def __call__(self, child: str, parents: Key) -> float:
        """Return the local score; higher is better."""
        variance = self.noisy.moments.residual_variance(child, parents)
        likelihood = -self.effective / 2 * (math.log(2 * math.pi * variance) + 1)
        pairs = (self._inflations[frozenset((above, child))] for above in parents)
        cost = 2 + sum(max(1.0, each / self.inflation) for each in pairs)
        return likelihood - cost / 2 * math.log(max(self.effective, min(self.noisy.count, _FEW)))

    def test(self, one: str, other: str, given: Key) -> float:
        """Return the p-value of independence of two columns given others, in the limit of many rows."""
        freedom = max(self.noisy.count - 2 - len(given), 1.0)
        r = self.noisy.moments.partial_correlation(one, other, given)
        std = math.sqrt(max(1 - r * r, 1e-12) / freedom + self.noisy.link_noise(one, other, given))
        return float(2 * norm.sf(abs(r) / std))
