"""An estimated distribution: frequencies, how they vary together, and an interval for each of them.

The covariance is kept as a diagonal minus a few outer products, because that is what it is: a table of a
thousand cells then costs a few thousand numbers instead of a million.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacita import check
from tacita.errors import InvalidInput
from tacita.tables.uncertainty import Covariance, wilson

__all__ = ["FrequencyEstimate", "Intervals", "MeanEstimate", "population_covariance", "respondent_covariance"]

Vector = NDArray[np.float64]


def _frozen(values: ArrayLike) -> Vector:
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array


@dataclass(frozen=True, kw_only=True, eq=False)
class Intervals:
    """One interval for each cell; each holds its own level, not all of them together."""

    lower: Vector
    upper: Vector
    level: float
    method: Literal["wilson", "normal"]

    def covers(self, frequencies: ArrayLike) -> NDArray[np.bool_]:
        """Return a mask of the cells of `frequencies` that lie inside."""
        truth = np.asarray(frequencies, dtype=np.float64)
        return (self.lower <= truth) & (truth <= self.upper)


@dataclass(frozen=True, kw_only=True, eq=False)
class FrequencyEstimate:
    """Unbiased frequencies of k levels from n randomised answers.

    Single ones may lie outside [0, 1], and where a report may support any number of levels (unary encoding, hashing,
    Hadamard) they do not sum to 1: that is the price of no bias.
    `tacita.tables.simplex.norm_sub` makes a distribution of them, and says that it did.

    Attributes:
        frequencies: The unbiased estimate.
        observed: The share of answers that are, or support, each level.
        offset: Share of each level that fakes alone would give.
        slope: How much of a true share arrives in `observed`.
        respondents: The number of answers n.
        about: "population": error of sampling people and of the channel. "respondents": error of the
            channel alone, about these very people.
        uncertainty: The estimated covariance of `frequencies`.
        binomial: Whether each cell is an affine map (offset, slope) of one binomial share. A channel with a general
            matrix is not: its `observed` are the shares of the reports, and its intervals are normal.
    """

    frequencies: Vector
    observed: Vector
    offset: Vector
    slope: float
    respondents: int
    about: Literal["population", "respondents"]
    uncertainty: Covariance
    binomial: bool = True

    def __post_init__(self) -> None:
        for name in ("frequencies", "observed", "offset"):
            object.__setattr__(self, name, _frozen(getattr(self, name)))

    @property
    def variance(self) -> Vector:
        """The estimated variance of each cell."""
        return self.uncertainty.variance()

    def std(self) -> Vector:
        """The estimated standard error of each cell."""
        result: Vector = np.sqrt(np.maximum(self.variance, 0.0))
        return result

    def covariance(self) -> NDArray[np.float64]:
        """The dense covariance matrix, made on demand."""
        return self.uncertainty.dense()

    def interval(self, level: float = 0.95) -> Intervals:
        """An interval for each cell that covers the truth with probability `level`, about.

        Wilson's interval of the observed share, mapped to the frequency, when the target is the population:
        an answer is then one draw from a Bernoulli law, and Wilson keeps its coverage in small cells. Given
        the respondents the count is a sum of two binomials, for which the normal interval is used.
        """
        if not 0.0 < level < 1.0:
            raise InvalidInput("must lie strictly between 0 and 1", field="level", value=level)
        z = NormalDist().inv_cdf((1.0 + level) / 2.0)
        if self.about == "population" and self.binomial:
            low, high = wilson(self.observed, self.respondents, z)
            lower, upper = (low - self.offset) / self.slope, (high - self.offset) / self.slope
            return Intervals(lower=lower, upper=upper, level=level, method="wilson")
        half = z * self.std()
        return Intervals(lower=self.frequencies - half, upper=self.frequencies + half, level=level, method="normal")


@dataclass(frozen=True, kw_only=True)
class MeanEstimate:
    """An unbiased mean with its standard error, in the units of the data.

    The error is that of the channel and of sampling people: right for the mean of a population, and a little large for
    the mean of these very respondents.
    """

    mean: float
    std: float
    respondents: int

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The normal interval."""
        check.inside(level, "level", 0, 1)
        half = NormalDist().inv_cdf((1 + level) / 2) * self.std
        return self.mean - half, self.mean + half


def respondent_covariance(pi: Vector, b: Vector, p: float, n: int) -> Covariance:
    """Covariance of pi^ given that exactly n * pi_x respondents hold x.

    Claim: n p^2 Cov(pi^) = diag(b + p q pi) - b b' - p (b pi' + pi b'),   q = 1 - p.
    A respondent with x answers by the law P_x = b + p e_x, so that

        Cov(counts) = n sum_x pi_x (diag P_x - P_x P_x')
                    = n (diag(b + p pi) - b b' - p (b pi' + pi b') - p^2 diag pi)

    and pi^ = (counts / n - b) / p. It is linear in pi: with an unbiased pi^ plugged in it stays unbiased.
    """
    q = b.sum()  # not 1 - p, which loses all digits of a channel that hardly randomises
    # b pi' + pi b' = (u u' - v v') / 2 with u, v = s b +- pi / s for any s. This s makes both terms alike
    # in size, so that the products do not cancel however small b is beside pi.
    s = np.sqrt(np.linalg.norm(pi) / np.linalg.norm(b))
    root = np.sqrt(p / 2.0)
    vectors = np.stack([b, root * (s * b + pi / s), root * (s * b - pi / s)]) / (p * np.sqrt(n))
    return Covariance(diagonal=(b + p * q * pi) / (n * p * p), vectors=vectors, signs=np.array([1.0, 1.0, -1.0]))


def population_covariance(pi: Vector, b: Vector, p: float, n: int) -> Covariance:
    """Covariance of pi^ when the n respondents are drawn from a population with shares pi.

    Claim: n p^2 Cov(pi^) = diag r - r r',   r = p pi + b.
    Each answer is one draw from r, the counts are multinomial, and pi^ = (counts / n - b) / p is affine in
    them. It exceeds the covariance given the respondents by (diag pi - pi pi') / n, the error of sampling
    people.
    """
    r, scale = p * pi + b, n * p * p
    return Covariance(diagonal=r / scale, vectors=(r / np.sqrt(scale))[None, :], signs=np.array([1.0]))
