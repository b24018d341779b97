"""One estimate from m releases, with a variance that counts what imputation adds.

With q_i and u_i an estimate and its variance from release i, q their mean, u the mean of the u_i, and b the variance of
the q_i between releases:

    partially synthetic   T = u + b/m            df = (m-1) (1 + u / (b/m))^2             [Reiter 2003]
    fully synthetic       T = (1 + 1/m) b - u    df = (m-1) (1 - u / ((1 + 1/m) b))^2     [Raghunathan et al. 2003]

The second can be negative, because it is a difference of estimates. Then T is (rows of a release / rows of the data) u,
which counts the first sample alone, with m - 1 degrees of freedom; and `fallback` says so. Where its formula gives less
than one degree of freedom, one is taken. The rule for missing data, u + (1 + 1/m) b, is wrong for both.

Claim: docs/claims/imputation.md
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from tacita import check
from tacita.errors import InvalidInput

__all__ = ["Combined", "combine_full", "combine_partial"]


@dataclass(frozen=True, kw_only=True)
class Combined:
    """An estimate from several releases.

    Attributes:
        estimate, variance, freedom: Of the t distribution of the combined estimate.
        within, between: Mean variance in a release, and variance between them.
        fallback: Whether the variance would have been negative.
    """

    estimate: float
    variance: float
    freedom: float
    within: float
    between: float
    fallback: bool = False

    @property
    def std(self) -> float:
        """Standard error."""
        return math.sqrt(self.variance)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Confidence interval at this level."""
        check.inside(level, "level", 0, 1)
        half = float(stats.t.ppf((1 + level) / 2, self.freedom)) * self.std
        return self.estimate - half, self.estimate + half

    def as_dict(self) -> dict[str, Any]:
        """Plain data; infinite degrees of freedom are null."""
        freedom = self.freedom if math.isfinite(self.freedom) else None
        plain = {"estimate": self.estimate, "variance": self.variance, "freedom": freedom}
        return plain | {"within": self.within, "between": self.between, "fallback": self.fallback}


def combine_partial(estimates: Sequence[float], variances: Sequence[float]) -> Combined:
    """Combine releases in which some cells of real rows were replaced."""
    estimate, within, between, m = _moments(estimates, variances)
    share = between / m
    freedom = (m - 1) * (1 + within / share) ** 2 if share > 0 else math.inf
    variance = within + share
    return Combined(estimate=estimate, variance=variance, freedom=freedom, within=within, between=between)


def combine_full(estimates: Sequence[float], variances: Sequence[float], *, rows: int, people: int) -> Combined:
    """Combine releases of fully synthetic rows.

    Args:
        estimates, variances: One for each release.
        rows: Of a release.
        people: Rows of the data that the model was fitted to.
    """
    for name, value in (("rows", rows), ("people", people)):
        check.whole(value, name, least=1)
    estimate, within, between, m = _moments(estimates, variances)
    spread = (1 + 1 / m) * between
    variance = spread - within
    if variance <= 0:
        return Combined(
            estimate=estimate,
            variance=rows / people * within,
            freedom=m - 1.0,
            within=within,
            between=between,
            fallback=True,
        )
    freedom = max(1.0, (m - 1) * (1 - within / spread) ** 2)
    return Combined(estimate=estimate, variance=variance, freedom=freedom, within=within, between=between)


def _moments(estimates: Sequence[float], variances: Sequence[float]) -> tuple[float, float, float, int]:
    values, inside = np.asarray(estimates, float), np.asarray(variances, float)
    if values.ndim != 1 or values.shape != inside.shape or values.size < 2:
        raise InvalidInput("must be one for each of at least two releases", field="estimates", value=list(values.shape))
    if not (np.isfinite(values).all() and np.isfinite(inside).all() and (inside >= 0).all()):
        raise InvalidInput("must be finite, variances not negative", field="variances")
    return float(values.mean()), float(inside.mean()), float(values.var(ddof=1)), int(values.size)
