"""Sampled sensitivity: how far an answer moves between neighbours drawn from a population, where no bound is known.

    S_i       distance of the answers to the i-th sampled pair of neighbours
    Delta_S   an order statistic of them, used in place of the sensitivity

Privacy: average-case. A fresh pair of the same population stays within Delta_S with a stated probability; a person
unlike anyone in it may move the answer by more. The pairs must come from a public or reference population: a Delta_S
that was read off private data is itself an answer about it, and this module charges nothing for it.

    marginal   the j-th of n: a fresh pair stays below with probability >= j / (n + 1)
    tolerance  with confidence 1 - BetaCDF(p; j, n - j + 1), at least a share p of all pairs stays below
    DKW        with probability >= 1 - 2 exp(-2 rho^2 n) the true coverage is at least F_n - rho;
               the published form forgot the "- rho", so that a larger rho always looked better

Claim: docs/claims/at-risk.md
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from tacita import check
from tacita.common.binomial import lower_end
from tacita.errors import InvalidInput
from tacita.privacy.risk.at_risk import Sides, confidence_of
from tacita.privacy.risk.bessel import bessel_cdf, bessel_noise

__all__ = [
    "SampledLoss",
    "SampledSensitivity",
    "dkw_coverage",
    "dkw_tolerance",
    "mixed_confidence",
    "recalibrated_noise",
    "sample_sensitivity",
    "sampled_loss",
    "samples_for_tolerance",
]

Array = NDArray[np.float64]
Pairs = Callable[[np.random.Generator], tuple[Any, Any]]
"""Draws two neighbouring datasets."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SampledSensitivity:
    """Distances of sampled neighbours, in order."""

    distances: Array

    def __post_init__(self) -> None:
        values = np.sort(np.asarray(self.distances, np.float64).ravel())
        if not values.size or not np.isfinite(values).all() or values[0] < 0:
            raise InvalidInput("must be at least one finite distance of 0 or more", field="distances")
        object.__setattr__(self, "distances", values)

    @property
    def pairs(self) -> int:
        """Number of pairs that were drawn."""
        return int(self.distances.size)

    def at(self, coverage: float, *, confidence: float | None = None) -> tuple[float, int]:
        """A bound that a fresh pair keeps with probability `coverage`, and which order statistic it is.

        Args:
            coverage: The share of pairs that must stay below.
            confidence: How sure that must be over the sampling; without it, coverage is an average over samplings.
        """
        _share("coverage", coverage)
        n = self.pairs
        if confidence is None:
            place = math.ceil(coverage * (n + 1) - 1e-12)
        else:
            _share("confidence", confidence)
            ranks = np.arange(1, n + 1)
            enough = np.nonzero(1 - special.betainc(ranks, n - ranks + 1, coverage) >= confidence)[0]
            place = int(enough[0]) + 1 if enough.size else n + 1
        if place > n:
            raise InvalidInput(
                f"cannot be promised from {n} pairs",
                field="coverage",
                value=coverage,
                hint="Draw more pairs, or ask less",
            )
        return float(self.distances[place - 1]), place

    def coverage_of(self, bound: float, *, confidence: float) -> float:
        """The share of pairs that stay within a bound chosen beforehand, with this confidence (Clopper-Pearson)."""
        _share("confidence", confidence)
        within = int(np.searchsorted(self.distances, bound, side="right"))
        return float(lower_end(within, self.pairs, 1 - confidence))


def sample_sensitivity(
    query: Callable[[Any], Any], pairs: Pairs, count: int, rng: np.random.Generator
) -> SampledSensitivity:
    """L1 distances of a query on sampled pairs of neighbours."""
    check.whole(count, "count", least=1)
    found = np.empty(count)
    for place in range(count):
        one, other = pairs(rng)
        found[place] = np.abs(np.asarray(query(one), np.float64) - np.asarray(query(other), np.float64)).sum()
    return SampledSensitivity(distances=found)


# -- the published bounds, corrected ----------------------------------------------------------------------------------


def dkw_tolerance(pairs: int, rho: float, *, sides: Sides = "two") -> float:
    """1 - 2 exp(-2 rho^2 n), the chance that the empirical law is within rho of the true one; below 0 it says nothing.

    >>> round(dkw_tolerance(15000, 0.01), 7)
    0.9004259
    """
    if pairs < 1 or not 0 < rho < 1:
        raise InvalidInput("must be between 0 and 1, of at least one pair", field="rho", value=rho)
    miss = math.exp(-2 * rho**2 * pairs)
    if sides == "one" and miss > 0.5:
        raise InvalidInput("is too small for the one-sided bound with so few pairs", field="rho", value=rho)
    return 1 - (2 if sides == "two" else 1) * miss


def dkw_coverage(coverage: float, pairs: int, rho: float) -> float:
    """(coverage - rho)(1 - 2 exp(-2 rho^2 n)), not below 0: what the empirical quantile of `coverage` still covers."""
    _share("coverage", coverage)
    return max(0.0, coverage - rho) * max(0.0, dkw_tolerance(pairs, rho))


def samples_for_tolerance(tolerance: float, rho: float) -> int:
    """Pairs needed: ln(2 / (1 - tolerance)) / (2 rho^2), quadratic in 1/rho and logarithmic in 1/(1 - tolerance)."""
    _share("tolerance", tolerance)
    if not 0 < rho < 1:
        raise InvalidInput("must be between 0 and 1", field="rho", value=rho)
    return math.ceil(math.log(2 / (1 - tolerance)) / (2 * rho**2))


def recalibrated_noise(
    epsilon: float, confidence: float, *, coverage: float, tolerance: float, dimensions: int = 1
) -> float:
    """Compute eta * e0 of the published recalibration, where noise and data are both random. A heuristic: no guarantee.

    Solves confidence * P(T <= x) = tolerance * coverage * P(T <= epsilon) for x >= epsilon. `eta`, the true over the
    sampled sensitivity, cannot be estimated: a caller who divides by it must know it.
    """
    for name, value in (("confidence", confidence), ("coverage", coverage), ("tolerance", tolerance)):
        _share(name, value)
    most = tolerance * coverage
    if confidence > most:
        raise InvalidInput(
            f"must be at most tolerance times coverage, {most:.6g}",
            field="confidence",
            value=confidence,
            hint="Draw more pairs, ask for less confidence, or cover more of them",
        )
    floor = bessel_cdf(epsilon, dimensions)
    share = confidence / most
    if share <= floor:
        raise InvalidInput("is given by any noise level", field="confidence", value=confidence, hint="Ask for more")
    return bessel_noise(epsilon, share, dimensions)


# -- both sources of chance, without a heuristic -----------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class SampledLoss:
    """Share of draws whose loss stayed within epsilon, over pairs and noise, with a bound that has `confidence`."""

    epsilon: float
    noise: float
    sensitivity: float
    draws: int
    share: float
    lower: float
    confidence: float


def sampled_loss(
    query: Callable[[Any], Any],
    pairs: Pairs,
    *,
    epsilon: float,
    noise: float,
    sensitivity: float,
    draws: int,
    rng: np.random.Generator,
    confidence: float = 0.95,
) -> SampledLoss:
    """P(|loss| <= epsilon) over neighbours from the population and Laplace noise, by simulation.

    loss = (e0 / Delta_S)(|f(y) - z|_1 - |f(x) - z|_1) with z = f(x) + noise: no independence is assumed.
    """
    for name, value in (("sensitivity", sensitivity), ("noise", noise)):
        if not value > 0:
            raise InvalidInput("must be positive", field=name, value=value)
    check.whole(draws, "draws", least=1)
    within = 0
    for _ in range(draws):
        one, other = pairs(rng)
        start = np.atleast_1d(np.asarray(query(one), np.float64))
        end = np.atleast_1d(np.asarray(query(other), np.float64))
        z = start + rng.laplace(scale=sensitivity / noise, size=start.shape)
        loss = noise / sensitivity * (np.abs(end - z).sum() - np.abs(start - z).sum())
        within += bool(abs(loss) <= epsilon)
    lower = float(lower_end(within, draws, 1 - confidence))
    return SampledLoss(
        epsilon=epsilon,
        noise=noise,
        sensitivity=sensitivity,
        draws=draws,
        share=within / draws,
        lower=lower,
        confidence=confidence,
    )


def mixed_confidence(distances: SampledSensitivity, sensitivity: float, epsilon: float, noise: float) -> float:
    """The same for one number without drawing noise: the exact confidence at each pair's own level, averaged."""
    levels = noise * distances.distances / sensitivity
    return float(np.mean([1.0 if level <= epsilon else confidence_of(epsilon, level) for level in levels]))


def _share(name: str, value: float) -> None:
    if not 0 < value < 1:
        raise InvalidInput("must be between 0 and 1", field=name, value=value)
