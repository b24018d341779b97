"""Scores and tests of linear Gaussian structures, from moments alone.

    bic    -n/2 (ln(2 pi s^2) + 1) - (|parents| + 2)/2 ln n      of the residual variance s^2; higher is better, as in R
           (the other convention is k ln n - 2 ln L, which is -2 times it)
    bge    ln p(child and parents) - ln p(parents), where p is the marginal likelihood of complete data under a
           normal-Wishart prior  [Geiger, Heckerman 2002; corrected: Kuipers, Moffa, Heckerman 2014]

           ln p(Y) = l/2 ln(a_mu / (n + a_mu)) - l n/2 ln pi + ln G_l((n + a_w - d + l)/2) - ln G_l((a_w - d + l)/2)
                     + (a_w - d + l)/2 ln |T_YY| - (n + a_w - d + l)/2 ln |R_YY|
           for l of d columns; R = T + scatter + n a_mu / (n + a_mu) (mean - nu)(mean - nu)', G_l the multivariate gamma
           function, T = a_mu (a_w - d - 1) / (a_mu + 1) times the squared scales of the columns

    test   exact t test of a partial correlation r: t = r sqrt(f / (1 - r^2)), f = n - 2 - |given|

Both scores are the same for structures of one class (CPDAG).

Privacy: none of its own; scores cost what the moments cost.
Cost: O(k^3) for k parents.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.special import multigammaln
from scipy.stats import t as student

from tacita import check
from tacita.errors import InvalidInput, UnknownName
from tacita.models.continuous.moments import Array, Moments

__all__ = ["BGe", "GaussianBIC", "independence_p"]

Key = tuple[str, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class GaussianBIC:
    """Gaussian BIC of a child with its parents."""

    moments: Moments

    def __call__(self, child: str, parents: Key) -> float:
        """Return the local score; higher is better."""
        n = self.moments.count
        variance = self.moments.residual_variance(child, parents)
        likelihood = -n / 2 * (math.log(2 * math.pi * variance) + 1)
        return likelihood - (len(parents) + 2) / 2 * math.log(n)

    def test(self, one: str, other: str, given: Key) -> float:
        """Return the p-value of independence of two columns given others."""
        return independence_p(self.moments, one, other, given)


@dataclass(frozen=True, kw_only=True, eq=False)
class BGe:
    """Bayesian Gaussian equivalent score.

    Args:
        moments: Of the rows.
        strength: a_mu, the weight of the prior mean in rows.
        freedom: a_w, more than the number of columns plus 1; the number of columns plus 2 if None.
        centre: nu, the prior mean of each column; the mean of the rows if None.
        scale: Prior scale of each column; its standard deviation if None, so that the units of columns do not matter.
            Ones are the published form.
    """

    moments: Moments
    strength: float = 1.0
    freedom: float | None = None
    centre: Mapping[str, float] | None = field(default=None, repr=False)
    scale: Mapping[str, float] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        check.positive(self.strength, "strength")
        d = len(self.moments.names)
        if self.freedom is not None and not self.freedom > d + 1:
            raise InvalidInput(f"must be more than {d + 1}", field="freedom", value=self.freedom)
        for field_name in ("centre", "scale"):
            for name in getattr(self, field_name) or ():
                if name not in self.moments.names:
                    raise UnknownName(name, field=field_name, available=self.moments.names)

    @property
    def _freedom(self) -> float:
        return len(self.moments.names) + 2.0 if self.freedom is None else self.freedom

    @cached_property
    def _scales(self) -> Array:
        own = np.sqrt(np.diag(self.moments.covariance))
        given = self.scale or {}
        return np.array([given.get(name, each) for name, each in zip(self.moments.names, own, strict=True)])

    @cached_property
    def _matrices(self) -> tuple[float, Array]:
        """The prior factor t, and R in units of the scales, so that T is t times the identity."""
        n, d = self.moments.count, len(self.moments.names)
        t = self.strength * (self._freedom - d - 1) / (self.strength + 1)
        nu = {} if self.centre is None else self.centre
        pairs = zip(self.moments.names, self.moments.mean, strict=True)
        gap = np.array([mean - nu.get(name, mean) for name, mean in pairs])
        posterior = n * self.moments.covariance + n * self.strength / (n + self.strength) * np.outer(gap, gap)
        return t, t * np.eye(d) + posterior / np.outer(self._scales, self._scales)

    def _marginal(self, names: Key) -> float:
        size = len(names)
        if not size:
            return 0.0
        n, d = self.moments.count, len(self.moments.names)
        t, posterior = self._matrices
        at = [self.moments.place(name) for name in names]
        before = self._freedom - d + size
        logdet = float(np.linalg.slogdet(posterior[np.ix_(at, at)])[1])
        return float(
            size / 2 * math.log(self.strength / (n + self.strength))
            - size * n / 2 * math.log(math.pi)
            + multigammaln((n + before) / 2, size)
            - multigammaln(before / 2, size)
            + before / 2 * size * math.log(t)
            - (n + before) / 2 * logdet
            - n * np.log(self._scales[at]).sum()  # densities are in the units of the columns
        )

    def __call__(self, child: str, parents: Key) -> float:
        """Return the local score; higher is better."""
        return self._marginal((*parents, child)) - self._marginal(parents)

    def test(self, one: str, other: str, given: Key) -> float:
        """Return the p-value of independence of two columns given others."""
        return independence_p(self.moments, one, other, given)


def independence_p(moments: Moments, one: str, other: str, given: Key) -> float:
    """Return the p-value of the exact t test of a partial correlation; 1 where too few rows are left."""
    freedom = moments.count - 2 - len(given)
    if freedom < 1:
        return 1.0
    r = moments.partial_correlation(one, other, given)
    statistic = abs(r) * math.sqrt(freedom / max(1 - r * r, 1e-300))
    return float(2 * student.sf(statistic, freedom))
