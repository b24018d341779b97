"""Estimation for channels whose report supports some of the levels: unary, hashing, subsets, Hadamard.

Legend: k levels, n reports, pi_v the share of those who hold v, s_v = 1 if a report supports v.

    p = P(s_v = 1 | the truth is v)        q = P(s_v = 1 | the truth is another)        d = p - q
    t = P(s_v = s_w = 1 | the truth is v)  u = P(s_v = s_w = 1 | the truth is neither)  for v != w

These four numbers are the same for all levels; with them the estimate and its covariance follow, whatever a report
looks like. A tally is how many reports support each level, and at its end how many there are: k + 1 integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacita.collect.channels.frequencies import FrequencyEstimate
from tacita.collect.channels.protocol import About, Reach
from tacita.errors import InvalidInput
from tacita.tables.uncertainty import Covariance

__all__ = ["SupportChannel", "SupportLaw", "support_covariance", "support_moments"]


@dataclass(frozen=True, kw_only=True)
class SupportLaw:
    """Exact probabilities that a report supports one level, or two.

    Attributes:
        hit: p, of the true level. miss: q, of any other. hit_and_other: t, of the true level and a given other one.
            two_others: u, of two given levels that are both not true.
    """

    hit: Fraction
    miss: Fraction
    hit_and_other: Fraction
    two_others: Fraction

    @property
    def slope(self) -> Fraction:
        """d: how much of a true share arrives in the supported share."""
        return self.hit - self.miss

    @classmethod
    def independent(cls, hit: Fraction, miss: Fraction) -> SupportLaw:
        """Levels are supported independently of each other, given the truth (pairs are enough)."""
        return cls(hit=hit, miss=miss, hit_and_other=hit * miss, two_others=miss * miss)


def support_covariance(law: SupportLaw, pi: NDArray[np.float64], n: int, about: About) -> Covariance:
    """Covariance of pi^ = (supported share - q) / d.

    Claim: with D = diag(q - u + (d - 2 (t - u)) pi) and J = 1 1', for a population with shares pi

        n d^2 Cov(pi^) = D + (u - q^2) J + (t - u - q d) (1 pi' + pi 1') - d^2 pi pi'

    A report of a random person supports v with probability r_v = q + d pi_v, and v and w != v together with
    u (1 - pi_v - pi_w) + t (pi_v + pi_w). The covariance of one report is that matrix, r on its diagonal, less
    r r' = q^2 J + q d (1 pi' + pi 1') + d^2 pi pi'.
    Given the respondents it is less by (diag pi - pi pi') d^2: the part of sampling people, because
    E(s | truth x) = q 1 + d e_x, and the total is the mean conditional covariance plus that of this mean.
    """
    q, d = float(law.miss), float(law.slope)
    u, more = float(law.two_others), float(law.hit_and_other - law.two_others)
    ones = float(law.two_others - law.miss**2)
    cross = float(law.hit_and_other - law.two_others - law.miss * law.slope)
    people = 1.0 if about == "population" else 0.0
    diagonal = q - u + (d - 2 * more) * pi - (1 - people) * d * d * pi
    # The rest is a quadratic form in (1, pi): its eigenvectors are the vectors of the sum of outer products. Both
    # are first brought to length 1, so that neither drowns the other.
    basis = np.stack([np.ones_like(pi), pi])
    lengths = np.maximum(np.linalg.norm(basis, axis=1), np.finfo(float).tiny)
    form = np.array([[ones, cross], [cross, -people * d * d]]) * np.outer(lengths, lengths)
    values, directions = np.linalg.eigh(form)
    vectors = np.sqrt(np.abs(values))[:, None] * (directions.T @ (basis / lengths[:, None]))
    scale = n * d * d
    return Covariance(diagonal=diagonal / scale, vectors=vectors / np.sqrt(scale), signs=-np.sign(values))


def support_moments(law: SupportLaw, levels: int) -> tuple[Fraction, Fraction]:
    """Mean and variance of the number of levels that an honest report supports.

    Claim: with k levels E|s| = p + (k-1) q and E|s|^2 = E|s| + 2 (k-1) t + (k-1)(k-2) u, whatever the truth is.
    |s| is a sum of k indicators; its square is that sum and all ordered pairs of different levels, of which 2 (k-1)
    hold the true level. None of the four depends on which level is true.
    """
    mean = law.hit + (levels - 1) * law.miss
    square = mean + 2 * (levels - 1) * law.hit_and_other + (levels - 1) * (levels - 2) * law.two_others
    return mean, square - mean**2


class SupportChannel:
    """The estimating half of a channel that has a `support_law`."""

    levels: int

    @property
    def support_law(self) -> SupportLaw:
        """The four probabilities that the estimate needs."""
        raise NotImplementedError

    def estimate(self, counts: ArrayLike, *, about: About = "population") -> FrequencyEstimate:
        """Unbiased frequencies from a tally. They need not sum to 1: `norm_sub` makes a distribution of them.

        Args:
            counts: A tally: how many reports support each level, then how many reports there are.
            about: "population" when the respondents are a sample of whom the answer is about; "respondents"
                when it is about these very people.
        """
        tally = self._tally(counts)
        n = int(tally[-1])
        # E(supported share of v) = q + d pi_v, solved for pi
        law = self.support_law
        observed, slope = tally[:-1] / n, float(law.slope)
        offset = np.full(self.levels, float(law.miss))
        frequencies = (observed - offset) / slope
        return FrequencyEstimate(
            frequencies=frequencies,
            observed=observed,
            offset=offset,
            slope=slope,
            respondents=n,
            about=about,
            uncertainty=self.covariance(frequencies, respondents=n, about=about),
        )

    def covariance(self, frequencies: ArrayLike, *, respondents: int, about: About = "population") -> Covariance:
        """The covariance that the estimate will have when `frequencies` is the truth.

        Args:
            frequencies: True share of each level, of the population or of the respondents.
            respondents: Their number, 1 or more.
            about: What the estimate is about, as in `estimate`.
        """
        pi = np.asarray(frequencies, dtype=np.float64)
        if pi.shape != (self.levels,) or not np.isfinite(pi).all():
            rule = f"must be {self.levels} finite numbers"
            raise InvalidInput(rule, field="frequencies", value=pi.shape)
        if respondents < 1:
            raise InvalidInput("must be at least 1", field="respondents", value=respondents)
        if about not in get_args(About):
            raise InvalidInput("must be 'population' or 'respondents'", field="about", value=about)
        return support_covariance(self.support_law, pi, respondents, about)

    def second_moments(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Those of one level: all levels are alike."""
        at_truth = np.zeros(self.levels)
        at_truth[0] = 1.0
        variance = self.covariance(at_truth, respondents=1).variance()
        return variance[:1] + 1, variance[1:2]

    def reach(self) -> Reach:
        """The slope of the law; a report may support any number of levels."""
        return Reach(slope=self.support_law.slope)

    def support_total(self, counts: ArrayLike) -> tuple[int, int]:
        """Number of reports in a tally, and the total of their supports."""
        tally = self._tally(counts)
        return int(tally[-1]), int(tally[:-1].sum())

    def support_size(self) -> tuple[Fraction, Fraction]:
        """Mean and variance of the number of levels that an honest report supports."""
        return support_moments(self.support_law, self.levels)

    def support_caution(self, reports: int) -> str:
        """No caution by default."""
        return ""

    def _tally(self, counts: ArrayLike) -> NDArray[Any]:
        tally = np.asarray(counts)
        wanted = self.levels + 1
        if tally.shape != (wanted,) or tally.dtype.kind not in "iu":
            found = f"{tally.dtype}, shape {tally.shape}"
            raise InvalidInput(f"must be {wanted} integers, the last one of reports", field="counts", value=found)
        if tally[-1] < 1 or (tally < 0).any() or (tally > tally[-1]).any():
            rule = "must be non-negative, at most the number of reports, and of at least one report"
            raise InvalidInput(rule, field="counts")
        return tally
